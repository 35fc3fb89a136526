// SPDX-License-Identifier: Apache-2.0
// Offsets of buffers in one arena, from their sizes and the time that each is needed.
#pragma once
#include <cstdint>
#include <vector>

namespace ortc {

struct ArenaRequest {
  int64_t bytes;       // at the upper bounds of all dims
  int64_t first, last; // positions in the program, both included
  int64_t offset = -1; // the answer
};

/// Gives each request an offset, a multiple of `alignment`, such that no two that are needed at one
/// time overlap. Returns the bytes of the arena. Largest first, each at the lowest place that is
/// free for its whole time; then the same in order of time, and the better of both is kept.
int64_t assignOffsets(std::vector<ArenaRequest>& requests, int64_t alignment);

/// The largest number of bytes that are needed at one time: no arena can be smaller.
int64_t largestLiveSet(const std::vector<ArenaRequest>& requests, int64_t alignment);

/// For sizes that are only known when a run begins: requests that share a slot are never needed at
/// one time. Returns the number of slots; slot[i] is that of request i.
int64_t assignSlots(const std::vector<ArenaRequest>& requests, std::vector<int64_t>& slot);

} // namespace ortc
