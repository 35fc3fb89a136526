// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "compiler/ops/Accumulate.h"
#include "compiler/ops/AllOps.h"
#include <cmath>
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/tree_ensemble/TreeEnsemble.cpp.inc"

LogicalResult TreeEnsembleOp::verify() {
  auto x = cast<RankedTensorType>(getInput().getType()),
       y = cast<RankedTensorType>(getResult().getType());
  if (x.getRank() != 2 || y.getRank() != 2) return emitOpError("input and result must have rank 2");
  if (x.getElementType() != cast<RankedTensorType>(getThresholds().getType()).getElementType())
    return emitOpError("thresholds must have the type of the input");
  if (y.getElementType() != cast<RankedTensorType>(getWeights().getType()).getElementType())
    return emitOpError("weights must have the type of the result");
  if (getAggregate() != "sum" && getAggregate() != "min" && getAggregate() != "max")
    return emitOpError("unknown aggregate");
  int64_t begins = cast<RankedTensorType>(getRootBegin().getType()).getDimSize(0);
  if (!y.isDynamicDim(1) && !ShapedType::isDynamic(begins) && begins != y.getDimSize(1) + 1)
    return emitOpError("rootBegin must have one element more than there are targets");
  return success();
}

static bool compare(int64_t mode, double x, double threshold) {
  if ((mode & TreeEnsembleOp::NanIsYes) && std::isnan(x)) return true;
  switch (mode & 7) {
  case TreeEnsembleOp::LessEqual: return x <= threshold;
  case TreeEnsembleOp::Less: return x < threshold;
  case TreeEnsembleOp::GreaterEqual: return x >= threshold;
  case TreeEnsembleOp::Greater: return x > threshold;
  case TreeEnsembleOp::Equal: return x == threshold;
  default: return x != threshold;
  }
}

LogicalResult TreeEnsembleOp::evaluate(ArrayRef<HostTensor> operands,
                                       SmallVectorImpl<HostTensor>& results) {
  const HostTensor &x = operands[0], &thresholds = operands[2], &modes = operands[3],
                   &weights = operands[10];
  auto ints = [&](unsigned i) { return operands[i].as<int32_t>(); };
  const int32_t *features = ints(1), *yes = ints(4), *no = ints(5), *roots = ints(6),
                *rootBegin = ints(7), *leafBegin = ints(8), *targets = ints(9);
  HostTensor y(weights.elementType, operands[11].dims);
  int64_t F = x.dims[1], T = y.dims[1], limit = operands[1].size();
  bool sum = getAggregate() == "sum", smallest = getAggregate() == "min";
  parallelFor(x.dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t t = 0; t < T; ++t) {
        double fold = sum ? 0 : smallest ? INFINITY : -INFINITY;
        for (int32_t r = rootBegin[t]; r < rootBegin[t + 1]; ++r) {
          int64_t node = roots[r];
          for (int64_t steps = 0; node >= 0 && steps <= limit; ++steps) {
            int64_t mode = getUniformMode() ? static_cast<int64_t>(*getUniformMode())
                                            : modes.getInt(node, true);
            node = compare(mode, x.getDouble(n * F + features[node]), thresholds.getDouble(node))
                       ? yes[node]
                       : no[node];
          }
          int64_t leaf = -1 - node;
          for (int32_t e = leafBegin[leaf]; e < leafBegin[leaf + 1]; ++e) {
            if (targets[e] != t) continue;
            double w = weights.getDouble(e);
            fold = sum ? fold + w : smallest ? std::min(fold, w) : std::max(fold, w);
          }
        }
        y.setDouble(n * T + t, fold);
      }
  });
  results.push_back(std::move(y));
  return success();
}

/// `x <mode> threshold` as i1; an i1 constant mode bit 3 lets NaN through.
static Value compareAs(OpBuilder& b, Location loc, int64_t mode, Value x, Value threshold) {
  using P = arith::CmpFPredicate;
  // the unordered predicates are true for NaN
  static const P plain[] = {P::OLE, P::OLT, P::OGE, P::OGT, P::OEQ, P::UNE},
                 withNaN[] = {P::ULE, P::ULT, P::UGE, P::UGT, P::UEQ, P::UNE};
  return b.create<arith::CmpFOp>(loc, (mode & TreeEnsembleOp::NanIsYes ? withNaN : plain)[mode & 7],
                                 x, threshold);
}

