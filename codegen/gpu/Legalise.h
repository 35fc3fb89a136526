// SPDX-License-Identifier: Apache-2.0
// Kernels for devices that know little: WGSL and SPIR-V. Before printing, each kernel becomes a
// function that uses only what both have for certain:
//
//   memory   one binding per segment that the kernel touches (all arena tensors share one, since
//   WebGPU allows no buffer
//            to be bound twice when one binding writes): a rank-1 memref of i32 or f32. Where a
//            tensor begins in it is an i32 argument `NAME_at`, counted in elements (in words for
//            64-bit types). Elements of 1 and 2 bytes lie packed in words, as on every other
//            target; stores to them are an atomic AND and an atomic OR.
//   integers index, i32 and i1. i8 and i16 are i32, wrapped after each op. i64 is its low word:
//   memory keeps 64 bits,
//            values beyond 32 bits are not supported (stores sign-extend).
//   floats   f32. f16 and bf16 are f32, rounded after each op. f64 is an error.
//   math     add, mul, compare, sqrt, exp, log, floor and the like; everything else is a function
//   of Math.cpp. threads  scf.parallel is a loop over this thread's share of all iterations.
#pragma once
#include "compiler/ops/AllOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ortc::codegen::gpu {

struct Binding {
  std::string segment; ///< "arena", "weights", "input", "output"
  /// Of an input or output. Weights may lie in several buffers: which of them it is, is told per
  /// launch (weightsOf), and here they are counted.
  int64_t number = 0;
  bool written = false;
  bool isFloat = false; ///< f32, else i32
  bool isAtomic = false;
};

struct DeviceScalar {
  unsigned arg;  ///< of the launch
  bool isOffset; ///< where the buffer that is passed begins: its byte offset / unitBytes; else the
                 ///< scalar itself
  int64_t unitBytes = 1;
  char letter = 'i'; ///< 'i' or 'f'
};

struct DeviceKernel {
  std::string name;
  mlir::func::FuncOp source;   ///< in the program's module
  mlir::func::FuncOp function; ///< legalised: bindings, then scalars
  llvm::SmallVector<Binding> bindings;
  llvm::SmallVector<DeviceScalar> scalars;
  llvm::SmallVector<int64_t> workgroup = {1, 1, 1};
  mlir::scf::ParallelOp parallel; ///< of `source`, when its iterations are spread over threads
};

/// All kernels that a program launches, one per kernel and pattern of segments.
class DeviceModule {
public:
  /// `threads`: of a workgroup, where a kernel does not say. Failure comes with diagnostics at the
  /// ops.
  static mlir::FailureOr<DeviceModule> create(mlir::ModuleOp module, int64_t threads = 64);

  const std::vector<DeviceKernel>& kernels() const { return list; }
  /// Index into kernels(), or -1.
  int kernelOf(LaunchOp launch) const {
    auto it = byLaunch.find(launch);
    return it == byLaunch.end() ? -1 : static_cast<int>(it->second);
  }
  /// The buffer of weights (BufferOp's number) behind each of the kernel's bindings of weights.
  llvm::ArrayRef<int64_t> weightsOf(LaunchOp launch) const {
    auto it = weightBuffers.find(launch);
    return it == weightBuffers.end() ? llvm::ArrayRef<int64_t>() : it->second;
  }
  mlir::ModuleOp legalised() { return *module; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<DeviceKernel> list;
  llvm::DenseMap<mlir::Operation*, unsigned> byLaunch;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<int64_t>> weightBuffers;
};

/// Is a number beyond 32 bits only "as far as there is", the start of a minimum or a limit to
/// compare with? Then the end of 32 bits says the same.
bool isOnlyBound(mlir::Value number);

} // namespace ortc::codegen::gpu
