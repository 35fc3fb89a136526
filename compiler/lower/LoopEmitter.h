// SPDX-License-Identifier: Apache-2.0
// Writes tensor IR as scalar code: a tensor that has a place in memory is loaded, any other is
// written in place, at the index where it is read. This is what makes every op run on every target,
// and what fuses: pad, gather, concat, resize, softmax and the rest end up inside of the loop that
// needs them.
//
// What depends only on outer loops is written before the inner ones (but never out of a guard,
// since it may not be readable there), once.
#pragma once
#include "compiler/ir/ElementEmitter.h"
#include "compiler/ir/Sizes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace ortc {

class SerialOp;

/// Where a tensor lies: a one-dimensional buffer, and the distance in elements between neighbours
/// along each dim. The strides are values of the enclosing function, or constants.
struct Place {
  mlir::Value buffer;
  Sizes strides;
};

/// Is it one number in all places, which is written where it is read? A string never is: it has an
/// address.
bool isInlineConstant(mlir::Operation* op);

class LoopEmitter final : public ElementEmitter {
public:
  /// What the kernel needs from outside becomes arguments of its function when it is first needed.
  struct Outside {
    virtual ~Outside() = default;
    /// The argument for a scalar (an index, mostly) or a tensor (a memref) of the enclosing
    /// function.
    virtual mlir::Value scalar(mlir::Value outer) = 0;
    virtual Place place(mlir::Value tensor) = 0;
    virtual bool isInside(mlir::Operation* op) = 0;
  };
  LoopEmitter(mlir::OpBuilder& builder, mlir::Location loc, Outside& outside)
      : ElementEmitter(loc), b(builder), outside(outside) {}

  mlir::Value load(const Place& place, mlir::ValueRange indices);
  void store(mlir::Value element, const Place& place, mlir::ValueRange indices);
  /// A scalar of the kernel's region or of outside as a value here.
  mlir::Value scalar(mlir::Value v);
  /// Sizes of a tensor with outer values replaced by those known here.
  Sizes localSizes(mlir::Value tensor);
  mlir::Value localSize(mlir::OpFoldResult size);

  /// scf.for over [0, extent); names the axis. `body` writes the inside.
  mlir::Operation* loop(mlir::Value extent, llvm::StringRef axis,
                        llvm::function_ref<void(mlir::Value iv)> body);
  /// scf.parallel over all extents at once.
  mlir::Operation* parallel(mlir::ValueRange extents, llvm::ArrayRef<std::string> axes,
                            llvm::function_ref<void(mlir::ValueRange ivs)> body);
  /// Tells the emitter that 0 <= iv < extent.
  void setExtent(mlir::Value iv, mlir::Value extent) { extents[iv] = extent; }

  /// Says that `tensor[indices]` is `value`: the accumulator that a kernel template hands to its
  /// epilogue.
  void setWritten(mlir::Value tensor, mlir::ValueRange indices, mlir::Value value) {
    written[tensor].push_back({llvm::SmallVector<mlir::Value>(indices), value});
  }
  /// Says that `parts` are the indices of `whole` in dims of these sizes, row-major: places that
  /// are dense along them are then addressed by `whole` alone.
  void setFlat(mlir::ValueRange parts, mlir::Value whole,
               llvm::ArrayRef<mlir::OpFoldResult> sizes) {
    flat.push_back({llvm::SmallVector<mlir::Value>(parts), whole, Sizes(sizes)});
  }

  /// The scalar body of a generic at these loop indices; `carried` stands for the output argument.
  mlir::Value body(mlir::linalg::GenericOp op, mlir::ValueRange loops, mlir::Value carried);

  /// The code of an ortc.serial at one index of its space; `results` are the places of its results.
  void serial(SerialOp op, mlir::ValueRange indices, llvm::ArrayRef<Place> results);

  // ElementEmitter
  mlir::OpBuilder& builder() override { return b; }
  mlir::Value read(mlir::Value tensor, mlir::ValueRange indices) override;
  mlir::Value size(mlir::Value tensor, int64_t dim) override;
  mlir::Value index(int64_t constant) override;
  mlir::Value add(mlir::Value x, mlir::Value y) override;
  mlir::Value sub(mlir::Value x, mlir::Value y) override;
  mlir::Value mul(mlir::Value x, mlir::Value y) override;
  mlir::Value div(mlir::Value x, mlir::Value y) override;
  mlir::Value rem(mlir::Value x, mlir::Value y) override;
  llvm::SmallVector<mlir::Value>
  reduce(mlir::ValueRange extents, mlir::ValueRange inits,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange, mlir::ValueRange)>
             body) override;
  mlir::Value guarded(mlir::Value condition, llvm::function_ref<mlir::Value()> then,
                      llvm::function_ref<mlir::Value()> otherwise) override;

private:
  mlir::OpBuilder& b;
  Outside& outside;
  llvm::DenseMap<mlir::Value, mlir::Value> extents;
  struct Flat {
    llvm::SmallVector<mlir::Value> parts;
    mlir::Value whole;
    Sizes sizes;
  };
  llvm::SmallVector<Flat> flat;
  mlir::Value linear(const Place& place, mlir::ValueRange indices);
  // What was written for tensor[indices], to be found again where it dominates.
  llvm::DenseMap<mlir::Value,
                 llvm::SmallVector<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>>>
      written;

  llvm::DenseMap<mlir::Value, Place>
      memory; // what the memref arguments of an ortc.serial stand for

  mlir::Value compute(mlir::Value tensor, mlir::ValueRange indices);
  mlir::Value generic(mlir::linalg::GenericOp op, mlir::ValueRange indices);
  void clone(mlir::Operation& op, mlir::IRMapping& map, mlir::ValueRange loops);
  bool dominatesHere(mlir::Value v);
  template <class Op> mlir::Value arithmetic(mlir::Value x, mlir::Value y);
  mlir::OpBuilder::InsertPoint hoistPoint(mlir::ValueRange values);
};

} // namespace ortc
