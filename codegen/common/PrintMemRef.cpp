// SPDX-License-Identifier: Apache-2.0
// Memory: where elements lie, views of buffers, loads, stores, copies.
#include "codegen/common/Printer.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen {

void Printer::setDenseStrides(Layout& layout) {
  layout.identity = true;
  layout.strides.resize(layout.sizes.size());
  Expr stride = integer(1);
  for (size_t d = layout.sizes.size(); d-- > 0;) {
    layout.strides[d] = stride;
    if (d > 0) stride = product(layout.sizes[d], stride);
  }
}

Layout Printer::sourceLayout(MemRefType type, StringRef base, ArrayRef<Expr> dynamicSizes,
                             ArrayRef<Expr> dynamicStrides) {
  Layout l;
  l.base = base.str();
  unsigned k = 0;
  for (int64_t d : type.getShape())
    l.sizes.push_back(!ShapedType::isDynamic(d) ? integer(d)
                      : k < dynamicSizes.size() ? dynamicSizes[k++]
                                                : Expr{});
  if (type.getLayout().isIdentity()) {
    setDenseStrides(l);
    return l;
  }
  l.identity = false;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (::mlir::failed(getStridesAndOffset(type, strides, offset))) {
    l.strides.assign(type.getRank(), Expr{"<<unsupported layout>>"});
    hasFailed = true;
    return l;
  }
  k = 0;
  for (int64_t s : strides)
    l.strides.push_back(!ShapedType::isDynamic(s)   ? integer(s)
                        : k < dynamicStrides.size() ? dynamicStrides[k++]
                                                    : Expr{"<<unknown stride>>"});
  return l;
}

Expr Printer::linearIndex(const Layout& layout, ArrayRef<Expr> indices, bool relative) {
  Expr e = integer(0);
  if (layout.identity) {
    // (i * H + j) * W + k
    for (size_t d = 0; d < indices.size(); ++d) {
      if (isInteger(layout.sizes[d], 1) && indices.size() > 1) continue; // the index is 0
      if (!isInteger(e, 0)) e = product(e, layout.sizes[d]);
      e = isInteger(e, 0) ? indices[d] : sum(e, indices[d]);
    }
  } else {
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr term = product(indices[d], layout.strides[d]);
      e = isInteger(e, 0) ? term : sum(e, term);
    }
  }
  if (!relative && !isInteger(layout.offset, 0))
    e = isInteger(e, 0) ? layout.offset : sum(layout.offset, e);
  return e;
}

Expr Printer::linearIndex(const Layout& layout, ValueRange indices) {
  SmallVector<Expr> texts;
  for (Value v : indices)
    texts.push_back(expr(v));
  return linearIndex(layout, texts);
}

Expr Printer::loadElement(Operation*, const Layout& layout, const Expr& index, Type) {
  return {layout.base + "[" + index.text + "]"};
}

std::string Printer::storeElement(Operation*, const Layout& layout, const Expr& index,
                                  const Expr& value, Type) {
  return layout.base + "[" + index.text + "] = " + value.text + ";";
}

void Printer::declareView(Value view, Layout layout, StringRef) {
  layouts[view] = std::move(layout);
}

LogicalResult Printer::printSubview(memref::SubViewOp op) {
  const Layout source = layoutOf(op.getSource());
  auto asExpr = [&](OpFoldResult x) {
    if (auto c = getConstantIntValue(x)) return integer(*c);
    return expr(cast<Value>(x));
  };
  SmallVector<Expr> offsets;
  for (OpFoldResult o : op.getMixedOffsets())
    offsets.push_back(asExpr(o));
  Layout l;
  l.base = source.base;
  l.constant = source.constant;
  l.identity = false;
  l.offset = linearIndex(source, offsets);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [d, size, step] : llvm::enumerate(op.getMixedSizes(), op.getMixedStrides())) {
    if (dropped[d]) continue;
    l.sizes.push_back(asExpr(size));
    l.strides.push_back(product(asExpr(step), source.strides[d]));
  }
  // Still dense when only leading dims were cut: then the Horner form stays.
  SmallVector<Expr> dense = l.strides;
  Layout test = l;
  setDenseStrides(test);
  l.identity = llvm::all_of(llvm::zip(dense, test.strides),
                            [](auto p) { return std::get<0>(p).text == std::get<1>(p).text; });
  std::string hint = hintFor(op.getResult());
  declareView(op.getResult(), std::move(l),
              hint == "at" || hint.empty() ? source.base + "_part" : hint);
  return success();
}

