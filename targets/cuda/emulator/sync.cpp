// SPDX-License-Identifier: 0BSD
//
// Barriers of a block and collectives of a warp. Both also order memory for the checker, except for
// shuffles and votes, which CUDA does not promise to order anything.
#include <algorithm>

#include "engine.h"
#include "report.h"

namespace cuemu {
namespace {

void reportSync(const std::string& key, const std::string& text) {
  if (firstTime("SYNC", key)) report("SYNC", text);
}

void finishBarrier(Engine& e) {
  Barrier& b = e.barrier;
  std::vector<int> met;
  for (int w = 0; w < e.numWarps; ++w) {
    uint32_t& waiting = b.waiting[w];
    if (e.check)
      for (uint32_t m = waiting; m; m &= m - 1)
        met.push_back(w * WarpLanes + __builtin_ctz(m));
    e.warps[static_cast<size_t>(w)].ready |= waiting;
    waiting = 0;
  }
  if (e.check) e.order.meet(met);
  b.arrived = 0;
  ++b.generation;
  b.votes[b.generation & 1] = b.voters[b.generation & 1] = 0;
  ++e.counts.barriers;
}

void arriveAtBarrier(Engine& e, Site site) {
  Barrier& b = e.barrier;
  if (e.exited)
    reportSync("exited" + placeOf(site), "barrier at " + placeOf(site) +
                                             " is reached after threads of the block have exited");
  if (b.arrived == 0)
    b.site = site;
  else if (!sameSite(b.site, site))
    reportSync("divergent" + placeOf(site), "divergent barrier: " + e.nameOf(e.current) +
                                                " waits at " + placeOf(site) +
                                                " while others wait at " + placeOf(b.site));
  b.waiting[e.current / WarpLanes] |= e.currentBit();
  if (++b.arrived == e.live) {
    finishBarrier(e);
    return;
  }
  e.currentWarp().ready &= ~e.currentBit();
  suspendCurrent(e, site, "barrier");
}

bool complete(const Warp& w, const Collective& c) {
  return ((c.arrived | ~w.live) & c.mask) == c.mask;
}

void finishCollective(Engine& e, int warpIndex, Collective& c) {
  Warp& w = e.warps[static_cast<size_t>(warpIndex)];
  c.present[c.generation & 1] = c.arrived;
  if (e.check && c.op == WarpOp::SyncWarp) {
    std::vector<int> met;
    for (uint32_t m = c.arrived; m; m &= m - 1)
      met.push_back(warpIndex * WarpLanes + __builtin_ctz(m));
    e.order.meet(met);
  }
  w.ready |= c.arrived & w.live;
  c.arrived = 0;
  ++c.generation;
  ++e.counts.collectives;
}

/// Hands in a value and waits for the lanes of `mask`; returns the generation to read from.
uint32_t exchange(Engine& e, Collective*& collective, uint32_t mask, WarpOp op, uint64_t value,
                  Site site) {
  Warp& w = e.currentWarp();
  const uint32_t bit = e.currentBit();
  if (!(mask & bit)) {
    reportSync("mask" + placeOf(site),
               e.nameOf(e.current) + " is not in the mask that it passes at " + placeOf(site));
    mask |= bit;
  }
  auto& slot = w.collectives[__builtin_ctz(mask)];
  if (!slot) slot = std::make_unique<Collective>();
  Collective& c = *slot;
  collective = &c;
  if (c.arrived == 0) {
    c.mask = mask;
    c.op = op;
    c.site = site;
  } else if (c.mask != mask || c.op != op || !sameSite(c.site, site)) {
    reportSync("warp" + placeOf(site), "divergent warp collective: " + e.nameOf(e.current) +
                                           " is at " + placeOf(site) +
                                           " while other lanes are at " + placeOf(c.site));
  }
  const uint32_t generation = c.generation;
  c.lanes[generation & 1][e.current % WarpLanes] = value;
  c.arrived |= bit;
  if (complete(w, c)) {
    finishCollective(e, e.current / WarpLanes, c);
  } else {
    w.ready &= ~bit;
    suspendCurrent(e, site, "warp collective");
  }
  return generation;
}

} // namespace

void blockBarrier(Site site) {
  CoreScope scope;
  arriveAtBarrier(*activeEngine, site);
}

int blockBarrierVote(int predicate, BarrierVote vote, Site site) {
  CoreScope scope;
  Barrier& b = activeEngine->barrier;
  const uint32_t slot = b.generation & 1;
  b.votes[slot] += predicate != 0;
  ++b.voters[slot];
  arriveAtBarrier(*activeEngine, site);
  // The slot is cleared when the barrier after next ends, which this thread has not reached yet.
  const int votes = b.votes[slot], voters = b.voters[slot];
  return vote == BarrierVote::Or ? votes > 0 : vote == BarrierVote::And ? votes == voters : votes;
}

void warpBarrier(uint32_t mask, Site site) {
  CoreScope scope;
  Collective* c = nullptr;
  exchange(*activeEngine, c, mask, WarpOp::SyncWarp, 0, site);
}

uint64_t warpShuffle(uint32_t mask, uint64_t value, int source, Site site) {
  CoreScope scope;
  Engine& e = *activeEngine;
  Collective* c = nullptr;
  const uint32_t generation = exchange(e, c, mask, WarpOp::Shuffle, value, site);
  const uint32_t present = c->present[generation & 1];
  if (!(present >> source & 1)) {
    reportSync("lane" + placeOf(site),
               e.nameOf(e.current) + " reads lane " + std::to_string(source) +
                   ", which takes no part in the shuffle at " + placeOf(site));
    return 0xfff8dead7fc0dead; // NaN as float and as double
  }
  return c->lanes[generation & 1][source];
}

uint32_t warpBallot(uint32_t mask, bool predicate, Site site) {
  CoreScope scope;
  Engine& e = *activeEngine;
  Collective* c = nullptr;
  const uint32_t generation = exchange(e, c, mask, WarpOp::Ballot, predicate, site);
  const uint32_t present = c->present[generation & 1];
  uint32_t result = 0;
  for (int lane = 0; lane < WarpLanes; ++lane)
    if (present >> lane & 1 && c->lanes[generation & 1][lane]) result |= 1u << lane;
  return result;
}

uint32_t activeMask() {
  return activeEngine->currentWarp().live;
}
int laneId() {
  return activeEngine->current % WarpLanes;
}

void threadExited(Engine& e) {
  Warp& w = e.currentWarp();
  w.live &= ~e.currentBit();
  w.ready &= ~e.currentBit();
  --e.live;
  ++e.exited;
  for (auto& slot : w.collectives)
    if (slot && slot->arrived && slot->mask & e.currentBit() && complete(w, *slot)) {
      reportSync("exit" + placeOf(slot->site),
                 "warp collective at " + placeOf(slot->site) +
                     " completed only because lanes of its mask had exited");
      finishCollective(e, e.current / WarpLanes, *slot);
    }
  Barrier& b = e.barrier;
  if (b.arrived && b.arrived == e.live) {
    reportSync("exit" + placeOf(b.site),
               "barrier at " + placeOf(b.site) +
                   " completed only because other threads of the block had exited");
    finishBarrier(e);
  }
}

} // namespace cuemu
