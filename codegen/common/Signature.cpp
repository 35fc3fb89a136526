// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Signature.h"
#include "codegen/common/Names.h"
#include "compiler/ops/AllOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
using namespace mlir;

namespace ortc::codegen {

bool isReadOnly(Value memref) {
  return llvm::all_of(memref.getUses(), [](OpOperand& use) {
    Operation* op = use.getOwner();
    if (isa<memref::LoadOp, memref::DimOp, vector::LoadOp, vector::MaskedLoadOp, vector::GatherOp,
            vector::TransferReadOp, memref::PrefetchOp, memref::AssumeAlignmentOp>(op))
      return true;
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return copy.getSource() == use.get() && copy.getTarget() != use.get();
    if (auto call = dyn_cast<CallTemplateOp>(op)) {
      // Inside its epilogue the buffer is read by loads; as an argument it is written when the op
      // says so.
      auto writes = call->getAttrOfType<ArrayAttr>("writes");
      StringRef name = cast<StringAttr>(call.getArgNames()[use.getOperandNumber()]).getValue();
      if (writes)
        return llvm::none_of(writes,
                             [&](Attribute a) { return cast<StringAttr>(a).getValue() == name; });
      return !(name == "c" || name == "y" || name == "out" || name == "output" ||
               name == "scratch" || name == "workspace");
    }
    if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      return view.getViewSource() == use.get() && isReadOnly(op->getResult(0));
    if (isa<memref::MemorySpaceCastOp>(op)) return isReadOnly(op->getResult(0));
    return false;
  });
}

/// Does the code need all sizes of this memref, also the outermost one, which index arithmetic
/// never reads?
static bool needsOuterSize(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation* op) {
    if (isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp,
            vector::MaskedStoreOp, vector::GatherOp, vector::ScatterOp, memref::PrefetchOp,
            memref::AssumeAlignmentOp, CallTemplateOp, memref::AtomicRMWOp>(op))
      return false;
    if (isa<memref::SubViewOp, memref::ReinterpretCastOp>(op))
      return false; // say their sizes themselves
    if (isa<memref::CastOp, memref::MemorySpaceCastOp>(op)) return needsOuterSize(op->getResult(0));
    return true;
  });
}

SmallVector<Operation*> launchesOf(func::FuncOp kernel) {
  SmallVector<Operation*> launches;
  if (auto module = kernel->getParentOfType<ModuleOp>())
    module.walk([&](LaunchOp launch) {
      if (launch.getKernel() == kernel.getSymName()) launches.push_back(launch);
    });
  return launches;
}

OpFoldResult programSize(Value memref, unsigned dim) {
  auto type = cast<MemRefType>(memref.getType());
  Builder b(memref.getContext());
  if (!type.isDynamicDim(dim)) return b.getIndexAttr(type.getDimSize(dim));
  Operation* op = memref.getDefiningOp();
  auto dynamic = [&](ValueRange sizes) -> OpFoldResult {
    unsigned k = type.getDynamicDimIndex(dim);
    return k < sizes.size() ? OpFoldResult(sizes[k]) : OpFoldResult();
  };
  if (auto alloc = dyn_cast_or_null<memref::AllocOp>(op)) return dynamic(alloc.getDynamicSizes());
  if (auto alloca = dyn_cast_or_null<memref::AllocaOp>(op))
    return dynamic(alloca.getDynamicSizes());
  if (auto view = dyn_cast_or_null<memref::ViewOp>(op)) return dynamic(view.getSizes());
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op)) return programSize(cast.getSource(), dim);
  if (auto view = dyn_cast_or_null<memref::ReinterpretCastOp>(op)) return view.getMixedSizes()[dim];
  if (auto view = dyn_cast_or_null<memref::SubViewOp>(op)) {
    llvm::SmallBitVector dropped = view.getDroppedDims();
    unsigned kept = 0;
    for (auto [i, size] : llvm::enumerate(view.getMixedSizes()))
      if (!dropped[i] && kept++ == dim) return size;
  }
  return {};
}

OpFoldResult programStride(Value memref, unsigned dim) {
  auto type = cast<MemRefType>(memref.getType());
  Builder b(memref.getContext());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(getStridesAndOffset(type, strides, offset))) return {};
  if (!ShapedType::isDynamic(strides[dim])) return b.getIndexAttr(strides[dim]);
  Operation* op = memref.getDefiningOp();
  if (auto view = dyn_cast_or_null<memref::ReinterpretCastOp>(op))
    return view.getMixedStrides()[dim];
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op)) return programStride(cast.getSource(), dim);
  return {};
}

std::string kernelName(func::FuncOp kernel) {
  std::string name = legalIdentifier(kernel.getSymName());
  if (isReservedWord(name)) name += "_kernel";
  unsigned before = 0; // other kernels of the same legal name that come first
  if (auto module = kernel->getParentOfType<ModuleOp>())
    for (auto other : module.getOps<func::FuncOp>()) {
      if (other == kernel) break;
      std::string its = legalIdentifier(other.getSymName());
      before += name == (isReservedWord(its) ? its + "_kernel" : its);
    }
  return before ? name + "_n" + std::to_string(before + 1) : name;
}

