// SPDX-License-Identifier: 0BSD
//
// Runs a launch: blocks in order, the threads of a block as fibers that change only where CUDA
// threads would have to wait. A thread is started lazily, on the stack of the one that has just
// exited, so a kernel without barriers is a plain loop over its threads.
#include "engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "report.h"

namespace cuemu {

thread_local Engine* activeEngine = nullptr;

Engine::Engine() : threads(MaxThreads), warps(MaxWarps) {}

std::string Engine::nameOf(int thread) const {
  const uint3 i = threads[static_cast<size_t>(thread)].index;
  return "thread (" + std::to_string(i.x) + "," + std::to_string(i.y) + "," + std::to_string(i.z) +
         ")";
}

namespace {

uint32_t nextRandom(Engine& e) { // xorshift64
  e.random ^= e.random << 13;
  e.random ^= e.random >> 7;
  e.random ^= e.random << 17;
  return static_cast<uint32_t>(e.random >> 11);
}

int pickLane(Engine& e, uint32_t lanes, int after) {
  switch (e.schedule) {
  case Schedule::Forward: {
    const uint32_t later = after < WarpLanes - 1 ? lanes & ~0u << (after + 1) : 0;
    return __builtin_ctz(later ? later : lanes);
  }
  case Schedule::Reverse: {
    const uint32_t earlier = after > 0 ? lanes & ((after < WarpLanes ? 1u << after : 0u) - 1) : 0;
    return 31 - __builtin_clz(earlier ? earlier : lanes);
  }
  case Schedule::Random: break;
  }
  for (uint32_t skip = nextRandom(e) % static_cast<uint32_t>(__builtin_popcount(lanes)); skip;
       --skip)
    lanes &= lanes - 1;
  return __builtin_ctz(lanes);
}

/// The next thread that can run, or -1. Stays in the warp while it has one.
int pickThread(Engine& e) {
  const int n = e.numWarps;
  const int first = e.schedule == Schedule::Random
                        ? static_cast<int>(nextRandom(e) % static_cast<uint32_t>(n))
                        : e.current / WarpLanes;
  for (int k = 0; k < n; ++k) {
    const int w = e.schedule == Schedule::Reverse ? (first - k + n) % n : (first + k) % n;
    const Warp& warp = e.warps[static_cast<size_t>(w)];
    const uint32_t lanes = warp.ready | warp.fresh;
    if (!lanes) continue;
    const int after = k == 0                            ? e.current % WarpLanes
                      : e.schedule == Schedule::Reverse ? WarpLanes
                                                        : -1;
    return w * WarpLanes + pickLane(e, lanes, after);
  }
  return -1;
}

/// Makes `thread` the current one; true if it never ran and needs a stack.
bool enter(Engine& e, int thread) {
  e.current = thread;
  builtIns.thread = e.currentThread().index;
  Warp& w = e.currentWarp();
  const uint32_t bit = e.currentBit();
  if (!(w.fresh & bit)) return false;
  w.fresh &= ~bit;
  w.ready |= bit;
  return true;
}

[[noreturn]] void reportDeadlock(Engine& e) {
  std::map<std::string, int> places;
  for (int t = 0; t < e.numThreads; ++t)
    if (e.warps[static_cast<size_t>(t / WarpLanes)].live >> (t % WarpLanes) & 1) {
      const Thread& thread = e.threads[static_cast<size_t>(t)];
      ++places[std::string(thread.waitsFor ? thread.waitsFor : "nothing") +
               (thread.waitsFor ? " at " + placeOf(thread.waitsAt) : "")];
    }
  std::string text = "no thread of the block can go on:";
  for (const auto& [place, count] : places)
    text += " " + std::to_string(count) + " wait for the " + place + ";";
  text += " " + std::to_string(e.exited) + " have exited";
  report("DEADLOCK", text);
  abortBlock(e);
}

/// What every fiber runs: one thread after the other, as long as there are threads that have not
/// started.
void fiberMain() {
  fiberEntered();
  for (;;) {
    Engine& e = *activeEngine;
    Fiber* self = e.currentThread().fiber;
    insideCore = false;
    e.call.invoke(e.call.args.get());
    insideCore = true;
    threadExited(e);
    const int next = e.live > 0 ? pickThread(e) : -1;
    if (next < 0 && e.live > 0) reportDeadlock(e);
    if (next < 0) {
      e.fibers.give(self);
      switchFiber(self, &e.host);
    } else if (enter(e, next)) {
      e.currentThread().fiber = self;
    } else {
      e.fibers.give(self);
      ++e.counts.switches;
      switchFiber(self, e.currentThread().fiber);
    }
  }
}

uint32_t lanesOfWarp(int threads, int warp) {
  const int n = std::min(WarpLanes, threads - warp * WarpLanes);
  return n == WarpLanes ? ~0u : (1u << n) - 1;
}

void runBlock(Engine& e, uint3 index) {
  builtIns.block = index;
  const int n = e.numThreads;
  e.live = n;
  e.exited = 0;
  for (int w = 0; w < e.numWarps; ++w) {
    Warp& warp = e.warps[static_cast<size_t>(w)];
    warp.live = warp.fresh = lanesOfWarp(n, w);
    warp.ready = 0;
  }
  e.barrier = Barrier();
  e.shared.beginBlock();
  if (e.check) checkerBeginBlock(e);
  if (e.dynamicBytes) e.shared.dynamic = e.shared.array(nullptr, e.dynamicBytes, 128, "dynamic");
  e.current = 0;
  const int first = e.schedule == Schedule::Reverse ? n - 1
                    : e.schedule == Schedule::Random
                        ? static_cast<int>(nextRandom(e) % static_cast<uint32_t>(n))
                        : 0;
  enter(e, first);
  e.currentThread().fiber = e.fibers.take(fiberMain);
  switchFiber(&e.host, e.currentThread().fiber);
  ++e.counts.blocks;
  e.counts.threads += static_cast<uint64_t>(n);
  if (!e.check && !e.aborted) e.shared.inspectGaps();
}

void prepare(Engine& e, const KernelCall& call, dim3 grid, dim3 block, size_t sharedBytes) {
  e.call = call;
  e.dynamicBytes = sharedBytes;
  e.schedule = options().schedule;
  e.check = options().check;
  e.random = options().seed * 0x9E3779B97F4A7C15ull | 1;
  e.aborted = false;
  e.counts = Statistics();
  e.numThreads = static_cast<int>(block.x * block.y * block.z);
  e.numWarps = (e.numThreads + WarpLanes - 1) / WarpLanes;
  builtIns.gridSize = grid;
  builtIns.blockSize = block;
  size_t i = 0;
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x) {
        Thread& thread = e.threads[i++];
        thread.index = {x, y, z};
        thread.waitsFor = nullptr;
      }
  for (Warp& w : e.warps)
    for (auto& c : w.collectives)
      if (c) c->arrived = 0;
  adoptHostStack(e.host);
}

Engine& engineOfThisThread() {
  static thread_local std::unique_ptr<Engine> engine;
  if (!engine) engine = std::make_unique<Engine>();
  return *engine;
}

} // namespace

