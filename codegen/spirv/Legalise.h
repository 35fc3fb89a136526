// SPDX-License-Identifier: Apache-2.0
// Before a kernel becomes SPIR-V it is written with what Vulkan has for certain, or has behind a
// feature that the bundle names:
//
//   memory   one storage buffer per argument, in its own element size: bool and i8 as bytes, i16,
//   f16 and bf16 as 16-bit
//            words. A descriptor begins at a multiple of 256 bytes; where a tensor does not, a
//            scalar NAME_at says how many elements behind it the tensor begins.
//   scalars  32-bit words of one block of push constants; 64-bit integers take two.
//   integers index is 32 bits wide; i8 and i16 are i32 that are wrapped after each op; i64 is
//   itself. Division by zero,
//            shifts by too much and conversions out of range have one answer here, where SPIR-V
//            leaves them open.
//   floats   f32 and f64. f16 and bf16 are f32, rounded after each op as on every other target.
//   threads  scf.parallel is a loop over this thread's share of all iterations.
#pragma once
#include "compiler/ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ortc::codegen::spirv_text {

constexpr int64_t kThreads = 64;           ///< of a workgroup
constexpr int64_t kBindingAlignment = 256; ///< of a descriptor's offset; suits every device
constexpr unsigned kMaxBindings = 16;
constexpr unsigned kMaxPushWords = 32; ///< every device has 128 bytes

/// A word or two of push constants.
struct PushScalar {
  unsigned arg;         ///< of the kernel
  bool isStart = false; ///< how far behind the descriptor's offset the buffer begins, in elements
  mlir::Type type;      ///< of the scalar in the kernel
};

struct LegalKernel {
  std::string name;
  mlir::func::FuncOp function;          ///< storage buffers, then the block of push constants
                                        ///< (memref<Nxi32>) if there is one
  llvm::SmallVector<unsigned> bindings; ///< arguments of the kernel, by binding
  uint32_t writes = 0;                  ///< bit per binding
  llvm::SmallVector<PushScalar> scalars;
  unsigned pushWords = 0;
};

/// `startsAligned[i]`: memref argument i begins at a multiple of kBindingAlignment in every launch.
/// The result is made in `into`, beside the functions that it calls. Failure comes with diagnostics
/// at the ops.
mlir::FailureOr<LegalKernel>
legaliseKernel(mlir::func::FuncOp kernel, llvm::ArrayRef<bool> startsAligned, mlir::ModuleOp into);

// ---- between the two files that do it ----

/// The type of a value, and of an element in memory; null when there is none.
mlir::Type valueType(mlir::Type type);
mlir::Type storageType(mlir::Type type);
bool isNarrowInt(mlir::Type type);
bool isSmallFloatType(mlir::Type type);

/// Scalar ops, on operands that are legal already.
class ScalarLegaliser {
public:
  ScalarLegaliser(mlir::OpBuilder& b, mlir::ModuleOp functions) : b(b), functions(functions) {}
  /// The legal value of an op with one result; null after a diagnostic.
  mlir::Value legalise(mlir::Operation* op, llvm::SmallVector<mlir::Value> v);
  mlir::Value constant(mlir::arith::ConstantOp op);
  /// An i32 that stands for a narrow integer: sign- or zero-extended.
  mlir::Value signExtended(mlir::Type narrow, mlir::Value v);
  mlir::Value zeroExtended(mlir::Type narrow, mlir::Value v);
  /// f16 and bf16 as their bits (i32), and back.
  mlir::Value encode(mlir::Type small, mlir::Value v);
  mlir::Value decode(mlir::Type small, mlir::Value v);

private:
  mlir::OpBuilder& b;
  mlir::ModuleOp functions;

  mlir::Value fail(mlir::Operation* op, const llvm::Twine& why);
  mlir::Value number(mlir::Location loc, mlir::Type type, int64_t value);
  mlir::Value floatNumber(mlir::Location loc, mlir::Type type, double value);
  mlir::Value rounded(mlir::Type type, mlir::Value v);
  mlir::Value floatToInt(mlir::Location loc, mlir::Value x, mlir::Type to, bool isSigned);
  mlir::Value divide(mlir::Operation* op, llvm::ArrayRef<mlir::Value> v);
  mlir::Value shift(mlir::Operation* op, mlir::Type from, llvm::ArrayRef<mlir::Value> v);
  mlir::Value cast(mlir::Operation* op, mlir::Type from, mlir::Type type, mlir::Value v);
  mlir::Value exp64(mlir::Location loc, mlir::Value x);
  mlir::Value tanh64(mlir::Location loc, mlir::Value x);
  mlir::Value math64(mlir::Operation* op, llvm::ArrayRef<mlir::Value> v);
  mlir::Value plain(mlir::Operation* op, mlir::ValueRange v, mlir::Type to);
};

} // namespace ortc::codegen::spirv_text
