// SPDX-License-Identifier: Apache-2.0
// What the catalogues of all families share in the compiler: the heavy op of a kernel, the epilogue
// around it, and the call of the template that computes both.
#pragma once
#include "compiler/lower/LowerKernel.h"

namespace ortc::catalogue {

/// The only contraction or convolution of a kernel whose other ops are elementwise on its result,
/// all in f32; null otherwise.
mlir::Operation* heavyOp(KernelOp kernel);
/// The same of a product of 8-bit numbers that is summed in i32; the other ops may be in i32, f32
/// and 8 bits, and the kernel may give any of these.
mlir::Operation* heavyByteOp(KernelOp kernel);
/// Is the value a constant (a weight)?
std::optional<HostTensor> constantOf(mlir::Value v);

/// How far ahead of their use weights are fetched (kernels/README.md), and whether that pays: not
/// when all of the model's fit in the L2 cache, where they are in any case.
constexpr int64_t kPrefetchBytes = 384 << 10;
bool prefetchPays(KernelOp kernel);

/// A call of a template with named arguments.
class TemplateCall {
public:
  /// `argsType`: the struct that the template takes.
  TemplateCall(KernelWriter& writer, llvm::StringRef callee, llvm::StringRef argsType)
      : writer(writer), callee(callee.str()), argsType(argsType.str()) {}
  void parameter(llvm::StringRef name, int64_t value);
  void parameter(llvm::StringRef name, llvm::StringRef text);
  void buffer(llvm::StringRef name, mlir::Value memref);
  void size(llvm::StringRef name, mlir::OpFoldResult value); // of the enclosing function
  void size(llvm::StringRef name, int64_t value);

  /// Makes the op. `heavy` is the value whose elements the template computes; its dims [0, rows)
  /// are counted by m in row-major order, the dims [rows, rank) by n.
  void finish(KernelOp kernel, mlir::Value heavy, unsigned rows);

private:
  KernelWriter& writer;
  std::string callee, argsType;
  llvm::SmallVector<mlir::NamedAttribute> parameters;
  llvm::SmallVector<mlir::Attribute> order, bufferNames, sizeNames;
  llvm::SmallVector<mlir::Value> buffers, sizes;
};

} // namespace ortc::catalogue