void suspendCurrent(Engine& e, Site site, const char* waitsFor) {
  Thread& self = e.currentThread();
  self.waitsAt = site;
  self.waitsFor = waitsFor;
  const int me = e.current, next = pickThread(e);
  if (next < 0) reportDeadlock(e);
  if (next != me) {
    ++e.counts.switches;
    if (enter(e, next)) e.currentThread().fiber = e.fibers.take(fiberMain);
    switchFiber(self.fiber, e.currentThread().fiber);
  }
  self.waitsFor = nullptr;
}

void abortBlock(Engine& e) {
  e.aborted = true;
  Fiber dropped = *e.currentThread().fiber;
  switchFiber(&dropped, &e.host);
  std::abort(); // nobody comes back here
}

/// Called by the host API, in the order of the stream. A launch that was given up has left a
/// report.
void runLaunch(const KernelCall& call, dim3 grid, dim3 block, size_t sharedBytes) {
  const uint64_t total = uint64_t(grid.x) * grid.y * grid.z;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Statistics& sum = statistics();
  ++sum.launches;
  if (options().check) {
    DeviceMemory::get().shadowReady();
    checkerBeginLaunch();
  }
  const auto work = [&] {
    CoreScope scope;
    Engine& e = engineOfThisThread();
    prepare(e, call, grid, block, sharedBytes);
    activeEngine = &e;
    while (!failed) {
      uint64_t k = next++;
      if (k >= total) break;
      if (e.schedule == Schedule::Reverse) k = total - 1 - k;
      runBlock(e, {static_cast<unsigned>(k % grid.x), static_cast<unsigned>(k / grid.x % grid.y),
                   static_cast<unsigned>(k / grid.x / grid.y)});
      if (e.aborted) {
        failed = true;
        e.fibers.abandonAll();
      }
    }
    activeEngine = nullptr;
    e.call = KernelCall();
    std::lock_guard<std::mutex> lock(mutex);
    sum.blocks += e.counts.blocks;
    sum.threads += e.counts.threads;
    sum.barriers += e.counts.barriers;
    sum.collectives += e.counts.collectives;
    sum.switches += e.counts.switches;
  };
  const int hostThreads = options().check ? 1 : options().hostThreads;
  std::vector<std::thread> helpers;
  for (int i = 1; i < hostThreads && static_cast<uint64_t>(i) < total; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers)
    t.join();
  if (!options().check) DeviceMemory::get().inspectGaps();
}

void trap(const char* what) {
  CoreScope scope;
  Engine& e = *activeEngine;
  report("TRAP", e.nameOf(e.current) + " stops the kernel: " + what);
  abortBlock(e);
}

void* sharedArray(const void* key, size_t bytes, size_t align, const char* name) {
  CoreScope scope;
  return activeEngine->shared.array(key, bytes, align, name);
}
void* dynamicShared() {
  return activeEngine->shared.dynamic;
}

} // namespace cuemu
