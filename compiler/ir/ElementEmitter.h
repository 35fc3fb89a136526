// SPDX-License-Identifier: Apache-2.0
// How an op writes one of its elements as scalar code, without knowing whether its operands are in
// memory, or are themselves expressions that will be written in place.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ortc {

/// An index with what is known about it; the loop emitter of compiler/lower/ implements this.
class ElementEmitter {
public:
  virtual ~ElementEmitter() = default;

  virtual mlir::OpBuilder& builder() = 0;
  mlir::Location loc;
  explicit ElementEmitter(mlir::Location loc) : loc(loc) {}

  /// Scalar code for `tensor[indices]`; the indices must be inside the bounds.
  virtual mlir::Value read(mlir::Value tensor, mlir::ValueRange indices) = 0;
  /// Size of a dim as an index value.
  virtual mlir::Value size(mlir::Value tensor, int64_t dim) = 0;

  // Index arithmetic; folds constants so that the code that is written stays short.
  virtual mlir::Value index(int64_t constant) = 0;
  virtual mlir::Value add(mlir::Value a, mlir::Value b) = 0;
  virtual mlir::Value sub(mlir::Value a, mlir::Value b) = 0;
  virtual mlir::Value mul(mlir::Value a, mlir::Value b) = 0;
  virtual mlir::Value div(mlir::Value a, mlir::Value b) = 0; ///< floor, for non-negative a
  virtual mlir::Value rem(mlir::Value a, mlir::Value b) = 0;

  /// Sums, or folds in another way, over a loop nest of `extents`: `body(indices, carried)` gives
  /// the next carried values. The order is row-major and fixed.
  virtual llvm::SmallVector<mlir::Value>
  reduce(mlir::ValueRange extents, mlir::ValueRange inits,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange indices,
                                                           mlir::ValueRange carried)>
             body) = 0;
  /// `condition ? then() : otherwise()`; `then` is only evaluated when the condition holds, so it
  /// may read memory that is out of bounds otherwise.
  virtual mlir::Value guarded(mlir::Value condition, llvm::function_ref<mlir::Value()> then,
                              llvm::function_ref<mlir::Value()> otherwise) = 0;
};

} // namespace ortc
