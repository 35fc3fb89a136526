// SPDX-License-Identifier: Apache-2.0
// Program IR (docs/spine.md, section 3) as C++17 that stands on runtime_min/rt. The bundle writer
// distributes the texts over files; each says which headers it needs. The texts belong into a
// namespace inside of ortc_rt, so that the runtime's exp, abs, div are found before those of C.
#pragma once
#include "compiler/ir/Dialect.h"
#include <map>
#include <set>
#include <string>

namespace ortc::codegen::cxx {

/// What the text that was printed needs.
struct Needs {
  std::set<std::string> headers;   ///< of the runtime, as "rt/ops.h"
  std::set<std::string> templates; ///< callees of ortc.call_template, as "gemm_f32"
  /// Epilogues that were printed: body to name of the struct. Kernels that are printed with one
  /// Needs share them, so their texts belong into one file.
  std::map<std::string, std::string> epilogues;
};

struct Options {
  /// Linkage of kernels: "static" when kernels and program are in one file, "" when kernels are in
  /// files of their own.
  std::string linkage = "static";
  /// What `context` of the program function is: the type that the bundle derives from
  /// ortc_rt::context.
  std::string contextType = "ortc_rt::context";
};

/// `static void NAME(const executor& threads, const float* x, float* y, int64_t batch) {...}` with
/// its provenance comment. Failure: something could not be printed, a diagnostic was given and the
/// text holds <<unsupported ...>>.
mlir::LogicalResult printKernel(mlir::func::FuncOp kernel, llvm::raw_ostream& os, Needs& needs,
                                const Options& options = {});
/// ortc.call_template (compiler/ops/program): `args` of the type FamilyArgs ("gemm_f32": GemmArgs;
/// attribute `argsType` overrides) gets a field for each of argNames (dots allowed:
/// "width.stride"), buffers as pointers; template arguments are `parameters` in the order of the
/// attribute `parameterOrder`; `writes` names the buffers that are written (default: c, y, out,
/// output, scratch, workspace). The region, on scalars (acc, m, n), becomes a struct that works on
/// vectors.

/// The declaration alone, with semicolon.
mlir::LogicalResult printKernelDeclaration(mlir::func::FuncOp kernel, llvm::raw_ostream& os,
                                           const Options& options = {});

/// The host program, `ortc_status run(context&, const ortc_tensor* inputs, ortc_tensor* outputs,
/// const int64_t* dims)`: everything after the inputs were checked and the dims bound.
mlir::LogicalResult printProgram(mlir::func::FuncOp program, llvm::raw_ostream& os, Needs& needs,
                                 const Options& options = {});

/// `static uint64_t arena_bytes(const int64_t* dims)`: for reserve.
mlir::LogicalResult printArenaBytes(mlir::func::FuncOp program, llvm::raw_ostream& os);
/// `static uint64_t computed_bytes(int32_t output, const int64_t* dims)`, from @output_bounds: for
/// output_bound.
mlir::LogicalResult printComputedBytes(mlir::func::FuncOp bounds, llvm::raw_ostream& os);

} // namespace ortc::codegen::cxx
