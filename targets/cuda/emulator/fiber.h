// SPDX-License-Identifier: 0BSD
//
// A fiber: a stack of its own that is entered and left by hand. One CUDA thread that waits at a
// barrier is one fiber.
#ifndef CUEMU_FIBER_H
#define CUEMU_FIBER_H

#include <cstddef>

#if !defined(__x86_64__) && !defined(CUEMU_UCONTEXT)
#define CUEMU_UCONTEXT 1 // correct everywhere, but a switch costs two system calls
#endif
#ifdef CUEMU_UCONTEXT
#include <ucontext.h>
#endif

namespace cuemu {

struct Fiber {
  void* stackPointer = nullptr;
  char* stack = nullptr;
  size_t stackBytes = 0;
  void* fakeStack = nullptr; // of AddressSanitizer
#ifdef CUEMU_UCONTEXT
  ucontext_t context{};
#endif
};

constexpr size_t FiberStackBytes = size_t(256) << 10;
constexpr size_t FiberCount = 1024 + 8; // threads of the largest block, and some

/// The stacks of one host thread: reserved at once, so that "is this address local memory" is one
/// comparison. Each has a guard page below it.
class FiberPool {
public:
  FiberPool();
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// `entry` must never return.
  Fiber* take(void (*entry)());
  void give(Fiber* fiber) { free[numFree++] = fiber; }
  /// Forgets all fibers that are in use: their frames are dropped without running destructors.
  void abandonAll();
  bool holds(const void* p) const {
    return static_cast<size_t>(static_cast<const char*>(p) - stacks) < FiberStackBytes * FiberCount;
  }

private:
  void prepare(Fiber& fiber, size_t index, void (*entry)());

  char* stacks;
  Fiber* all;
  size_t numMade = 0;
  Fiber* free[FiberCount];
  size_t numFree = 0;
};

void switchFiber(Fiber* from, Fiber* to);
/// First thing on a new fiber (AddressSanitizer wants to know).
void fiberEntered();
/// Fills in the bounds of the stack that we were called on.
void adoptHostStack(Fiber& fiber);

} // namespace cuemu
#endif
