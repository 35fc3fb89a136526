// SPDX-License-Identifier: Apache-2.0
// The printer that all languages share: it walks structured IR (scf, arith, math, memref) and
// writes statements. Pure values with one use become part of the expression that uses them; the
// others get a name. A language overrides how things are spelled. It decides nothing about what is
// computed.
#pragma once
#include "codegen/common/Names.h"
#include "codegen/common/OpTable.h"
#include "codegen/common/Signature.h"
#include "codegen/common/Text.h"
#include "compiler/ir/Dialect.h"
#include <set>

namespace ortc::codegen {

/// Where the elements of a memref are: base[offset + sum of index * stride], in elements.
struct Layout {
  std::string base;
  Expr offset = integer(0);
  llvm::SmallVector<Expr> sizes, strides; ///< a size that nothing needs may be empty
  bool identity = true;                   ///< strides are the products of the inner sizes
  bool constant = false;                  ///< of a pointer to const
};

class Printer {
public:
  Printer(const Language& language, llvm::raw_ostream& os) : w(os), language(language) {}
  virtual ~Printer() = default;

  bool failed() const { return hasFailed; }
  /// Headers of the runtime ("rt/ops.h") that the text needs.
  std::set<std::string> headers;

protected:
  // What a language says.
  virtual std::string typeName(mlir::Type type) = 0;
  virtual std::string elementTypeName(mlir::Type element) {
    return typeName(element);
  } ///< as it lies in memory
  virtual std::string constDecl(mlir::Type type, llvm::StringRef name, llvm::StringRef init) = 0;
  virtual std::string varDecl(mlir::Type type, llvm::StringRef name,
                              llvm::StringRef init) = 0; ///< init may be empty
  virtual Expr floatLiteral(mlir::FloatType type, const llvm::APFloat& value) = 0;
  virtual Expr integerLiteral(mlir::Type type, const llvm::APInt& value) = 0;
  virtual Expr castTo(mlir::Type type, const Expr& e) = 0; ///< T(e)
  virtual Expr unsignedCast(mlir::Type type, const Expr& e) = 0;
  virtual Expr bitcastTo(mlir::Type type, const Expr& e) = 0;
  virtual Expr selectExpr(mlir::Type type, const Expr& c, const Expr& yes, const Expr& no);
  virtual std::string forHeader(mlir::Type type, llvm::StringRef name, const Expr& lower,
                                const Expr& upper, const Expr& step) = 0;
  virtual Expr loadElement(mlir::Operation* op, const Layout& layout, const Expr& index,
                           mlir::Type element);
  virtual std::string storeElement(mlir::Operation* op, const Layout& layout, const Expr& index,
                                   const Expr& value, mlir::Type element);
  /// An op that only this language knows, or spells its own way. nullopt: not handled.
  virtual std::optional<mlir::LogicalResult> printSpecial(mlir::Operation* op) {
    return std::nullopt;
  }
  virtual Expr integerOp(mlir::Operation* op);
  virtual Expr castOp(mlir::Operation* op);
  virtual Expr floatOperand(mlir::Value value) {
    return expr(value);
  } ///< as a number that can be computed with
  virtual Expr compareFloats(mlir::arith::CmpFOp op);
  virtual Expr compareIntegers(mlir::arith::CmpIOp op);
  virtual Expr tableOp(mlir::Operation* op, const OpRow& row);
  /// As plain loops, unless a language spreads the work.
  virtual mlir::LogicalResult printParallel(mlir::scf::ParallelOp op);
  virtual mlir::LogicalResult printCopy(mlir::memref::CopyOp op);
  virtual mlir::LogicalResult printAlloca(mlir::Operation* op, mlir::MemRefType type);
  virtual void declareView(mlir::Value view, Layout layout, llvm::StringRef wish);
  virtual bool hasConditionalExpr() const { return true; }
  virtual unsigned indexBits() const { return 64; }

  // Values.
  Expr expr(mlir::Value value);
  std::string text(mlir::Value value) { return expr(value).text; }
  void bind(mlir::Value value, Expr e) { exprs[value] = std::move(e); }
  /// The result of an op: inlined where that reads well, else a named constant.
  void define(mlir::Operation* op, Expr e);
  /// The result is the operand itself, in other words.
  void forward(mlir::Operation* op, Expr e);
  std::string freshName(mlir::Value value, llvm::StringRef fallback);
  std::string hintFor(mlir::Value value);
  Layout& layoutOf(mlir::Value memref);
  /// The linear index of an element, without the layout's own offset when `relative`.
  Expr linearIndex(const Layout& layout, llvm::ArrayRef<Expr> indices, bool relative = false);
  Expr linearIndex(const Layout& layout, mlir::ValueRange indices);
  /// Strides of a dense row-major memref from its sizes.
  static void setDenseStrides(Layout& layout);