Value TreeEnsembleOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  OpBuilder& b = e.builder();
  Location loc = e.loc;
  Value n = indices[0], t = indices[1];
  Type type = cast<RankedTensorType>(getResult().getType()).getElementType();
  Value t32 = b.create<arith::IndexCastOp>(loc, b.getI32Type(), t);
  auto readIndex = [&](Value table, Value at) -> Value {
    return b.create<arith::IndexCastOp>(loc, b.getIndexType(), e.read(table, at));
  };
  double start = getAggregate() == "sum" ? 0 : getAggregate() == "min" ? INFINITY : -INFINITY;
  Value init = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, start));
  auto foldWith = [&](Value carried, Value w) -> Value {
    if (getAggregate() == "sum") return b.create<arith::AddFOp>(loc, carried, w);
    if (getAggregate() == "min") return b.create<arith::MinimumFOp>(loc, carried, w);
    return b.create<arith::MaximumFOp>(loc, carried, w);
  };
  /// The leaf that row n reaches from a root.
  auto walk = [&](Value root) -> Value {
    Value zero = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0)),
          minusOne = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(-1));
    auto loop = b.create<scf::WhileOp>(loc, TypeRange{b.getI32Type()}, ValueRange{root});
    {
      OpBuilder::InsertionGuard guard(b);
      Block* before = b.createBlock(&loop.getBefore(), {}, b.getI32Type(), loc);
      Value inner =
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, before->getArgument(0), zero);
      b.create<scf::ConditionOp>(loc, inner, before->getArguments());
      Block* after = b.createBlock(&loop.getAfter(), {}, b.getI32Type(), loc);
      Value node = b.create<arith::IndexCastOp>(loc, b.getIndexType(), after->getArgument(0));
      SmallVector<Value> at{n, readIndex(getFeatures(), node)};
      Value x = e.read(getInput(), at), threshold = e.read(getThresholds(), node), take;
      if (getUniformMode())
        take = compareAs(b, loc, *getUniformMode(), x, threshold);
      else {
        Value mode = e.read(getModes(), node);
        auto constant = [&](int64_t c) -> Value {
          return b.create<arith::ConstantOp>(loc, b.getI8IntegerAttr(c));
        };
        Value kind = b.create<arith::AndIOp>(loc, mode, constant(7));
        take = compareAs(b, loc, NotEqual, x, threshold);
        for (int64_t m = Equal; m >= LessEqual; --m) {
          Value is = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, kind, constant(m));
          take = b.create<arith::SelectOp>(loc, is, compareAs(b, loc, m, x, threshold), take);
        }
        Value nan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
        Value lets = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne,
                                             b.create<arith::AndIOp>(loc, mode, constant(NanIsYes)),
                                             constant(0));
        take = b.create<arith::OrIOp>(loc, take, b.create<arith::AndIOp>(loc, nan, lets));
      }
      Value yes = e.read(getYes(), node), no = e.read(getNo(), node);
      Value next = b.create<arith::SelectOp>(loc, take, yes, no);
      b.create<scf::YieldOp>(loc, next);
    }
    return b.create<arith::IndexCastOp>(loc, b.getIndexType(),
                                        b.create<arith::SubIOp>(loc, minusOne, loop.getResult(0)));
  };
  Value one = e.index(1), first = readIndex(getRootBegin(), t),
        last = readIndex(getRootBegin(), e.add(t, one));
  return e.reduce(
      e.sub(last, first), init, [&](ValueRange r, ValueRange carried) -> SmallVector<Value> {
        Value leaf = walk(e.read(getRoots(), e.add(first, r[0])));
        Value from = readIndex(getLeafBegin(), leaf),
              to = readIndex(getLeafBegin(), e.add(leaf, one));
        return e.reduce(e.sub(to, from), carried,
                        [&](ValueRange k, ValueRange inner) -> SmallVector<Value> {
                          Value entry = e.add(from, k[0]);
                          Value mine = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                               e.read(getTargets(), entry), t32);
                          Value folded = foldWith(inner[0], e.read(getWeights(), entry));
                          return {b.create<arith::SelectOp>(loc, mine, folded, inner[0])};
                        });
      })[0];
}
