// SPDX-License-Identifier: Apache-2.0
// WebGPU: WGSL kernels, and a JavaScript module that runs them in a browser or in Node. One thread
// per element.
#include "codegen/bundle/Bundle.h"
#include "codegen/js/PrintJs.h"
#include "codegen/wgsl/PrintWgsl.h"
#include "compiler/support/Names.h"

using namespace mlir;

namespace ortc {
namespace {

class WebGpuTarget final : public TargetInfo {
public:
  std::string name() const override { return "webgpu"; }
  int64_t alignment() const override { return 256; } // of a binding's offset, by the default limits
  unsigned indexBits() const override { return 32; }
  std::vector<std::string> weightsForms() const override { return {}; } // the module fetches them
  Schedule schedule(KernelOp) const override { return {/*parallelLoops=*/-1, /*vectorLanes=*/0}; }

  bool emit(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    program->setAttr("ortc.name", StringAttr::get(program.getContext(), request.name));
    BundleRequest own = request;
    own.weights = "embed"; // the blob as it is: the module fetches it
    codegen::BundleWriter writer(own, diagnostics);
    codegen::BundleFacts io = codegen::readFacts(program);
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
    return writer.write(request.name + ".d.mts", types()) &&
           writer.writeManifest(io, facts, program, *this, sources, {});
  }

private:
  static bool giveUp(Diagnostics& diagnostics) {
    if (!diagnostics.hasErrors())
      diagnostics.error("", "an operation could not be printed; this is a fault of ortc");
    return false;
  }
  static std::string types() {
    return "import type { Model, Options, Session } from './runtime/ortc_webgpu.mjs';\n\n"
           "/** What the model is: inputs, outputs, dims, kernels. */\nexport declare const model: "
           "Model;\n"
           "/** Opens it on a GPU: the browser's, or `options.gpu` in Node. */\n"
           "export declare function create(options?: Options): Promise<Session>;\n";
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "webgpu", [] { return std::unique_ptr<TargetInfo>(new WebGpuTarget); },
    "WGSL and a JavaScript module, for browsers and Node");

} // namespace
} // namespace ortc
