// SPDX-License-Identifier: Apache-2.0
// Ops of tensor and linalg at the level of functions.
#include "compiler/evaluate/Interpreter.h"
#include "compiler/ops/Accumulate.h"
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace ortc {

namespace {
SmallVector<int64_t> rowMajor(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> s(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    s[d - 1] = s[d] * dims[d];
  return s;
}

/// Copies a box of `sizes`; offsets and strides in elements.
void copyBox(const HostTensor& from, int64_t fromAt, ArrayRef<int64_t> fromStrides, HostTensor& to,
             int64_t toAt, ArrayRef<int64_t> toStrides, ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0)) return;
  size_t rank = sizes.size();
  int64_t width = storageBytes(to.elementType);
  int64_t inner = rank ? sizes.back() : 1, fs = rank ? fromStrides.back() : 1,
          ts = rank ? toStrides.back() : 1;
  SmallVector<int64_t> at(rank, 0);
  for (;;) {
    if (to.strings) {
      for (int64_t i = 0; i < inner; ++i)
        (*to.strings)[toAt + i * ts] = (*from.strings)[fromAt + i * fs];
    } else if (fs == 1 && ts == 1) {
      std::memcpy(to.data.get() + toAt * width, from.data.get() + fromAt * width, inner * width);
    } else {
      for (int64_t i = 0; i < inner; ++i)
        std::memcpy(to.data.get() + (toAt + i * ts) * width,
                    from.data.get() + (fromAt + i * fs) * width, width);
    }
    size_t d = rank ? rank - 1 : 0;
    for (;;) {
      if (d == 0) return;
      --d;
      fromAt += fromStrides[d], toAt += toStrides[d];
      if (++at[d] < sizes[d]) break;
      fromAt -= sizes[d] * fromStrides[d], toAt -= sizes[d] * toStrides[d];
      at[d] = 0;
    }
  }
}

void setElement(HostTensor& t, int64_t at, const HostScalar& s) {
  CellType c = cellType(t.elementType);
  if (c.isFloat())
    storeDoubles(c, t.data.get(), at, 1, 1, &s.cell.f);
  else
    storeIntegers(c, t.strings ? static_cast<void*>(t.strings->data()) : t.data.get(), at, 1, 1,
                  &s.cell.i);
}
} // namespace

LogicalResult Interpreter::empty(tensor::EmptyOp op) {
  HostTensor t; // sizes only; see Interpreter::tensor
  t.elementType = op.getType().getElementType();
  for (OpFoldResult s : op.getMixedSizes())
    t.dims.push_back(index(s));
  for (int64_t d : t.dims)
    if (d < 0) return fail(op, "size " + Twine(d) + " is negative");
  set(op, std::move(t));
  return success();
}

LogicalResult Interpreter::extract(tensor::ExtractOp op) {
  auto t = tensor(op, op.getTensor());
  if (failed(t)) return failure();
  int64_t at = 0;
  for (auto [d, v] : llvm::enumerate(op.getIndices())) {
    int64_t i = index(v);
    if (i < 0 || i >= t->dims[d])
      return fail(op,
                  fmt::format("reads element {} of dim {}, which has size {}", i, d, t->dims[d]));
    at = at * t->dims[d] + i;
  }
  HostScalar s{op.getType(), {}};
  CellType c = cellType(t->elementType);
  if (c.kind == CellType::string) return fail(op, "cannot evaluate a single string");
  if (c.isFloat())
    loadDoubles(c, t->data.get(), at, 0, 1, &s.cell.f);
  else
    loadIntegers(c, t->data.get(), at, 0, 1, &s.cell.i);
  set(op, s);
  return success();
}

LogicalResult Interpreter::insert(tensor::InsertOp op) {
  HostValue value = get(op.getScalar());
  auto t = ownTensor(op, op.getDest());
  if (failed(t)) return failure();
  int64_t at = 0;
  for (auto [d, v] : llvm::enumerate(op.getIndices())) {
    int64_t i = index(v);
    if (i < 0 || i >= t->dims[d])
      return fail(op,
                  fmt::format("writes element {} of dim {}, which has size {}", i, d, t->dims[d]));
    at = at * t->dims[d] + i;
  }
  setElement(*t, at, *value.scalar());
  set(op, std::move(*t));
  return success();
}

LogicalResult Interpreter::extractSlice(tensor::ExtractSliceOp op) {
  auto source = tensor(op, op.getSource());
  if (failed(source)) return failure();
  SmallVector<int64_t> strides = rowMajor(source->dims), steps, sizes;
  int64_t from = 0;
  for (auto [d, o, s, k] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    int64_t offset = index(o), size = index(s), step = index(k);
    if (size < 0 || (size && (offset < 0 || offset >= source->dims[d] || step <= 0 ||
                              (size - 1) > (source->dims[d] - 1 - offset) / step)))
      return fail(
          op, fmt::format("takes {} elements from {} on with step {} of dim {}, which has size {}",
                          size, offset, step, d, source->dims[d]));
    from += offset * strides[d];
    steps.push_back(step * strides[d]);
    sizes.push_back(size);
  }
  if (failed(checkSize(op, source->elementType, sizes))) return failure();
  HostTensor r(source->elementType, sizes);
  copyBox(*source, from, steps, r, 0, rowMajor(sizes), sizes);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  r.dims.clear();
  for (auto [d, s] : llvm::enumerate(sizes))
    if (!dropped.test(d)) r.dims.push_back(s);
  set(op, std::move(r));
  return success();
}

