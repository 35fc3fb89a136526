// SPDX-License-Identifier: Apache-2.0
// What a kernel's function takes in emitted text: a pointer per memref, the sizes and strides that
// its code needs and no constant tells, then the scalars. The kernel's printer and the program's
// printer both ask here.
#pragma once
#include "compiler/ir/Dialect.h"

namespace ortc::codegen {

struct KernelParam {
  enum Kind { Pointer, Size, Stride, Scalar } kind;
  unsigned arg;     ///< of the func.func
  unsigned dim = 0; ///< of Size and Stride
  std::string name;
  bool readOnly = false; ///< of Pointer
};

/// One `?` of a memref argument: a parameter of its own, the same number as another parameter, or a
/// constant.
struct DynamicExtent {
  std::string name;
  std::optional<int64_t> constant;
};

struct KernelSignature {
  llvm::SmallVector<KernelParam> params; ///< in order
  /// How sizes and strides of memref arguments are spelled in the kernel: key (arg, dim).
  llvm::DenseMap<std::pair<unsigned, unsigned>, DynamicExtent> sizes, strides;
  llvm::SmallVector<std::string> argNames;
  bool usesThreads = false; ///< needs the executor as its first parameter (CPU)
};

/// Looks at the kernel and at its launches in the module: sizes that are the same number in all of
/// them are one parameter, named as the model names it.
KernelSignature analyzeSignature(mlir::func::FuncOp kernel);

/// Is nothing ever stored through this memref (or a view of it)?
bool isReadOnly(mlir::Value memref);

/// A size or stride of a memref of the program, from the op that makes it; null when it cannot be
/// told.
mlir::OpFoldResult programSize(mlir::Value memref, unsigned dim);
mlir::OpFoldResult programStride(mlir::Value memref, unsigned dim);

/// The name of the kernel's function: legal in all languages, and unique in the module.
std::string kernelName(mlir::func::FuncOp kernel);

/// The named dimensions of the model in the order of the table that `run` gets their sizes in:
/// those that the program uses, then those that only inputs mention.
llvm::SmallVector<std::string> programDimNames(mlir::ModuleOp module);

/// The ortc.launch ops of this kernel, in order.
llvm::SmallVector<mlir::Operation*> launchesOf(mlir::func::FuncOp kernel);

} // namespace ortc::codegen
