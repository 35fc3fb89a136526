// SPDX-License-Identifier: Apache-2.0
// Which buffer each tensor of the program lies in, and how: as a whole, or as a strided part of
// another one. Views (reshape, slices), concatenation and the results of control flow are settled
// here, without copies where possible; where not, a kernel that copies is put in.
#pragma once
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ortc {

struct PlannedBuffer {
  std::string segment; // "arena", "input", "output", "weights"
  int64_t number = 0;  // of an input or output
  std::string name;
  mlir::Type elementType;
  Sizes sizes; // in the arena: of the whole buffer, values at the function's start
  /// Where the buffer is made when its sizes are data without a bound: they are values there, and
  /// its offset is computed then (LateBuffers.h).
  mlir::Operation* madeLate = nullptr;
  int64_t first = INT64_MAX, last = -1; // positions, both included
  mlir::OpFoldResult byteOffset; // in the arena or the weights; set when offsets are assigned
};

struct PlannedPlace {
  unsigned buffer = 0;
  mlir::OpFoldResult offset; // elements from the buffer's start
  Sizes strides;             // elements
};

class Places {
public:
  explicit Places(mlir::func::FuncOp function) : function(function), b(function.getContext()) {}

  /// Settles all tensors; failure comes with a diagnostic. Inserts copying kernels and arithmetic
  /// on sizes.
  mlir::LogicalResult run();

  std::vector<PlannedBuffer> buffers;
  /// May the arena need more while a run goes on? Set before run().
  bool growsArena = false;
  /// What a kernel needs while it runs; set before run().
  std::function<std::optional<mlir::OpFoldResult>(KernelOp, mlir::OpBuilder&)> workspaceOf;
  llvm::DenseMap<mlir::Operation*, unsigned> workspaces;   // buffer of a kernel's workspace
  std::vector<mlir::DenseStringElementsAttr> stringTables; // by the number of a "strings" buffer
  const PlannedPlace* find(mlir::Value tensor) const {
    auto it = places.find(tensor);
    return it == places.end() ? nullptr : &it->second;
  }
  /// The tensor results of control flow, and what each of its blocks must leave in their places,
  /// are handled by copies in the blocks: after run() every yielded tensor lies in the place of the
  /// result.
  int64_t copies = 0;

  /// The same number as a value that is known when a run begins; none when it depends on data.
  std::optional<mlir::OpFoldResult> atStart(mlir::OpFoldResult size);
  /// No less than it, known when a run begins.
  std::optional<mlir::OpFoldResult> boundAtStart(mlir::OpFoldResult size);
  mlir::OpBuilder& builder() { return b; }
  mlir::Operation* startPoint() { return start; }

private:
  mlir::func::FuncOp function;
  mlir::OpBuilder b;
  mlir::Operation* start = nullptr; // arithmetic for the start of a run goes before it
  llvm::DenseMap<mlir::Value, PlannedPlace> places;
  llvm::DenseMap<mlir::Value, mlir::Value> atStartOf;
  llvm::DenseMap<mlir::Operation*, std::pair<int64_t, int64_t>> positions;
  /// Where a tensor must be written: part of a concatenation, an output, or the result of control
  /// flow.
  struct Target {
    enum Kind { Concat, Output, Result } kind;
    mlir::Operation* op = nullptr;
    unsigned index = 0;
  };
  llvm::DenseMap<mlir::Value, Target> targets;

  void insertCopies(mlir::Block& block);
  mlir::Value copyOf(mlir::Value tensor, mlir::Operation* before);
  bool claim(mlir::Value tensor, Target target);
  mlir::LogicalResult placeBlock(mlir::Block& block);
  mlir::LogicalResult closeUpOperands(HostStepOp step);
  mlir::FailureOr<PlannedPlace> placeResult(mlir::Value tensor, mlir::Operation* at = nullptr);
  mlir::LogicalResult placeInsert(mlir::tensor::InsertSliceOp insert, const PlannedPlace& dest);
  mlir::LogicalResult placeBranchResult(mlir::scf::IfOp branch, unsigned i);
  mlir::FailureOr<unsigned> newBuffer(mlir::Value tensor, llvm::StringRef segment, int64_t number,
                                      mlir::Operation* at = nullptr);
  bool setSizes(PlannedBuffer& buffer, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                mlir::Operation* at);
  bool isContiguous(const PlannedPlace& place, llvm::ArrayRef<mlir::OpFoldResult> sizes);
  std::optional<Sizes> stridesThrough(ReshapeOp reshape, const PlannedPlace& place);
  Sizes contiguousStrides(llvm::ArrayRef<mlir::OpFoldResult> sizes);
  void number();
  // ---- KnownSizes.cpp ----
  /// What is known of sizes at a point; empty: that there is no such number. Sizes share operands:
  /// each is looked at once.
  using Numbers = llvm::DenseMap<mlir::Value, std::optional<mlir::OpFoldResult>>;
  Numbers boundOf;
  std::optional<mlir::OpFoldResult>
  bound(mlir::OpFoldResult size, mlir::Operation* loop, Numbers& bounds,
        llvm::function_ref<std::optional<mlir::OpFoldResult>(mlir::OpFoldResult)> known);
  void boundBeforeLoop(PlannedBuffer& buffer);
  /// Can the number be computed before `op`, of the same block?
  static bool isKnownBefore(mlir::OpFoldResult size, mlir::Operation* op);

  mlir::LogicalResult planWorkspaces();
  void extend(mlir::Value tensor);
  void writeInPlace(); // InPlace.cpp
};

/// Is `op` (or one that holds it) directly in a block of the program, not inside of a kernel?
bool isProgramBlock(mlir::Block* block);

} // namespace ortc