LogicalResult Interpreter::insertSlice(tensor::InsertSliceOp op) {
  auto source = tensor(op, op.getSource());
  auto dest = ownTensor(op, op.getDest());
  if (failed(source) || failed(dest)) return failure();
  SmallVector<int64_t> strides = rowMajor(dest->dims), steps, sizes;
  int64_t to = 0;
  for (auto [d, o, s, k] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    int64_t offset = index(o), size = index(s), step = index(k);
    if (size < 0 || (size && (offset < 0 || offset >= dest->dims[d] || step <= 0 ||
                              (size - 1) > (dest->dims[d] - 1 - offset) / step)))
      return fail(
          op, fmt::format("puts {} elements from {} on with step {} into dim {}, which has size {}",
                          size, offset, step, d, dest->dims[d]));
    to += offset * strides[d];
    steps.push_back(step * strides[d]);
    sizes.push_back(size);
  }
  int64_t count = 1;
  for (int64_t s : sizes)
    count *= s;
  if (count != source->size())
    return fail(op, fmt::format("puts {} elements where {} are", count, source->size()));
  copyBox(*source, 0, rowMajor(sizes), *dest, to, steps, sizes);
  set(op, std::move(*dest));
  return success();
}

LogicalResult Interpreter::fromElements(tensor::FromElementsOp op) {
  HostTensor t(op.getType().getElementType(), op.getType().getShape());
  for (auto [i, v] : llvm::enumerate(op.getElements())) {
    HostValue h = get(v);
    if (!h.scalar()) return fail(op, "reads a value that is not there");
    setElement(t, i, *h.scalar());
  }
  set(op, std::move(t));
  return success();
}

LogicalResult Interpreter::castTo(Operation* op, Value source, RankedTensorType type) {
  HostValue h = get(source);
  const HostTensor* t = h.tensor();
  if (!t) return fail(op, "reads a value that is not there");
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(size) && size != t->dims[d])
      return fail(op, fmt::format("dim {} is {}, expected {}", d, t->dims[d], size));
  set(op->getResult(0), std::move(h));
  return success();
}

LogicalResult Interpreter::fill(linalg::FillOp op) {
  HostTensor t = shape(op.getOutputs()[0]);
  if (failed(checkSize(op, t.elementType, t.dims)) || failed(countSteps(op, t.size())))
    return failure();
  HostTensor r(t.elementType, t.dims);
  HostValue value = get(op.getInputs()[0]);
  const HostScalar* s = value.scalar();
  if (!s) return fail(op, "reads a value that is not there");
  CellType c = cellType(t.elementType);
  std::vector<Lane> lanes(laneCount, s->cell);
  for (int64_t i = 0, n = r.size(); i < n; i += laneCount) {
    int64_t count = std::min(laneCount, n - i);
    if (c.isFloat())
      storeDoubles(c, r.data.get(), i, 1, count, &lanes[0].f);
    else
      storeIntegers(c, r.data.get(), i, 1, count, &lanes[0].i);
  }
  set(op.getResult(0), std::move(r));
  return success();
}

FailureOr<std::pair<SmallVector<HostTensor>, SmallVector<HostScalar>>>
Interpreter::capture(Operation* op, const Body& body) {
  std::pair<SmallVector<HostTensor>, SmallVector<HostScalar>> r;
  for (Value v : body.tensors) {
    auto t = tensor(op, v);
    if (failed(t)) return failure();
    r.first.push_back(std::move(*t));
  }
  for (auto [v, reg] : body.captured) {
    HostValue h = get(v);
    if (!h.scalar()) return fail(op, "reads a value that is not there");
    r.second.push_back(*h.scalar());
  }
  return r;
}

LogicalResult Interpreter::structured(linalg::LinalgOp op) {
  std::unique_ptr<StructuredPlan>& plan = plans[op];
  if (!plan) {
    std::optional<ScopedDiagnosticHandler> silence;
    if (options.quiet) silence.emplace(op->getContext(), [](Diagnostic&) { return success(); });
    auto made = StructuredPlan::make(op);
    if (failed(made)) return failure();
    plan = std::make_unique<StructuredPlan>(std::move(*made));
  }
  SmallVector<HostTensor> operands;
  bool reduces = plan->parallelLoops != plan->loops.size();
  for (auto [i, o] : llvm::enumerate(op->getOpOperands())) {
    bool isOutput = op.isDpsInit(&o);
    if (isOutput || !plan->reads(i)) {
      HostTensor t = shape(o.get());
      if (isOutput && failed(checkSize(op, t.elementType, t.dims))) return failure();
      if (!plan->reads(i) && !(isOutput && reduces)) {
        if (!t.elementType) { // a scalar operand
          auto s = tensor(op, o.get());
          if (failed(s)) return failure();
          t = *s;
        }
        operands.push_back(std::move(t));
        continue;
      }
    }
    auto t = tensor(op, o.get());
    if (failed(t)) return failure();
    operands.push_back(std::move(*t));
  }
  auto captured = capture(op, plan->body);
  if (failed(captured)) return failure();
  auto results = runStructured(op, *plan, operands, captured->first, captured->second, errors);
  if (failed(check(op))) return failure();
  for (auto [r, t] : llvm::zip(op->getResults(), results))
    set(r, std::move(t));
  return success();
}

