// SPDX-License-Identifier: Apache-2.0
// Three ways through a loop nest, all in a fixed order of the elements:
//   * no reductions: lanes are points
//   * reductions that are folds (sum, max, ...): lanes are points, too; the fold runs along them
//   * other reductions (argmax, running statistics): lanes are points of the result, which walk
//   their reduction points
//     together
#include "compiler/evaluate/Structured.h"
#include "compiler/evaluate/Decode.h"
#include "compiler/ops/Accumulate.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace ortc {

FailureOr<StructuredPlan> StructuredPlan::make(linalg::LinalgOp op) {
  StructuredPlan plan;
  auto iterators = op.getIteratorTypesArray();
  for (bool reductions : {false, true})
    for (auto [d, type] : llvm::enumerate(iterators))
      if ((type == utils::IteratorType::reduction) == reductions) plan.loops.push_back(d);
  plan.parallelLoops = llvm::count(iterators, utils::IteratorType::parallel);
  Block& block = *op.getBlock();
  SmallVector<Operation*> combining;
  if (plan.parallelLoops != iterators.size()) {
    ValueRange yields = block.getTerminator()->getOperands();
    auto accumulators = block.getArguments().drop_front(op.getNumDpsInputs());
    for (auto [y, acc] : llvm::zip(yields, accumulators)) {
      Operation* def = y.getDefiningOp();
      std::optional<ScalarOp> code =
          def && def->getBlock() == &block ? decodeScalar(def) : std::nullopt;
      bool isFold = code && canFold(code->code) && acc.hasOneUse() && y.hasOneUse() &&
                    def->getNumOperands() == 2 && llvm::is_contained(def->getOperands(), acc) &&
                    def->getOperand(0) != def->getOperand(1);
      if (!isFold) break;
      combining.push_back(def);
    }
    if (combining.size() != yields.size()) combining.clear();
  }
  FailureOr<Body> body = Body::compile(block, combining);
  if (failed(body)) return failure();
  plan.body = std::move(*body);
  for (auto [def, acc] :
       llvm::zip(combining, block.getArguments().drop_front(op.getNumDpsInputs()))) {
    Value x = def->getOperand(def->getOperand(0) == acc ? 1 : 0);
    plan.folds.push_back({*decodeScalar(def), plan.body.kept.lookup(x)});
  }
  return plan;
}

namespace {
/// Where an operand's element is, as a function of the loops (in walking order).
struct Access {
  const HostTensor* tensor;
  CellType cell;
  Register target;
  bool isOutput = false;
  bool linear = true;
  int64_t base = 0;
  SmallVector<int64_t, 6> strides; ///< elements, per loop
  AffineMap map;                   ///< when not linear

