// SPDX-License-Identifier: 0BSD
//
// Happens-before over the threads of a block, and the check of one access against what is
// remembered of its place.
#ifndef CUEMU_CHECKER_H
#define CUEMU_CHECKER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cuemu {

struct Engine;

/// Vector clocks. A thread's clock counts the barriers it went through; `seen[u]` is the latest
/// clock of thread u that the thread is ordered after. Threads that met at a barrier share one
/// vector.
class HappensBefore {
public:
  void beginBlock(int numThreads);
  /// All of `threads` have met.
  void meet(const std::vector<int>& threads);
  bool ordered(int now, int then, uint32_t clock) const {
    return then == now || (seen[static_cast<size_t>(now)] &&
                           clock <= (*seen[static_cast<size_t>(now)])[static_cast<size_t>(then)]);
  }
  uint32_t clock(int thread) const { return clocks[static_cast<size_t>(thread)]; }

private:
  std::vector<uint32_t> clocks;
  std::vector<std::shared_ptr<const std::vector<uint32_t>>> seen;
};

enum class AccessKind { Read, Write, Atomic };

/// One access of kernel text (or, outside kernels, of host text, which must stay away from device
/// memory).
void noteAccess(const void* p, size_t bytes, AccessKind kind, const void* pc);

/// Numbers of the blocks: what is remembered from before `launch` is history.
struct BlockNumbers {
  uint32_t block = 0, launch = 0;
};
void checkerBeginLaunch();
void checkerBeginBlock(Engine& engine);

/// While set, accesses come from the emulator itself: instrumented inline functions of the standard
/// library may be shared with kernel text by the linker.
extern thread_local bool insideCore;
class CoreScope {
public:
  CoreScope() : outer(insideCore) { insideCore = true; }
  ~CoreScope() { insideCore = outer; }
  CoreScope(const CoreScope&) = delete;
  CoreScope& operator=(const CoreScope&) = delete;

private:
  bool outer;
};

} // namespace cuemu
#endif
