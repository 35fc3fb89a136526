// SPDX-License-Identifier: Apache-2.0
// WebGPU: WGSL kernels, and a JavaScript module that runs them in a browser or in Node. One thread
// per element.
#include "codegen/bundle/Bundle.h"
#include "codegen/js/PrintJs.h"
#include "codegen/wgsl/PrintWgsl.h"
#include "compiler/pipeline/DiagnosticBridge.h"
#include "compiler/support/Names.h"
#include "targets/webgpu/WeightSegments.h"

using namespace mlir;

namespace ortc {
namespace {

constexpr size_t kBuffersPerKernel = 8; // by the default limits

class WebGpuTarget final : public TargetInfo {
public:
  std::string name() const override { return "webgpu"; }
  Runner runner() const override { return Runner::WebModule; }
  int64_t alignment() const override { return 256; } // of a binding's offset, by the default limits
  unsigned indexBits() const override { return 32; }
  std::vector<std::string> weightsForms() const override { return {}; } // the module fetches them
  bool checksData() const override { return false; } // a round trip to the device each time
  Schedule schedule(KernelOp) const override { return {/*parallelLoops=*/-1, /*vectorLanes=*/0}; }

  bool emit(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    DiagnosticBridge bridge(*program.getContext(), diagnostics);
    program->setAttr("ortc.name", StringAttr::get(program.getContext(), request.name));
    BundleRequest own = request;
    own.weights = "embed"; // the blob as it is: the module fetches it
    codegen::BundleWriter writer(own, diagnostics);
    codegen::BundleFacts io = codegen::readFacts(program);
    if (!codegen::requireOutputBounds(program, diagnostics)) return false;
    auto segments = webgpu::splitWeights(program, facts.weights);
    if (failed(segments)) return giveUp(diagnostics);
    auto device = codegen::gpu::DeviceModule::create(program);
    if (failed(device)) return giveUp(diagnostics);
    for (const codegen::gpu::DeviceKernel& kernel : device->kernels()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      if (failed(codegen::wgsl::printKernel(kernel, os))) return giveUp(diagnostics);
      if (!writer.write(fmt::format("shaders/{}.wgsl", kernel.name), os.str())) return false;
    }
    codegen::js::Options options;
    options.weightsFile = fmt::format("weights/{}.bin", request.name);
    for (const webgpu::WeightSegment& s : *segments)
      options.weightBuffers.emplace_back(s.offset, s.bytes);
    writer.needs = limitsBeyondDefault(*segments, io, *device);
    std::string module = fmt::format("// ortc {}. Do not edit: regenerate with `{}`.\n",
                                     ORTC_VERSION, escapeForComment(request.command));
    llvm::raw_string_ostream os(module);
    if (failed(codegen::js::printModule(program, *device, os, options))) return giveUp(diagnostics);
    std::vector<std::string> sources{request.name + ".mjs"};
    if (!writer.write(sources[0], os.str()) || !writer.writeWeights(facts.weights)) return false;
    for (const char* f : {"ortc_webgpu.mjs", "device.mjs", "tensors.mjs", "ortc_webgpu.d.mts"})
      if (!writer.copyResource(fmt::format("targets/webgpu/host/{}", f),
                               fmt::format("runtime/{}", f)))
        return false;
    std::string types;
    llvm::raw_string_ostream typesStream(types);
    codegen::js::printTypes(program, typesStream, options);
    return writer.write(request.name + ".d.mts", types) &&
           writer.writeManifest(io, facts, program, *this, sources, {});
  }

private:
  /// For the manifest; runtime/device.mjs asks for them.
  static std::vector<std::string> limitsBeyondDefault(ArrayRef<webgpu::WeightSegment> segments,
                                                      const codegen::BundleFacts& io,
                                                      const codegen::gpu::DeviceModule& device) {
    std::vector<std::string> needs;
    uint64_t bytes = io.arenaBytes ? static_cast<uint64_t>(*io.arenaBytes) : 0;
    const char* what = "the arena";
    for (const webgpu::WeightSegment& s : segments)
      if (s.bytes > bytes) bytes = s.bytes, what = "a weight";
    if (bytes > webgpu::kBindingBytes)
      needs.push_back(fmt::format("maxStorageBufferBindingSize {}: {}", bytes, what));
    const codegen::gpu::DeviceKernel* most = nullptr;
    for (const codegen::gpu::DeviceKernel& k : device.kernels())
      if (!most || k.bindings.size() > most->bindings.size()) most = &k;
    if (most && most->bindings.size() > kBuffersPerKernel)
      needs.push_back(fmt::format("maxStorageBuffersPerShaderStage {}: kernel '{}'",
                                  most->bindings.size(), most->name));
    return needs;
  }

  static bool giveUp(Diagnostics& diagnostics) {
    if (!diagnostics.hasErrors())
      diagnostics.error("", "an operation could not be printed; this is a fault of ortc");
    return false;
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "webgpu", [] { return std::unique_ptr<TargetInfo>(new WebGpuTarget); },
    "WGSL and a JavaScript module, for browsers and Node");

} // namespace
} // namespace ortc
