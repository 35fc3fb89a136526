// SPDX-License-Identifier: Apache-2.0
// Program IR as CUDA C++ on targets/cuda/host/ortc_cuda.cuh and cuda_context.h; the same text
// compiles for the emulator.
#pragma once
#include "compiler/ir/Dialect.h"
#include <map>
#include <set>
#include <string>

namespace ortc::codegen::cuda {

struct Options {
  std::string contextType = "ortc_rt::cuda_context";
};

/// What the kernels of one file share.
struct Needs {
  std::map<std::string, std::string> epilogues; ///< structs of epilogues: text to name
  std::set<std::string> templates;              ///< catalogue templates that are called
};

/// How a kernel is spread over the device.
///   scf.parallel (at most one): one thread per iteration, all its loops together, in a loop with
///   the grid's stride. With an attribute ortc.row_threads = N : i64 a block of N threads per
///   iteration; gpu.thread_id x and gpu.all_reduce are within it. gpu.thread_id, block_id, barrier,
///   memref.alloca in workgroup memory: the kernel is a block program. Its function has
///     `ortc.block` (array<i64: x, y, z>) and `ortc.grid` (an affine map per dimension, in the
///     kernel's index arguments); no more of it than CUDA allows is launched, so the kernel loops.
///   ortc.call_template: a kernel of the catalogue. Written is a function of the host that launches
///   it,
///     with the same two attributes.
///   neither: one thread.
/// An attribute ortc.index_bits = 32 : i64 of the kernel computes indices in int.

/// `static __global__ void NAME(...)` with its provenance comment, behind the structs that it is
/// the first to need.
mlir::LogicalResult printKernel(mlir::func::FuncOp kernel, llvm::raw_ostream& os, Needs& needs);
mlir::LogicalResult printKernelDeclaration(mlir::func::FuncOp kernel, llvm::raw_ostream& os);

/// `static ortc_status run(cuda_context& context, ortc_tensor* outputs, const int64_t* dims,
/// cudaStream_t stream)`.
mlir::LogicalResult printProgram(mlir::func::FuncOp program, llvm::raw_ostream& os,
                                 const Options& options = {});
mlir::LogicalResult printArenaBytes(mlir::func::FuncOp program, llvm::raw_ostream& os);
/// As CProgramPrinter has it.
mlir::LogicalResult printComputedBytes(mlir::func::FuncOp bounds, llvm::raw_ostream& os);

} // namespace ortc::codegen::cuda
