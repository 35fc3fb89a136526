// SPDX-License-Identifier: 0BSD
//
// The state of the block that a host thread is running, shared by the scheduler, the barriers and
// the checker. One Engine per host thread; blocks run on it one after the other.
#ifndef CUEMU_ENGINE_H
#define CUEMU_ENGINE_H

#include <memory>
#include <string>
#include <vector>

#include "checker.h"
#include "core.h"
#include "device_api.h"
#include "fiber.h"
#include "memory.h"

namespace cuemu {

constexpr int WarpLanes = 32;
constexpr int MaxThreads = 1024;
constexpr int MaxWarps = MaxThreads / WarpLanes;

struct Thread {
  Fiber* fiber = nullptr;
  uint3 index{};
  Site waitsAt{}; // for the report of a deadlock
  const char* waitsFor = nullptr;
};

/// Lanes of one mask that have to meet. Results are kept in two generations: a lane may hand in the
/// value of the next exchange while a slower one still reads this one.
struct Collective {
  uint32_t mask = 0, arrived = 0, generation = 0;
  WarpOp op{};
  Site site{};
  uint64_t lanes[2][WarpLanes];
  uint32_t present[2] = {0, 0}; // who handed in a value
};

struct Warp {
  uint32_t live = 0;                                  // not exited
  uint32_t ready = 0;                                 // started and able to run
  uint32_t fresh = 0;                                 // not started
  std::unique_ptr<Collective> collectives[WarpLanes]; // by the lowest lane of the mask
};

struct Barrier {
  int arrived = 0;
  Site site{};
  uint32_t waiting[MaxWarps] = {};
  uint32_t generation = 0;
  int votes[2] = {0, 0}; // predicates that were true, by generation
  int voters[2] = {0, 0};
};

struct Engine {
  Engine();

  // The launch.
  KernelCall call;
  size_t dynamicBytes = 0;
  Schedule schedule = Schedule::Forward;
  bool check = false;
  uint64_t random = 1;

  // The block.
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  int numThreads = 0, numWarps = 0;
  int current = 0; // linear index of the running thread
  int live = 0, exited = 0;
  bool aborted = false; // deadlock or trap: the launch is given up
  Barrier barrier;
  SharedMemory shared;
  HappensBefore order;

  Fiber host; // the scheduler's caller
  FiberPool fibers;
  Statistics counts;

  Warp& currentWarp() { return warps[static_cast<size_t>(current / WarpLanes)]; }
  uint32_t currentBit() const { return 1u << (current % WarpLanes); }
  Thread& currentThread() { return threads[static_cast<size_t>(current)]; }
  std::string nameOf(int thread) const;
};

/// The engine of this host thread while it runs a kernel; null in host code.
extern thread_local Engine* activeEngine;

/// The current thread cannot go on: run others until somebody makes it ready again.
void suspendCurrent(Engine& engine, Site site, const char* waitsFor);
/// Gives the block up and returns to the launch. Never returns.
[[noreturn]] void abortBlock(Engine& engine);
/// A thread has exited: may complete barriers that others wait at.
void threadExited(Engine& engine);

} // namespace cuemu
#endif
