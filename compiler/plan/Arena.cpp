// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/Arena.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace ortc {

static int64_t aligned(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

static int64_t place(std::vector<ArenaRequest>& requests, const std::vector<size_t>& order,
                     int64_t alignment) {
  std::vector<size_t> placed; // by offset
  int64_t total = 0;
  for (size_t i : order) {
    ArenaRequest& r = requests[i];
    int64_t at = 0, need = aligned(r.bytes, alignment), best = -1, bestGap = INT64_MAX;
    for (size_t j : placed) {
      const ArenaRequest& p = requests[j];
      if (p.last < r.first || p.first > r.last) continue;
      // Of the gaps that fit, the smallest.
      if (p.offset - at >= need && p.offset - at < bestGap) best = at, bestGap = p.offset - at;
      at = std::max(at, p.offset + aligned(p.bytes, alignment));
    }
    r.offset = best >= 0 ? best : at;
    total = std::max(total, r.offset + need);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), i,
                      [&](size_t a, size_t b) { return requests[a].offset < requests[b].offset; }),
                  i);
  }
  return total;
}

int64_t assignOffsets(std::vector<ArenaRequest>& requests, int64_t alignment) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  auto bySize = order, byArea = order;
  std::stable_sort(bySize.begin(), bySize.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  auto area = [&](size_t i) {
    return static_cast<double>(requests[i].bytes) *
           static_cast<double>(requests[i].last - requests[i].first + 1);
  };
  std::stable_sort(byArea.begin(), byArea.end(),
                   [&](size_t a, size_t b) { return area(a) > area(b); });
  std::vector<ArenaRequest> best;
  int64_t total = INT64_MAX;
  for (const auto& o : {bySize, byArea, order}) {
    std::vector<ArenaRequest> attempt = requests;
    int64_t t = place(attempt, o, alignment);
    if (t < total) total = t, best = std::move(attempt);
  }
  // What ends highest had better been placed earlier: a few turns of this close most gaps that are
  // left.
  int64_t least = largestLiveSet(requests, alignment);
  std::vector<size_t> turn = bySize;
  for (int i = 0; i < 64 && total > least && requests.size() <= 1000; ++i) {
    std::vector<ArenaRequest> attempt = requests;
    int64_t t = place(attempt, turn, alignment);
    if (t < total) total = t, best = attempt;
    size_t top = turn[0];
    for (size_t r : turn)
      if (attempt[r].offset + aligned(attempt[r].bytes, alignment) >
          attempt[top].offset + aligned(attempt[top].bytes, alignment))
        top = r;
    auto at = std::find(turn.begin(), turn.end(), top);
    if (at == turn.begin()) break; // alone too large, or on its own
    std::rotate(turn.begin(), at, at + 1);
  }
  if (!requests.empty()) requests = std::move(best);
  return requests.empty() ? 0 : total;
}

int64_t largestLiveSet(const std::vector<ArenaRequest>& requests, int64_t alignment) {
  std::map<int64_t, int64_t> change;
  for (const ArenaRequest& r : requests) {
    change[r.first] += aligned(r.bytes, alignment);
    change[r.last + 1] -= aligned(r.bytes, alignment);
  }
  int64_t live = 0, most = 0;
  for (auto [at, delta] : change)
    most = std::max(most, live += delta);
  return most;
}

int64_t assignSlots(const std::vector<ArenaRequest>& requests, std::vector<int64_t>& slot) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].first < requests[b].first; });
  std::vector<int64_t> freeAfter; // per slot: last position in use
  slot.assign(requests.size(), -1);
  for (size_t i : order) {
    for (size_t s = 0; s < freeAfter.size() && slot[i] < 0; ++s)
      if (freeAfter[s] < requests[i].first) slot[i] = static_cast<int64_t>(s);
    if (slot[i] < 0) slot[i] = static_cast<int64_t>(freeAfter.size()), freeAfter.push_back(-1);
    freeAfter[slot[i]] = requests[i].last;
  }
  return static_cast<int64_t>(freeAfter.size());
}

} // namespace ortc
