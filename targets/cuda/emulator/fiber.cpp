// SPDX-License-Identifier: 0BSD
//
// Context switch and stacks. The switch saves what the x86-64 ABI says a callee must keep: six
// registers, about 7 ns. swapcontext, the fallback, also saves the signal mask: two system calls,
// about 25 times as long.
#include "fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define CUEMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUEMU_ASAN 1
#endif
#endif
#ifdef CUEMU_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef CUEMU_UCONTEXT
extern "C" void cuemuSwitch(void** save, void* to) __attribute__((visibility("hidden")));
asm(R"(
.text
.hidden cuemuSwitch
.globl cuemuSwitch
.type cuemuSwitch,@function
cuemuSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size cuemuSwitch, .-cuemuSwitch
)");
#endif

namespace cuemu {

FiberPool::FiberPool() {
  void* p = mmap(nullptr, FiberStackBytes * FiberCount, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    std::perror("cuda emulator: cannot reserve stacks");
    std::abort();
  }
  stacks = static_cast<char*>(p);
  all = new Fiber[FiberCount];
}

FiberPool::~FiberPool() {
  munmap(stacks, FiberStackBytes * FiberCount);
  delete[] all;
}

void FiberPool::prepare(Fiber& fiber, size_t index, void (*entry)()) {
  fiber.stack = stacks + index * FiberStackBytes;
  fiber.stackBytes = FiberStackBytes;
  // Stacks that all start at the same offset of a page fight for the same cache sets: stagger them.
  const size_t top = FiberStackBytes - 64 - index * 192 % 8192;
#ifdef CUEMU_UCONTEXT
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = top;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
#else
  // As if `entry` had called cuemuSwitch: return address on top of six registers, stack aligned as
  // after a call.
  void** p =
      reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(fiber.stack + top) & ~uintptr_t(15));
  *--p = nullptr;
  *--p = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i)
    *--p = nullptr;
  fiber.stackPointer = p;
#endif
}

Fiber* FiberPool::take(void (*entry)()) {
  if (numFree > 0) return free[--numFree];
  if (numMade == FiberCount) {
    std::fprintf(stderr, "cuda emulator: out of fibers\n");
    std::abort();
  }
  Fiber& fiber = all[numMade];
  if (!fiber.stack) mprotect(stacks + numMade * FiberStackBytes, 4096, PROT_NONE);
  prepare(fiber, numMade++, entry);
  return &fiber;
}

void FiberPool::abandonAll() {
  numFree = 0;
  numMade = 0; // take() prepares each stack anew
}

void switchFiber(Fiber* from, Fiber* to) {
#ifdef CUEMU_ASAN
  __sanitizer_start_switch_fiber(&from->fakeStack, to->stack, to->stackBytes);
#endif
#ifdef CUEMU_UCONTEXT
  swapcontext(&from->context, &to->context);
#else
  cuemuSwitch(&from->stackPointer, to->stackPointer);
#endif
#ifdef CUEMU_ASAN
  __sanitizer_finish_switch_fiber(from->fakeStack, nullptr, nullptr);
#endif
}

void fiberEntered() {
#ifdef CUEMU_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void adoptHostStack(Fiber& fiber) {
#ifdef CUEMU_ASAN
  void* bottom;
  size_t bytes;
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &bottom, &bytes);
  pthread_attr_destroy(&attributes);
  fiber.stack = static_cast<char*>(bottom);
  fiber.stackBytes = bytes;
#else
  (void)fiber;
#endif
}

} // namespace cuemu
