// SPDX-License-Identifier: 0BSD
//
// What a program says to the emulator and asks of it: how blocks and threads are scheduled, which
// faults were found, and how a kernel is launched. Everything else that kernel text needs is in
// cuemu.h.
#ifndef CUEMU_CORE_H
#define CUEMU_CORE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vector_types.h"

namespace cuemu {

/// The order in which runnable threads of a block, and blocks of a grid, get their turn. A kernel
/// without races gives the same numbers under all of them.
enum class Schedule { Forward, Reverse, Random };

struct Options {
  int hostThreads = 1; ///< blocks run on this many threads of the host; checking always uses one
  Schedule schedule = Schedule::Forward;
  uint64_t seed = 1;  ///< of Schedule::Random
  bool check = false; ///< set by itself when instrumented kernels are linked (see instrument.cpp)
  bool deferred = false;    ///< streams do nothing until somebody waits for them
  int maxReports = 20;      ///< later faults are counted, not kept
  bool printReports = true; ///< to stderr, as they are found

  // The device that the host API pretends to have.
  int driverVersion = 13050; ///< 0: no driver; below 13000: too old
  int deviceCount = 1;
  int capability = 90;
  size_t memoryBytes = size_t(8) << 30;
};

/// Process-wide, read at each launch. First use reads ORTC_CUEMU_SCHEDULE (forward, reverse,
/// random:SEED), ORTC_CUEMU_THREADS, ORTC_CUEMU_DEFERRED and ORTC_CUEMU_DEVICE (none, or a
/// capability such as 75).
Options& options();

struct Statistics {
  uint64_t launches = 0, blocks = 0, threads = 0, barriers = 0, collectives = 0, switches = 0;
};
Statistics& statistics();

/// Faults found so far, one line each: "RACE in 'kernel' block (0,0,0): ...". While there are any,
/// host API calls that report asynchronous errors return cudaErrorLaunchFailure, so that a program
/// under test fails by itself.
std::vector<std::string> reports();
bool hasReport(const char* kind);
void clearReports();

/// A line of kernel text. `id` tells two barriers on one line apart.
struct Site {
  const char* file;
  int line;
  int id;
};
inline bool sameSite(const Site& a, const Site& b) {
  return a.line == b.line && a.id == b.id && a.file == b.file;
}

/// The built-in variables of the thread that is running. One object, so that the checker knows its
/// address range.
struct BuiltIns {
  uint3 thread{}, block{};
  dim3 blockSize{}, gridSize{};
};
inline thread_local BuiltIns builtIns;

/// A kernel with its arguments, called once per CUDA thread.
struct KernelCall {
  void (*invoke)(void* args) = nullptr;
  std::shared_ptr<void> args;
  size_t argBytes = 0;
  const void* function = nullptr; ///< identity, for cudaFuncSetAttribute
  const char* name = "";
};

struct Stream;
int launch(const KernelCall& call, dim3 grid, dim3 block, size_t sharedBytes, Stream* stream);

template <class... P, class... A>
int launchKernel(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t sharedBytes,
                 Stream* stream, const A&... args) {
  static_assert(sizeof...(P) == sizeof...(A), "a kernel is called with all of its arguments");
  struct Args {
    void (*kernel)(P...);
    std::tuple<P...> values;
  };
  KernelCall call;
  call.args = std::make_shared<Args>(Args{kernel, std::tuple<P...>(static_cast<P>(args)...)});
  call.argBytes = sizeof(Args);
  call.function = reinterpret_cast<const void*>(kernel);
  call.name = name;
  call.invoke = [](void* p) {
    Args* a = static_cast<Args*>(p);
    std::apply(a->kernel, a->values);
  };
  return launch(call, grid, block, sharedBytes, stream);
}

/// A buffer inside a larger allocation begins its life: what lay there before counts as never
/// written, and accesses that fall between buffers are out of bounds. Ordered like any other work
/// of the stream.
int beginBuffer(Stream* stream, void* data, size_t bytes, const char* name);

} // namespace cuemu
#endif
