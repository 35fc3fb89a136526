// SPDX-License-Identifier: Apache-2.0
// All that touches a GPU is in run_bundle.mjs of the installation; here its request is written and
// its response read.
#include "compiler/driver/WebGpuRunner.h"
#include "codegen/bundle/Bundle.h"
#include "compiler/driver/BundleInterface.h"
#include "compiler/driver/Tools.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

std::string script() {
  return codegen::resourceFolder() + "/targets/webgpu/tools/run_bundle.mjs";
}
std::string node() {
  const char* given = std::getenv("ORTC_NODE");
  return given && *given ? given : findProgram("node");
}

class WebGpuSession final : public Session {
public:
  WebGpuSession(BundleInterface io, std::string module, std::string work)
      : io(std::move(io)), module(std::move(module)), work(std::move(work)) {}

  const onnx::Graph& signature() const override { return io.graph; }

  std::optional<std::vector<CaseValue>> run(const std::vector<CaseValue>& inputs,
                                            Diagnostics& diagnostics) override {
    const fs::path folder = fs::path(work) / fmt::format("run-{}-{}", getpid(), runs++);
    std::error_code error;
    fs::create_directories(folder, error);
    llvm::json::Array list;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].isTensor()) continue;
      const CaseTensor& t = inputs[i].tensor;
      const std::string file = fmt::format("input_{}.bin", i);
      std::error_code e;
      llvm::raw_fd_ostream((folder / file).string(), e)
          << llvm::StringRef(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
      list.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(io.graph.inputs[i].name)},
                                        {"dims", llvm::json::Array(t.dims)},
                                        {"file", file}});
    }
    llvm::json::Value request = llvm::json::Object{
        {"runs",
         llvm::json::Array{llvm::json::Object{{"inputs", std::move(list)}, {"out", "output_"}}}}};
    std::error_code e;
    llvm::raw_fd_ostream((folder / "request.json").string(), e) << request;
    ProcessResult r = runProgram({node(), script(), module, (folder / "request.json").string(),
                                  (folder / "response.json").string()},
                                 600);
    llvm::Expected<llvm::json::Value> response =
        llvm::json::parse(readBytes((folder / "response.json").string()));
    auto giveUp = [&](const std::string& why) -> std::optional<std::vector<CaseValue>> {
      diagnostics.error("", "{}", why);
      fs::remove_all(folder, error);
      return std::nullopt;
    };
    if (!response) {
      llvm::consumeError(response.takeError());
      return giveUp(fmt::format("the module did not run: {}", r.output.substr(0, 600)));
    }
    auto failure = [](const llvm::json::Object& o) {
      return o.getObject("error")
                 ? o.getObject("error")->getString("message").value_or("unknown error").str()
                 : std::string();
    };
    const llvm::json::Object* all = response->getAsObject();
    if (!all || !failure(*all).empty())
      return giveUp(all ? failure(*all) : "the module's response makes no sense");
    const llvm::json::Object& one = *(*all->getArray("runs"))[0].getAsObject();
    if (!failure(one).empty()) return giveUp(failure(one));
    std::vector<CaseValue> outputs;
    for (const llvm::json::Value& v : *one.getArray("outputs")) {
      const llvm::json::Object& o = *v.getAsObject();
      std::vector<int64_t> dims;
      for (const llvm::json::Value& d : *o.getArray("dims"))
        dims.push_back(d.getAsInteger().value_or(0));
      CaseTensor t = CaseTensor::zeros(io.graph.outputs[outputs.size()].type.dtype, dims);
      const std::string bytes =
          readBytes((folder / o.getString("file").value_or("").str()).string());
      if (bytes.size() != t.bytes.size())
        return giveUp(fmt::format("output {} has {} bytes; expected {}", outputs.size(),
                                  bytes.size(), t.bytes.size()));
      std::copy(bytes.begin(), bytes.end(), t.bytes.begin());
      outputs.push_back(std::move(t));
    }
    fs::remove_all(folder, error);
    return outputs;
  }

private:
  BundleInterface io;
  std::string module, work;
  int runs = 0;
};

class WebGpuRunner final : public DeviceRunner {
public:
  WebGpuRunner(const CompileOptions& options, std::string work)
      : options(options), work(std::move(work)) {}
  std::string label() const override { return "webgpu"; }
  void require() override {
    if (!options.cxx.empty())
      throw UsageError{"--cxx has no effect on target 'webgpu', which needs no compiler", ""};
    if (options.noCache)
      throw UsageError{"--no-cache has no effect on target 'webgpu', which builds nothing", ""};
    if (!fs::exists(script()))
      throw MissingTool{"the installation lacks run_bundle.mjs",
                        "it belongs into share/ortc/targets/webgpu/tools"};
    if (node().empty())
      throw MissingTool{"'node' was not found, which runs target 'webgpu'",
                        "install Node 22 and the npm package 'webgpu', or set ORTC_NODE"};
  }
  bool build(const std::vector<Bundle>& bundles, std::string& artefact, std::string&) override {
    artefact = bundles[0].folder + "/" + bundles[0].name + ".mjs";
    return true;
  }
  std::unique_ptr<Session> load(const Bundle& bundle, const std::string& artefact,
                                Diagnostics& diagnostics) override {
    std::optional<BundleInterface> io = readBundleInterface(bundle.folder);
    if (!io) {
      diagnostics.error("", "the bundle has no readable manifest; this is a fault of ortc");
      return nullptr;
    }
    return std::make_unique<WebGpuSession>(std::move(*io), artefact, work);
  }

private:
  const CompileOptions& options;
  std::string work;
};

} // namespace

std::unique_ptr<DeviceRunner> makeWebGpuRunner(const CompileOptions& options,
                                               const std::string& workFolder) {
  return std::make_unique<WebGpuRunner>(options, workFolder);
}

} // namespace ortc::driver