LogicalResult Printer::printCopy(memref::CopyOp op) {
  const Layout from = layoutOf(op.getSource()), to = layoutOf(op.getTarget());
  Type element = cast<MemRefType>(op.getTarget().getType()).getElementType();
  loopNest(to.sizes, [&](ArrayRef<Expr> ivs) {
    Expr value = loadElement(op, from, linearIndex(from, ivs), element);
    w.line(storeElement(op, to, linearIndex(to, ivs), value, element));
  });
  return success();
}

LogicalResult Printer::printAlloca(Operation* op, MemRefType) {
  return unsupported(op);
}

LogicalResult Printer::printMemRefOp(Operation* op, bool& handled) {
  auto asExpr = [&](OpFoldResult x) {
    if (auto c = getConstantIntValue(x)) return integer(*c);
    return expr(cast<Value>(x));
  };
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](memref::LoadOp load) {
        const Layout& l = layoutOf(load.getMemRef());
        define(op, loadElement(op, l, linearIndex(l, load.getIndices()), load.getType()));
        return success();
      })
      .Case([&](memref::StoreOp store) {
        const Layout& l = layoutOf(store.getMemRef());
        w.line(storeElement(op, l, linearIndex(l, store.getIndices()), expr(store.getValue()),
                            store.getValue().getType()));
        return success();
      })
      .Case([&](memref::DimOp dim) {
        auto index = dim.getConstantIndex();
        if (!index) return unsupported(op, "the number of the dim is not constant");
        const Layout& l = layoutOf(dim.getSource());
        if (l.sizes[*index].text.empty()) return unsupported(op, "this size is not known here");
        bind(dim, l.sizes[*index]);
        return success();
      })
      .Case([&](memref::SubViewOp view) { return printSubview(view); })
      .Case([&](memref::CastOp view) {
        Layout l = layoutOf(view.getSource());
        // Static sizes that the source did not know.
        auto type = cast<MemRefType>(view.getType());
        for (auto [d, size] : llvm::enumerate(type.getShape()))
          if (!ShapedType::isDynamic(size)) l.sizes[d] = integer(size);
        layouts[view] = l;
        return success();
      })
      .Case([&](memref::MemorySpaceCastOp view) {
        Layout l = layoutOf(view.getSource());
        layouts[view] = l;
        return success();
      })
      .Case([&](memref::ReinterpretCastOp view) {
        Layout l;
        const Layout source = layoutOf(view.getSource());
        l.base = source.base, l.constant = source.constant, l.identity = false;
        l.offset = asExpr(view.getMixedOffsets()[0]);
        for (OpFoldResult s : view.getMixedSizes())
          l.sizes.push_back(asExpr(s));
        for (OpFoldResult s : view.getMixedStrides())
          l.strides.push_back(asExpr(s));
        if (view.getType().getLayout().isIdentity()) setDenseStrides(l);
        declareView(view, std::move(l), source.base + "_view");
        return success();
      })
      .Case([&](memref::CollapseShapeOp view) {
        const Layout source = layoutOf(view.getSrc());
        Layout l = source;
        l.sizes.clear(), l.strides.clear();
        for (auto group : view.getReassociationIndices()) {
          Expr size = integer(1);
          for (int64_t d : group)
            size = product(size, source.sizes[d]);
          l.sizes.push_back(size);
          l.strides.push_back(source.strides[group.back()]);
        }
        if (l.identity) setDenseStrides(l);
        layouts[view] = l;
        return success();
      })
      .Case([&](memref::ExpandShapeOp view) {
        const Layout source = layoutOf(view.getSrc());
        Layout l = source;
        l.sizes.clear(), l.strides.clear();
        Builder b(op->getContext());
        SmallVector<OpFoldResult> sizes =
            getMixedValues(view.getStaticOutputShape(), view.getOutputShape(), b);
        for (auto [s, group] : llvm::enumerate(view.getReassociationIndices())) {
          Expr stride = source.strides[s];
          SmallVector<Expr> strides(group.size());
          for (size_t k = group.size(); k-- > 0;) {
            strides[k] = stride;
            stride = product(asExpr(sizes[group[k]]), stride);
          }
          for (auto [k, d] : llvm::enumerate(group)) {
            l.sizes.push_back(asExpr(sizes[d]));
            l.strides.push_back(strides[k]);
          }
        }
        if (l.identity) setDenseStrides(l);
        layouts[view] = l;
        return success();
      })
      .Case([&](memref::AllocaOp alloca) {
        if (alloca.getType().getNumDynamicDims())
          return unsupported(op, "the size of a local array must be constant");
        return printAlloca(op, alloca.getType());
      })
      .Case([&](memref::CopyOp copy) { return printCopy(copy); })
      .Case<memref::AssumeAlignmentOp, memref::DeallocOp>([&](Operation*) { return success(); })
      .Default([&](Operation*) {
        handled = false;
        return success();
      });
}

} // namespace ortc::codegen