LogicalResult Interpreter::serial(SerialOp op) {
  std::unique_ptr<Body>& body = bodies[op];
  if (!body) {
    std::optional<ScopedDiagnosticHandler> silence;
    if (options.quiet) silence.emplace(op->getContext(), [](Diagnostic&) { return success(); });
    auto made = Body::compile(op.block());
    if (failed(made)) return failure();
    body = std::make_unique<Body>(std::move(*made));
  }
  SmallVector<int64_t> extents;
  int64_t points = 1;
  for (Value v : op.getExtents()) {
    extents.push_back(index(v));
    points *= extents.back();
  }
  SmallVector<HostTensor> results;
  for (Value init : op.getInits()) {
    HostTensor t = shape(init);
    if (failed(checkSize(op, t.elementType, t.dims))) return failure();
    results.emplace_back(t.elementType, t.dims);
  }
  if (failed(countSteps(
          op, llvm::SaturatingMultiply<uint64_t>(std::max<int64_t>(points, 0), body->operations))))
    return failure();
  auto captured = capture(op, *body);
  if (failed(captured)) return failure();
  // A point may take long: a few at a time for each thread.
  constexpr int64_t together = 64;
  if (points > 0)
    parallelFor((points + together - 1) / together, [&](int64_t begin, int64_t end) {
      BodyRun run(*body, std::min(together, points), captured->first, captured->second, errors,
                  results);
      for (int64_t p = begin * together; p < std::min(points, end * together); p += together) {
        int64_t n = std::min(together, points - p);
        for (int64_t l = 0; l < n; ++l) {
          int64_t rest = p + l;
          for (size_t d = extents.size(); d-- > 0;) {
            if (Register r = body->arguments[d]; r != noRegister)
              run.lanes(r)[l].i = rest % extents[d];
            rest /= extents[d];
          }
        }
        run.run(n);
        if (errors.failed) return;
      }
    });
  if (failed(check(op))) return failure();
  for (auto [r, t] : llvm::zip(op.getResults(), results))
    set(r, std::move(t));
  return success();
}

LogicalResult Interpreter::tensorOp(Operation* op) {
  if (auto o = dyn_cast<tensor::EmptyOp>(op)) return empty(o);
  if (auto o = dyn_cast<tensor::ExtractOp>(op)) return extract(o);
  if (auto o = dyn_cast<tensor::InsertOp>(op)) return insert(o);
  if (auto o = dyn_cast<tensor::ExtractSliceOp>(op)) return extractSlice(o);
  if (auto o = dyn_cast<tensor::InsertSliceOp>(op)) return insertSlice(o);
  if (auto o = dyn_cast<tensor::FromElementsOp>(op)) return fromElements(o);
  if (auto o = dyn_cast<tensor::CastOp>(op))
    if (auto type = dyn_cast<RankedTensorType>(o.getType())) return castTo(op, o.getSource(), type);
  if (auto o = dyn_cast<tensor::DimOp>(op)) {
    HostTensor t = shape(o.getSource());
    int64_t d = index(o.getIndex());
    if (d < 0 || d >= t.rank()) return fail(op, "asks for a dim that is not there");
    set(o, indexScalar(op->getContext(), t.dims[d]));
    return success();
  }
  // Reshapes of canonicalised IR: the same elements with other sizes.
  if (auto o = dyn_cast<tensor::CollapseShapeOp>(op)) {
    auto t = tensor(op, o.getSrc());
    if (failed(t)) return failure();
    HostTensor r = *t;
    r.dims.clear();
    for (auto group : o.getReassociationIndices()) {
      int64_t size = 1;
      for (int64_t d : group)
        size *= t->dims[d];
      r.dims.push_back(size);
    }
    set(o, std::move(r));
    return success();
  }
  if (auto o = dyn_cast<tensor::ExpandShapeOp>(op)) {
    auto t = tensor(op, o.getSrc());
    if (failed(t)) return failure();
    HostTensor r = *t;
    r.dims.clear();
    unsigned next = 0;
    for (int64_t s : o.getStaticOutputShape())
      r.dims.push_back(ShapedType::isDynamic(s) ? index(o.getOutputShape()[next++]) : s);
    if (r.size() != t->size()) return fail(op, "does not fit its elements");
    set(o, std::move(r));
    return success();
  }
  return fail(op, "cannot be evaluated: '" + op->getName().getStringRef() + "'");
}

} // namespace ortc
