// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/EmitSpirv.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRVPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"
using namespace mlir;

namespace ortc::codegen::spirv {
namespace {

/// Puts the bodies of called functions in place of the calls: helpers are single blocks that end in a return.
void inlineCalls(func::FuncOp function) {
  for (;;) {
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp c) { calls.push_back(c); });
    if (calls.empty()) return;
    for (func::CallOp call : calls) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      IRMapping map;
      map.map(callee.getArguments(), call.getOperands());
      OpBuilder b(call);
      for (Operation& op : callee.getBody().front().without_terminator()) b.clone(op, map);
      for (auto [result, value] : llvm::zip(call.getResults(), callee.getBody().front().getTerminator()->getOperands())) result.replaceAllUsesWith(map.lookupOrDefault(value));
      call.erase();
    }
  }
}

/// MLIR 19's conversion leaves the results of a loop without iterations undefined: give them their initial values.
void guardEmptyLoops(mlir::gpu::GPUFuncOp f) {
  f.walk([&](scf::ForOp loop) {
    if (loop.getNumResults() == 0) return;
    OpBuilder b(loop->getContext());
    b.setInsertionPointAfter(loop);
    Value runs = b.create<arith::CmpIOp>(loop.getLoc(), arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    for (auto [result, init] : llvm::zip(loop.getResults(), loop.getInitArgs())) {
      Value chosen = b.create<arith::SelectOp>(loop.getLoc(), runs, result, init);
      result.replaceAllUsesExcept(chosen, chosen.getDefiningOp());
    }
  });
}

/// The kernel as gpu.func: bindings, then one buffer of parameters that becomes the push constants.
void moveIntoGpuModule(func::FuncOp function, const gpu::DeviceKernel& kernel, OpBuilder& b, Shader& shader) {
  MLIRContext* c = b.getContext();
  Location loc = function.getLoc();
  unsigned numBindings = kernel.bindings.size(), numScalars = kernel.scalars.size();
  SmallVector<Type> types(function.getArgumentTypes().take_front(numBindings));
  if (numScalars) types.push_back(MemRefType::get({static_cast<int64_t>(numScalars)}, b.getI32Type()));
  auto module = b.create<mlir::gpu::GPUModuleOp>(loc, kernel.name + "_module");
  OpBuilder inner = OpBuilder::atBlockBegin(module.getBody());
  auto f = inner.create<mlir::gpu::GPUFuncOp>(loc, kernel.name, b.getFunctionType(types, {}));
  f->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  SmallVector<int32_t> size(kernel.workgroup.begin(), kernel.workgroup.end());
  f->setAttr(mlir::spirv::getEntryPointABIAttrName(), mlir::spirv::getEntryPointABIAttr(c, size));
  Block& entry = f.getBody().front();
  inner.setInsertionPointToStart(&entry);
  IRMapping map;
  for (unsigned i = 0; i < numBindings; ++i) map.map(function.getArgument(i), entry.getArgument(i));
  for (unsigned i = 0; i < numScalars; ++i) {
    Value index = inner.create<arith::ConstantIndexOp>(loc, i);
    Value v = inner.create<memref::LoadOp>(loc, entry.getArgument(numBindings), index);
    BlockArgument arg = function.getArgument(numBindings + i);
    if (arg.getType().isF32()) v = inner.create<arith::BitcastOp>(loc, arg.getType(), v);
    map.map(arg, v);
  }
  for (Operation& op : function.getBody().front().without_terminator()) inner.clone(op, map);
  inner.create<mlir::gpu::ReturnOp>(loc);
  f.walk([&](memref::AllocaOp op) {
    auto space = dyn_cast_or_null<mlir::gpu::AddressSpaceAttr>(op.getType().getMemorySpace());
    auto number = dyn_cast_or_null<IntegerAttr>(op.getType().getMemorySpace());
    bool shared = (space && space.getValue() == mlir::gpu::AddressSpace::Workgroup) || (number && number.getInt() == 3);
    auto cls = mlir::spirv::StorageClassAttr::get(c, shared ? mlir::spirv::StorageClass::Workgroup : mlir::spirv::StorageClass::Function);
    auto type = MemRefType::get(op.getType().getShape(), op.getType().getElementType(), MemRefLayoutAttrInterface(), cls);
    OpBuilder at(op);
    if (shared) {
      shader.sharedBytes += 4 * type.getNumElements();
      op.replaceAllUsesWith(at.create<memref::AllocOp>(op.getLoc(), type).getResult());
    } else {
      op.replaceAllUsesWith(at.create<memref::AllocaOp>(op.getLoc(), type).getResult());
    }
    op.erase();
  });
  guardEmptyLoops(f);
}

/// Turns the trailing buffer of parameters into a block of push constants: only types change.
void toPushConstant(mlir::spirv::ModuleOp module, StringRef name) {
  auto pushed = [](Type t) {
    return mlir::spirv::PointerType::get(cast<mlir::spirv::PointerType>(t).getPointeeType(), mlir::spirv::StorageClass::PushConstant);
  };
  module.walk([&](mlir::spirv::GlobalVariableOp g) {
    if (g.getSymName() != name) return;
    g.setType(pushed(g.getType()));
    g->removeAttr("binding");
    g->removeAttr("descriptor_set");
  });
  module.walk([&](mlir::spirv::AddressOfOp a) {
    if (a.getVariable() != name) return;
    a.getPointer().setType(pushed(a.getPointer().getType()));
    for (Operation* u : a.getPointer().getUsers())
      if (auto chain = dyn_cast<mlir::spirv::AccessChainOp>(u)) chain.getComponentPtr().setType(pushed(chain.getComponentPtr().getType()));
  });
}

} // namespace