  // Launches, for host programs.
  /// How many iterations a kernel's parallel loop has, computed by the host from what it passes.
  Expr launchCount(mlir::Operation* launch, mlir::func::FuncOp kernel, mlir::scf::ParallelOp loop);
  /// Blocks per dimension of a kernel that says them (ortc.grid: affine maps of its index
  /// arguments); empty after a diagnostic.
  llvm::SmallVector<Expr> launchGrid(mlir::Operation* launch, mlir::func::FuncOp kernel);
  /// The same where its index arguments are spelled like this.
  llvm::SmallVector<Expr> gridOf(mlir::func::FuncOp kernel, llvm::ArrayRef<Expr> scalars);
  /// What the arena must hold, from the dims alone; writes definitions of what it is made of.
  Expr arenaBytes(mlir::func::FuncOp program);
  /// Writes the definitions of @output_bounds, and calls `each` with the bytes of each of its
  /// outputs.
  void outputBounds(mlir::func::FuncOp bounds,
                    llvm::function_ref<void(int64_t output, const Expr& bytes)> each);
  /// Bytes of the arena, of each input and of each output, from the dims alone; writes definitions
  /// of what they share. Sizes that depend on data are taken at their bound. `dimText` spells a
  /// named dim. Failure comes with a diagnostic.
  mlir::LogicalResult bufferBytes(mlir::func::FuncOp program,
                                  llvm::function_ref<Expr(llvm::StringRef)> dimText, Expr& arena,
                                  llvm::SmallVectorImpl<Expr>& inputs,
                                  llvm::SmallVectorImpl<Expr>& outputs);
  /// a / b of sizes, rounded down or up.
  virtual Expr divideSizes(const Expr& a, const Expr& b, bool up);

  // Blocks.
  /// A scope of its own: names given inside are free again behind it.
  mlir::LogicalResult printBlock(mlir::Block& block, llvm::ArrayRef<std::string> yieldTo);
  mlir::LogicalResult printOp(mlir::Operation* op);
  mlir::LogicalResult unsupported(mlir::Operation* op, const llvm::Twine& why = "");
  /// Fills `inlinable` for all blocks of the region.
  void analyze(mlir::Region& region);
  void assign(llvm::ArrayRef<std::string> targets, mlir::ValueRange values);
  bool isNonNegative(mlir::Value value, unsigned depth = 0);

  mlir::LogicalResult printFor(mlir::scf::ForOp op);
  mlir::LogicalResult printIf(mlir::scf::IfOp op, bool isElse = false);
  mlir::LogicalResult printWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult printSwitch(mlir::scf::IndexSwitchOp op);
  mlir::LogicalResult printSubview(mlir::memref::SubViewOp op);
  mlir::LogicalResult printMemRefOp(mlir::Operation* op, bool& handled);
  /// `for` loops around `body`, one per size, from 0 on; gives the induction variables.
  void loopNest(llvm::ArrayRef<Expr> sizes, llvm::function_ref<void(llvm::ArrayRef<Expr>)> body);
  std::string loopName(mlir::Value induction, mlir::Operation* loop, unsigned number,
                       unsigned count);
  Layout sourceLayout(mlir::MemRefType type, llvm::StringRef base,
                      llvm::ArrayRef<Expr> dynamicSizes, llvm::ArrayRef<Expr> dynamicStrides = {});

  Writer w;
  const Language& language;
  Names names;
  llvm::DenseMap<mlir::Value, Expr> exprs;
  llvm::DenseMap<mlir::Value, Layout> layouts;
  llvm::DenseSet<mlir::Operation*> inlinable;
  llvm::SmallVector<llvm::SmallVector<std::string>> yieldTargets;
  bool forceInline = false; ///< inside a conditional expression: no statements may appear
  unsigned loopDepth = 0;
  bool hasFailed = false;
};

/// The name that earlier stages gave to the value of an op; empty: none.
std::string givenName(mlir::Operation* op);
/// May the op change memory?
bool mayWrite(mlir::Operation* op);
bool isScalarBool(mlir::Type type);
mlir::Type elementOf(mlir::Type type);

} // namespace ortc::codegen
