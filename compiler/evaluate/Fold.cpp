// SPDX-License-Identifier: Apache-2.0
#include "compiler/evaluate/Evaluator.h"
#include "compiler/evaluate/Simplify.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace ortc {

namespace {
/// Ops that are worth folding. tensor.empty and linalg.fill stay what they are: structured ops want
/// them as inits.
bool isCandidate(Operation* op) {
  if (op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, linalg::FillOp>(op))
    return false;
  if (isa<linalg::LinalgOp, Evaluable, SerialOp, tensor::ExtractOp, tensor::ExtractSliceOp,
          tensor::InsertSliceOp, tensor::CastOp, tensor::FromElementsOp, scf::IfOp, scf::ForOp,
          scf::WhileOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

/// The value of a constant, of an empty tensor (sizes only) or of a filled one. Adds the bytes that
/// constants hold.
std::optional<HostValue> constantValue(Value v, uint64_t& bytes) {
  Operation* def = v.getDefiningOp();
  if (!def) return std::nullopt;
  if (auto c = dyn_cast<arith::ConstantOp>(def)) {
    if (auto elements = dyn_cast<ElementsAttr>(c.getValue())) {
      HostTensor t = toHostTensor(elements);
      if (!isa<SplatElementsAttr>(c.getValue())) bytes += t.bytes();
      return HostValue(std::move(t));
    }
    if (!isa<IntegerAttr, FloatAttr>(c.getValue())) return std::nullopt;
    EvaluateOptions options;
    options.quiet = true;
    auto r = Evaluator(options).evaluate(def, {});
    if (failed(r)) return std::nullopt;
    return (*r)[0];
  }
  if (auto e = dyn_cast<tensor::EmptyOp>(def)) {
    HostTensor t;
    t.elementType = e.getType().getElementType();
    for (OpFoldResult s : e.getMixedSizes()) {
      auto size = getConstantIntValue(s);
      if (!size || *size < 0) return std::nullopt;
      t.dims.push_back(*size);
    }
    return HostValue(std::move(t));
  }
  return std::nullopt;
}

TypedAttr toAttr(const HostValue& v, Type type) {
  if (const HostTensor* t = v.tensor()) {
    auto to = dyn_cast<RankedTensorType>(type);
    if (!to || !to.hasStaticShape() || ArrayRef<int64_t>(t->dims) != to.getShape()) return {};
    if (t->data || t->strings) return toAttribute(*t);
    return toAttribute(HostTensor(t->elementType, t->dims));
  }
  const HostScalar* s = v.scalar();
  if (!s || s->type != type) return {};
  if (auto f = dyn_cast<FloatType>(type)) return FloatAttr::get(f, s->cell.f);
  if (type.isIntOrIndex()) {
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return IntegerAttr::get(type, APInt(width, static_cast<uint64_t>(s->cell.i)));
  }
  return {};
}
} // namespace

bool isDequantised(Operation* op) {
  auto g = dyn_cast<linalg::GenericOp>(op);
  if (!g || g.getNumReductionLoops() || g.getNumResults() != 1) return false;
  auto result = cast<RankedTensorType>(g.getResult(0).getType());
  return !result.getElementType().isInteger(8) && llvm::any_of(g.getInputs(), [&](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && type.getElementType().isInteger(8) && type.getShape() == result.getShape() &&
           type.getRank() > 1;
  });
}

FailureOr<SmallVector<TypedAttr>> foldToConstants(Operation* op, FoldLimits& limits) {
  if (!isCandidate(op)) return failure();
  // Cheap refusals first: an operand that is no constant, a result that is too large in any case.
  llvm::SetVector<Value> read;
  for (Region& r : op->getRegions())
    getUsedValuesDefinedAbove(r, r, read);
  read.insert(op->operand_begin(), op->operand_end());
  for (Value v : read)
    if (!isa_and_present<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(v.getDefiningOp()))
      return failure();
  // A constant has a static type, and changing the type of a value is not done here.
  for (Type t : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(t); tensor && !tensor.hasStaticShape())
      return failure();
  SmallVector<std::pair<Value, HostValue>> captured;
  uint64_t bytes = 0;
  EvaluateOptions options;
  options.quiet = true;
  options.maxSteps = std::min(limits.steps, limits.total);
  auto staticBytes = [](Type t) -> uint64_t {
    auto type = dyn_cast<RankedTensorType>(t);
    if (!type || !type.hasStaticShape()) return 0;
    uint64_t n = std::max(1u, storageBytes(type.getElementType()));
    for (int64_t d : type.getShape())
      n = llvm::SaturatingMultiply<uint64_t>(n, d);
    return n;
  };
  uint64_t constantBytes = 0;
  for (Value v : read)
    if (v.getDefiningOp<arith::ConstantOp>()) constantBytes += staticBytes(v.getType());
  uint64_t limit = limits.growth * constantBytes + limits.slack;
  for (Type t : op->getResultTypes())
    if (staticBytes(t) > limit) return failure();
  for (Value v : read) {
    if (auto fill = v.getDefiningOp<linalg::FillOp>()) {
      uint64_t unused = 0;
      auto value = constantValue(fill.getInputs()[0], unused),
           init = constantValue(fill.getOutputs()[0], unused);
      if (!value || !init) return failure();
      options.maxBytes = limit;
      auto filled = Evaluator(options).evaluate(fill, {*value, *init});
      if (failed(filled)) return failure();
      captured.emplace_back(v, (*filled)[0]);
      continue;
    }
    auto value = constantValue(v, bytes);
    if (!value) return failure();
    captured.emplace_back(v, std::move(*value));
  }
  options.maxBytes = std::min(limit, limits.growth * bytes + limits.slack);
  for (Type t : op->getResultTypes())
    if (staticBytes(t) > options.maxBytes) return failure();
  SmallVector<HostValue> operands;
  for (Value v : op->getOperands())
    operands.push_back(llvm::find_if(captured, [&](auto& c) { return c.first == v; })->second);
  Evaluator evaluator(options);
  auto results = evaluator.evaluate(op, operands, captured);
  limits.total -= std::min(limits.total, evaluator.steps());
  if (failed(results)) return failure();
  SmallVector<TypedAttr> attributes;
  for (auto [v, r] : llvm::zip(*results, op->getResults())) {
    attributes.push_back(toAttr(v, r.getType()));
    if (!attributes.back()) return failure();
  }
  return attributes;
}

Value simplifyBuilt(OpBuilder& b, Value built) {
  auto result = dyn_cast<OpResult>(built);
  if (!result) return built;
  Operation* op = result.getOwner();
  if (op->hasTrait<OpTrait::ConstantLike>() || isDequantised(op)) return built;
  if (isa<OrtcDialect, tensor::TensorDialect, arith::ArithDialect>(op->getDialect())) {
    SmallVector<Value> folded;
    if (succeeded(b.tryFold(op, folded)) && folded.size() == op->getNumResults() &&
        folded[result.getResultNumber()].getType() == built.getType())
      return folded[result.getResultNumber()];
  }
  FoldLimits limits = FoldLimits::small();
  auto constants = foldToConstants(op, limits);
  if (succeeded(constants))
    return b.create<arith::ConstantOp>(op->getLoc(), (*constants)[result.getResultNumber()]);
  if (op->getNumResults() == 1)
    if (Value v = tryScalarise(b, op)) return v;
  return built;
}

} // namespace ortc