SmallVector<std::string> programDimNames(ModuleOp module) {
  SmallVector<std::string> names;
  auto add = [&](StringRef name) {
    if (!llvm::is_contained(names, name)) names.push_back(name.str());
  };
  for (auto f : module.getOps<func::FuncOp>())
    if (f->hasAttr("ortc.program")) f.walk([&](DimOp dim) { add(dim.getName()); });
  if (auto inputs = module->getAttrOfType<ArrayAttr>("ortc.inputs"))
    for (Attribute input : inputs)
      if (auto d = dyn_cast<DictionaryAttr>(input))
        if (auto dims = d.getAs<ArrayAttr>("dims"))
          for (Attribute dim : dims)
            if (auto name = dyn_cast<StringAttr>(dim)) add(name.getValue());
  return names;
}

static bool same(OpFoldResult a, OpFoldResult b) {
  if (!a || !b) return false;
  if (auto x = getConstantIntValue(a), y = getConstantIntValue(b); x || y)
    return x && y && *x == *y;
  return a == b;
}

KernelSignature analyzeSignature(func::FuncOp kernel) {
  KernelSignature s;
  Names names;
  SmallVector<Operation*> launches = launchesOf(kernel);
  unsigned n = kernel.getNumArguments();
  auto wish = [&](unsigned i) -> std::string {
    if (auto name = kernel.getArgAttrOfType<StringAttr>(i, "ortc.name")) return name.str();
    return isa<MemRefType>(kernel.getArgumentTypes()[i]) ? "x" : "n";
  };
  for (unsigned i = 0; i < n; ++i)
    s.argNames.push_back(names.fresh(wish(i)));
  kernel.walk([&](Operation* op) {
    if (isa<scf::ParallelOp, CallTemplateOp>(op)) s.usesThreads = true;
  });

  // What each launch passes for a size; the key by which two sizes are found to be one.
  struct Known {
    std::string name;
    SmallVector<OpFoldResult> values;
  };
  SmallVector<Known> known;
  auto sameEverywhere = [&](ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
    return !a.empty() && a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto p) {
      return same(std::get<0>(p), std::get<1>(p));
    });
  };
  for (unsigned i = 0; i < n; ++i) {
    if (!kernel.getArgument(i).getType().isIndex()) continue;
    Known k{s.argNames[i], {}};
    for (Operation* l : launches)
      k.values.push_back(l->getOperand(i));
    known.push_back(k);
  }
  llvm::StringMap<std::string>
      byDimName; // ortc.dims of the kernel's arguments: equal names are equal sizes
  SmallVector<KernelParam> extents;
  auto extent = [&](unsigned arg, unsigned dim, bool isStride) -> DynamicExtent {
    SmallVector<OpFoldResult> values;
    for (Operation* l : launches)
      values.push_back(isStride ? programStride(l->getOperand(arg), dim)
                                : programSize(l->getOperand(arg), dim));
    if (!values.empty() && getConstantIntValue(values[0]) &&
        sameEverywhere(values, SmallVector<OpFoldResult>(values.size(), values[0])))
      return {"", getConstantIntValue(values[0])};
    for (const Known& k : known)
      if (sameEverywhere(k.values, values)) return {k.name, {}};
    std::string wish;
    if (auto dims = kernel.getArgAttrOfType<ArrayAttr>(arg, "ortc.dims");
        dims && !isStride && dim < dims.size())
      if (auto name = dyn_cast<StringAttr>(dims[dim])) {
        if (auto it = byDimName.find(name.getValue()); it != byDimName.end())
          return {it->second, {}};
        wish = name.str();
        byDimName[wish] = "";
      }
    std::string key = wish;
    if (wish.empty() && !values.empty() && values[0])
      if (auto v = dyn_cast<Value>(values[0]))
        if (auto d = v.getDefiningOp<DimOp>()) wish = d.getName().str();
    if (wish.empty())
      wish = s.argNames[arg] + (isStride ? "_stride" : "_size") + std::to_string(dim);
    std::string name = names.fresh(wish);
    if (!key.empty()) byDimName[key] = name;
    extents.push_back({isStride ? KernelParam::Stride : KernelParam::Size, arg, dim, name});
    known.push_back({name, values});
    return {name, {}};
  };
  for (unsigned i = 0; i < n; ++i) {
    auto type = dyn_cast<MemRefType>(kernel.getArgumentTypes()[i]);
    if (!type) continue;
    s.params.push_back(
        {KernelParam::Pointer, i, 0, s.argNames[i], isReadOnly(kernel.getArgument(i))});
    bool identity = type.getLayout().isIdentity(), outer = needsOuterSize(kernel.getArgument(i));
    for (unsigned d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d) && (outer || (identity && d > 0)))
        s.sizes[{i, d}] = extent(i, d, false);
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!identity && succeeded(getStridesAndOffset(type, strides, offset)))
      for (unsigned d = 0; d < strides.size(); ++d)
        if (ShapedType::isDynamic(strides[d])) s.strides[{i, d}] = extent(i, d, true);
  }
  llvm::append_range(s.params, extents);
  for (unsigned i = 0; i < n; ++i)
    if (!isa<MemRefType>(kernel.getArgumentTypes()[i]))
      s.params.push_back({KernelParam::Scalar, i, 0, s.argNames[i]});
  return s;
}

} // namespace ortc::codegen