LogicalResult emitKernels(const gpu::DeviceModule& device, std::vector<Shader>& shaders) {
  for (const gpu::DeviceKernel& kernel : device.kernels()) {
    func::FuncOp source = kernel.source;
    Shader shader;
    shader.name = kernel.name;
    shader.bindings = kernel.bindings.size();
    for (auto [i, binding] : llvm::enumerate(kernel.bindings)) shader.writes |= binding.written ? 1u << i : 0;
    shader.pushBytes = 4 * kernel.scalars.size();
    shader.invocations = kernel.workgroup[0] * kernel.workgroup[1] * kernel.workgroup[2];
    if (shader.pushBytes > 128) return source.emitError() << "a kernel with " << kernel.scalars.size() << " scalars: Vulkan promises room for 32";
    if (shader.bindings > 16) return source.emitError() << "a kernel with " << shader.bindings << " buffers: the host side binds at most 16";
    // Each kernel alone: a module of its own, so that one kernel's globals are not another's.
    func::FuncOp function = kernel.function;
    MLIRContext* c = function.getContext();
    c->getOrLoadDialect<mlir::spirv::SPIRVDialect>();
    c->getOrLoadDialect<mlir::gpu::GPUDialect>();
    OwningOpRef<ModuleOp> work = ModuleOp::create(function.getLoc());
    OpBuilder b = OpBuilder::atBlockEnd(work->getBody());
    for (auto f : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
      if (!f->hasAttr("ortc.kernel") || f == function) b.clone(*f);
    auto copy = work->lookupSymbol<func::FuncOp>(function.getSymName());
    inlineCalls(copy);
    moveIntoGpuModule(copy, kernel, b, shader);
    for (auto f : llvm::make_early_inc_range(work->getOps<func::FuncOp>())) f.erase();
    (*work)->setAttr(mlir::gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
    using namespace mlir::spirv;
    auto triple = VerCapExtAttr::get(Version::V_1_3, {Capability::Shader}, {Extension::SPV_KHR_storage_buffer_storage_class}, c);
    (*work)->setAttr(getTargetEnvAttrName(), TargetEnvAttr::get(triple, getDefaultResourceLimits(c), ClientAPI::Vulkan));
    PassManager pm(c);
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    pm.addPass(arith::createArithExpandOpsPass());
    pm.addNestedPass<mlir::gpu::GPUModuleOp>(createConvertMathToSPIRVPass());
    pm.addPass(createConvertGPUToSPIRVPass(/*mapMemorySpace=*/true));
    auto& spirvPasses = pm.nest<mlir::spirv::ModuleOp>();
    spirvPasses.addPass(createSPIRVLowerABIAttributesPass());
    spirvPasses.addPass(createCanonicalizerPass());
    spirvPasses.addPass(createCSEPass());
    spirvPasses.addPass(createSPIRVUpdateVCEPass());
    if (failed(pm.run(*work))) return source.emitError("cannot convert the kernel to SPIR-V");
    LogicalResult result = failure();
    work->walk([&](mlir::spirv::ModuleOp module) {
      if (!kernel.scalars.empty()) toPushConstant(module, kernel.name + "_arg_" + std::to_string(kernel.bindings.size()));
      SmallVector<uint32_t, 0> binary;
      result = serialize(module, binary);
      shader.words.assign(binary.begin(), binary.end());
    });
    if (failed(result)) return source.emitError("cannot write the kernel as SPIR-V");
    shaders.push_back(std::move(shader));
  }
  return success();
}

} // namespace ortc::codegen::spirv