  const void* data() const {
    return tensor->strings ? static_cast<const void*>(tensor->strings->data()) : tensor->data.get();
  }
};

/// Coefficients per dim and constant of a linear expression.
bool linearForm(AffineExpr e, SmallVectorImpl<int64_t>& coefficients, int64_t& constant,
                int64_t factor = 1) {
  if (auto c = dyn_cast<AffineConstantExpr>(e)) return constant += factor * c.getValue(), true;
  if (auto d = dyn_cast<AffineDimExpr>(e)) return coefficients[d.getPosition()] += factor, true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary) return false;
  if (e.getKind() == AffineExprKind::Add)
    return linearForm(binary.getLHS(), coefficients, constant, factor) &&
           linearForm(binary.getRHS(), coefficients, constant, factor);
  if (e.getKind() == AffineExprKind::Mul) {
    if (auto c = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return linearForm(binary.getLHS(), coefficients, constant, factor * c.getValue());
    if (auto c = dyn_cast<AffineConstantExpr>(binary.getLHS()))
      return linearForm(binary.getRHS(), coefficients, constant, factor * c.getValue());
  }
  return false;
}

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t evaluateExpr(AffineExpr e, ArrayRef<int64_t> dims) {
  if (auto c = dyn_cast<AffineConstantExpr>(e)) return c.getValue();
  if (auto d = dyn_cast<AffineDimExpr>(e)) return dims[d.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(e);
  int64_t a = evaluateExpr(binary.getLHS(), dims), b = evaluateExpr(binary.getRHS(), dims);
  switch (e.getKind()) {
  case AffineExprKind::Add: return a + b;
  case AffineExprKind::Mul: return a * b;
  case AffineExprKind::Mod: return b > 0 ? a - floorDivide(a, b) * b : 0;
  case AffineExprKind::FloorDiv: return b ? floorDivide(a, b) : 0;
  case AffineExprKind::CeilDiv: return b ? -floorDivide(-a, b) : 0;
  default: return 0;
  }
}

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> s(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    s[d - 1] = s[d] * dims[d];
  return s;
}

class Runner {
public:
  Runner(linalg::LinalgOp op, const StructuredPlan& plan, ArrayRef<HostTensor> operands,
         ArrayRef<HostTensor> tensors, ArrayRef<HostScalar> captured, BodyErrors& errors)
      : op(op), plan(plan), operands(operands), tensors(tensors), captured(captured),
        errors(errors) {}

  SmallVector<HostTensor> run() {
    SmallVector<HostTensor> results;
    if (!findExtents() || !describeOperands()) return results;
    for (size_t o = firstOutput; o < operands.size(); ++o)
      results.emplace_back(operands[o].elementType, operands[o].dims);
    out = results;
    coalesce();
    int64_t points = 1, perOutput = 1;
    for (auto [k, e] : llvm::enumerate(extents))
      (k < parallel ? points : perOutput) *= e;
    uint64_t work = std::max(1u, plan.body.operations);
    for (int64_t e : extents)
      work = llvm::SaturatingMultiply(work, static_cast<uint64_t>(e));
    if (work > errors.maxSteps || errors.steps.fetch_add(work) + work > errors.maxSteps) {
      errors.fail(fmt::format("takes more than {} steps", errors.maxSteps), /*isLimit=*/true);
      return results;
    }
    if (points == 0) return results;
    bool reduces = parallel != extents.size();
    // A thread only pays for some tens of thousands of operations.
    int64_t grain = std::max<int64_t>(
        1, 65536 / std::max<int64_t>(1, perOutput * std::max(1u, plan.body.operations)));
    parallelFor((points + grain - 1) / grain, [&](int64_t begin, int64_t end) {
      int64_t first = begin * grain, last = std::min(points, end * grain);
      int64_t together =
          (last - first) * (plan.folds.empty() ? 1 : std::max<int64_t>(perOutput, 1));
      BodyRun body(plan.body, std::min(laneCount, together), tensors, captured, errors);
      if (!reduces)
        mapPoints(body, first, last);
      else if (!plan.folds.empty())
        foldPoints(body, first, last, perOutput);
      else
        reducePoints(body, first, last, perOutput);
    });
    return results;
  }

private:
  bool fail(std::string text) { return errors.fail(std::move(text)), false; }

  bool findExtents() {
    maps = op.getIndexingMapsArray();
    firstOutput = op.getNumDpsInputs();
    dimExtents.assign(plan.loops.size(), -1);
    for (auto [k, map] : llvm::enumerate(maps))
      for (auto [d, e] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(e)) {
          int64_t& extent = dimExtents[dim.getPosition()];
          int64_t size = operands[k].dims[d];
          if (extent >= 0 && extent != size)
            return fail(fmt::format("sizes differ: loop {} is {} and, by operand {}, {}",
                                    dim.getPosition(), extent, k, size));
          extent = size;
        }
    for (auto [d, e] : llvm::enumerate(dimExtents))
      if (e < 0) return fail(fmt::format("the extent of loop {} follows from no operand", d));
    for (unsigned d : plan.loops)
      extents.push_back(dimExtents[d]);
    parallel = plan.parallelLoops;
    return true;
  }

  bool describeOperands() {
    needsIndices = !plan.body.indexRegisters.empty();
    bool empty = llvm::is_contained(dimExtents, 0);
    for (auto [k, map] : llvm::enumerate(maps)) {
      Access a;
      a.tensor = &operands[k];
      a.cell = cellType(operands[k].elementType);
      a.isOutput = k >= firstOutput;
      a.target = plan.body.arguments[k];
      a.map = map;
      if (a.target == noRegister && !a.isOutput) continue;
      if (a.cell.kind == CellType::none) return fail("has elements that cannot be computed with");
      SmallVector<int64_t> dimStrides(dimExtents.size(), 0),
          strides = rowMajorStrides(operands[k].dims);
      for (auto [d, e] : llvm::enumerate(map.getResults())) {
        SmallVector<int64_t> coefficients(dimExtents.size(), 0);
        int64_t constant = 0;
        if (!linearForm(e, coefficients, constant)) {
          a.linear = false;
          needsIndices = true;
          break;
        }
        int64_t low = constant, high = constant;
        for (auto [c, extent] : llvm::zip(coefficients, dimExtents))
          (c > 0 ? high : low) += c * (extent - 1);
        if (!empty && (low < 0 || high >= operands[k].dims[d]))
          return fail(fmt::format("operand {} is read at {} of dim {}, which has size {}", k,
                                  low < 0 ? low : high, d, operands[k].dims[d]));
        a.base += constant * strides[d];
        for (size_t l = 0; l < coefficients.size(); ++l)
          dimStrides[l] += coefficients[l] * strides[d];
      }
      if (!a.linear && a.isOutput) return fail("writes through a map that is not linear");
      for (unsigned d : plan.loops)
        a.strides.push_back(dimStrides[d]);
      (a.isOutput ? outputs : inputs).push_back(std::move(a));
    }
    return true;
  }

  /// Merges loops that all operands walk as one, so that runs are long.
  void coalesce() {
    if (needsIndices) return;
    for (size_t k = 1; k < extents.size();) {
      auto together = [&](const Access& a) {
        return a.strides[k - 1] == a.strides[k] * extents[k];
      };
      if (k == parallel || !llvm::all_of(inputs, together) || !llvm::all_of(outputs, together)) {
        ++k;
        continue;
      }
      extents[k - 1] *= extents[k];
      extents.erase(extents.begin() + k);
      for (auto* list : {&inputs, &outputs})
        for (Access& a : *list)
          a.strides.erase(a.strides.begin() + k - 1);
      if (k < parallel) --parallel;
    }
  }

  /// `n` points from `start` on of the loops [first, last), as runs along the innermost of them.
  struct Run {
    int64_t lane, count;
    SmallVector<int64_t, 6> at;
  };
  void split(int64_t start, int64_t n, size_t first, size_t last, SmallVectorImpl<Run>& runs) {
    runs.clear();
    if (first == last) {
      runs.push_back({0, n, {}});
      return;
    }
    SmallVector<int64_t, 6> at(last - first);
    for (size_t l = last; l-- > first;) {
      at[l - first] = start % extents[l];
      start /= extents[l];
    }
    int64_t inner = extents[last - 1];
    for (int64_t lane = 0; lane < n;) {
      int64_t count = std::min(n - lane, inner - at.back());
      runs.push_back({lane, count, at});
      lane += count;
      at.back() = 0;
      for (size_t l = at.size() - 1; l-- > 0;) {
        if (++at[l] < extents[first + l]) break;
        at[l] = 0;
      }
    }
  }

  /// Fills the register of an operand for the runs over the loops from `first` on; `offset` is what
  /// other loops add.
  void load(BodyRun& body, const Access& a, ArrayRef<Run> runs, size_t first, int64_t offset) {
    Lane* lanes = body.lanes(a.target);
    for (const Run& r : runs) {
      int64_t from = a.base + offset,
              stride = r.at.empty() ? 0 : a.strides[first + r.at.size() - 1];
      for (auto [l, i] : llvm::enumerate(r.at))
        from += i * a.strides[first + l];
      if (a.cell.isFloat())
        loadDoubles(a.cell, a.data(), from, stride, r.count, &lanes[r.lane].f);
      else
        loadIntegers(a.cell, a.data(), from, stride, r.count, &lanes[r.lane].i);
    }
  }
  void loadNonlinear(BodyRun& body, const Access& a,
                     const std::vector<std::vector<int64_t>>& indices, int64_t n) {
    Lane* lanes = body.lanes(a.target);
    SmallVector<int64_t> dims(dimExtents.size());
    for (int64_t l = 0; l < n; ++l) {
      for (size_t d = 0; d < dims.size(); ++d)
        dims[d] = indices[d][l];
      int64_t from = 0;
      for (auto [d, e] : llvm::enumerate(a.map.getResults())) {
        int64_t i = evaluateExpr(e, dims);
        if (i < 0 || i >= a.tensor->dims[d])
          return errors.fail(fmt::format("reads element {} of dim {}, which has size {}", i, d,
                                         a.tensor->dims[d]));
        from = from * a.tensor->dims[d] + i;
      }
      if (a.cell.isFloat())
        loadDoubles(a.cell, a.data(), from, 0, 1, &lanes[l].f);
      else
        loadIntegers(a.cell, a.data(), from, 0, 1, &lanes[l].i);
    }
  }

  /// Everything that the body looks at, for the lanes of `runs` over loops [first, first + rank of
  /// the runs) while the loops after them stand at `rest`.
  void fill(BodyRun& body, ArrayRef<Run> runs, int64_t n, ArrayRef<int64_t> rest,
            std::vector<std::vector<int64_t>>& indices) {
    if (needsIndices) {
      indices.resize(dimExtents.size());
      for (auto [l, dim] : llvm::enumerate(plan.loops)) {
        std::vector<int64_t>& lane = indices[dim];
        lane.resize(laneCount);
        for (const Run& r : runs)
          for (int64_t i = 0; i < r.count; ++i)
            lane[r.lane + i] =
                l >= r.at.size() ? rest[l - r.at.size()] : r.at[l] + (l + 1 == r.at.size() ? i : 0);
      }
      for (auto [dim, reg] : plan.body.indexRegisters)
        for (int64_t i = 0; i < n; ++i)
          body.lanes(reg)[i].i = indices[dim][i];
    }
    for (const Access& a : inputs) {
      if (!a.linear) {
        loadNonlinear(body, a, indices, n);
        continue;
      }
      int64_t offset = 0;
      for (auto [l, i] : llvm::enumerate(rest))
        offset += i * a.strides[extents.size() - rest.size() + l];
      load(body, a, runs, 0, offset);
    }
  }

  void store(size_t o, const Lane* lanes, ArrayRef<Run> runs) {
    const Access& a = outputs[o];
    HostTensor& t = out[o];
    void* data = t.strings ? static_cast<void*>(t.strings->data()) : t.data.get();
    for (const Run& r : runs) {
      int64_t to = a.base, stride = r.at.empty() ? 0 : a.strides[r.at.size() - 1];
      for (auto [l, i] : llvm::enumerate(r.at))
        to += i * a.strides[l];
      if (a.cell.isFloat())
        storeDoubles(a.cell, data, to, stride, r.count, &lanes[r.lane].f);
      else
        storeIntegers(a.cell, data, to, stride, r.count, &lanes[r.lane].i);
    }
  }

  void mapPoints(BodyRun& body, int64_t first, int64_t last) {
    SmallVector<Run> runs;
    std::vector<std::vector<int64_t>> indices;
    for (int64_t p = first; p < last && !errors.failed; p += laneCount) {
      int64_t n = std::min(laneCount, last - p);
      split(p, n, 0, extents.size(), runs);
      fill(body, runs, n, {}, indices);
      for (const Access& a : outputs)
        if (a.target != noRegister) load(body, a, runs, 0, 0);
      body.run(n);
      for (size_t o = 0; o < outputs.size(); ++o)
        store(o, body.lanes(plan.body.yields[o]), runs);
    }
  }

  int64_t outputOffset(const Access& a, int64_t point) {
    int64_t offset = a.base;
    for (size_t l = parallel; l-- > 0;) {
      offset += point % extents[l] * a.strides[l];
      point /= extents[l];
    }
    return offset;
  }

  void foldPoints(BodyRun& body, int64_t first, int64_t last, int64_t perOutput) {
    SmallVector<Run> runs;
    std::vector<std::vector<int64_t>> indices;
    SmallVector<Lane> accumulators(outputs.size());
    auto start = [&](int64_t o) {
      for (auto [acc, a] : llvm::zip(accumulators, outputs)) {
        if (a.cell.isFloat())
          loadDoubles(a.cell, a.data(), outputOffset(a, o), 0, 1, &acc.f);
        else
          loadIntegers(a.cell, a.data(), outputOffset(a, o), 0, 1, &acc.i);
      }
    };
    auto finish = [&](int64_t o) {
      for (auto [acc, a, t] : llvm::zip(accumulators, outputs, out)) {
        if (a.cell.isFloat())
          storeDoubles(a.cell, t.data.get(), outputOffset(a, o), 1, 1, &acc.f);
        else
          storeIntegers(a.cell, t.data.get(), outputOffset(a, o), 1, 1, &acc.i);
      }
    };
    if (perOutput == 0) {
      for (int64_t o = first; o < last; ++o)
        start(o), finish(o);
      return;
    }
    int64_t output = first, done = 0; // points of the present output that are folded already
    start(output);
    for (int64_t p = first * perOutput, end = last * perOutput; p < end && !errors.failed;
         p += laneCount) {
      int64_t n = std::min(laneCount, end - p);
      split(p, n, 0, extents.size(), runs);
      fill(body, runs, n, {}, indices);
      body.run(n);
      for (int64_t l = 0; l < n;) {
        int64_t count = std::min(n - l, perOutput - done);
        for (auto [acc, f] : llvm::zip(accumulators, plan.folds))
          foldLanes(f.op, acc, body.lanes(f.x) + l, count);
        l += count, done += count;
        if (done == perOutput) {
          finish(output);
          done = 0;
          if (++output < last) start(output);
        }
      }
    }
  }

  void reducePoints(BodyRun& body, int64_t first, int64_t last, int64_t perOutput) {
    SmallVector<Run> runs;
    std::vector<std::vector<int64_t>> indices;
    std::vector<Lane> accumulators(outputs.size() * laneCount);
    SmallVector<int64_t> at(extents.size() - parallel);
    for (int64_t p = first; p < last; p += laneCount) {
      int64_t n = std::min(laneCount, last - p);
      split(p, n, 0, parallel, runs);
      auto acc = [&](size_t o) { return accumulators.data() + o * laneCount; };
      for (size_t o = 0; o < outputs.size(); ++o) {
        const Access& a = outputs[o];
        for (const Run& r : runs) {
          int64_t from = a.base, stride = r.at.empty() ? 0 : a.strides[r.at.size() - 1];
          for (auto [l, i] : llvm::enumerate(r.at))
            from += i * a.strides[l];
          if (a.cell.isFloat())
            loadDoubles(a.cell, a.data(), from, stride, r.count, &acc(o)[r.lane].f);
          else
            loadIntegers(a.cell, a.data(), from, stride, r.count, &acc(o)[r.lane].i);
        }
      }
      std::fill(at.begin(), at.end(), 0);
      for (int64_t k = 0; k < perOutput; ++k) {
        fill(body, runs, n, at, indices);
        for (size_t o = 0; o < outputs.size(); ++o)
          if (outputs[o].target != noRegister)
            std::copy_n(acc(o), n, body.lanes(outputs[o].target));
        body.run(n);
        if (errors.failed) return;
        for (size_t o = 0; o < outputs.size(); ++o)
          std::copy_n(body.lanes(plan.body.yields[o]), n, acc(o));
        for (size_t l = at.size(); l-- > 0;) {
          if (++at[l] < extents[parallel + l]) break;
          at[l] = 0;
        }
      }
      for (size_t o = 0; o < outputs.size(); ++o)
        store(o, acc(o), runs);
    }
  }

  linalg::LinalgOp op;
  const StructuredPlan& plan;
  ArrayRef<HostTensor> operands, tensors;
  ArrayRef<HostScalar> captured;
  BodyErrors& errors;
  SmallVector<AffineMap> maps;
  size_t firstOutput = 0, parallel = 0;
  SmallVector<int64_t> dimExtents; ///< per dim of the maps
  SmallVector<int64_t> extents;    ///< per loop, in walking order
  SmallVector<Access> inputs, outputs;
  MutableArrayRef<HostTensor> out;
  bool needsIndices = false;
};
} // namespace

SmallVector<HostTensor> runStructured(linalg::LinalgOp op, const StructuredPlan& plan,
                                      ArrayRef<HostTensor> operands, ArrayRef<HostTensor> tensors,
                                      ArrayRef<HostScalar> captured, BodyErrors& errors) {
  return Runner(op, plan, operands, tensors, captured, errors).run();
}

} // namespace ortc
