// SPDX-License-Identifier: Apache-2.0
// All that is peculiar to boards is in firmware.sh of the installation
// (targets/common/firmware/README.md); here its arguments are put together, and its files written
// and read.
#include "compiler/driver/FirmwareRunner.h"
#include "codegen/bundle/Bundle.h"
#include "compiler/driver/BundleInterface.h"
#include "compiler/driver/Tools.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <sstream>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

std::string script() {
  return codegen::resourceFolder() + "/targets/common/firmware/firmware.sh";
}

bool buildImage(const CompileOptions& options, const Bundle& bundle, const std::string& folder,
                std::string& log) {
  std::optional<BundleInterface> io = readBundleInterface(bundle.folder);
  if (!io) {
    log = "the bundle has no readable manifest";
    return false;
  }
  std::string flags;
  for (const std::string& f : io->options)
    flags += f + " ";
  std::vector<std::string> command{"bash",
                                   script(),
                                   "build",
                                   "--board=" + options.target,
                                   "--model=" + bundle.name + "_model",
                                   "-o",
                                   folder,
                                   fmt::format("--io={}", (io->bytes + 255) / 256 * 256),
                                   "--cflags=" + flags + "-DORTC_RT_PREFIX=" + bundle.name};
  if (!options.maxFlash.empty())
    command.push_back(fmt::format("--flash={}", *parseBytes(options.maxFlash)));
  if (!options.maxRam.empty())
    command.push_back(fmt::format("--ram={}", *parseBytes(options.maxRam)));
  for (const std::string& d : io->includes) {
    command.push_back("-I");
    command.push_back(bundle.folder + "/" + d);
  }
  command.push_back("-I");
  command.push_back(bundle.folder);
  for (const std::string& s : io->sources)
    command.push_back(bundle.folder + "/" + s);
  ProcessResult r = runProgram(command, 1800);
  if (r.exitCode == 0) return true;
  log = r.output;
  if (log.empty()) log = fmt::format("firmware.sh ended with exit code {} and no word", r.exitCode);
  // The linker's words, shortened: "region `FLASH' overflowed by 1234 bytes".
  if (size_t at = log.find("overflowed by "); at != std::string::npos) {
    size_t begin = log.rfind("region", at);
    log = "does not fit: " + (begin == std::string::npos ? log.substr(at) : log.substr(begin));
    log = log.substr(0, log.find('\n'));
  }
  return false;
}

void requireTools(const std::string& target, bool run) {
  if (!fs::exists(script()))
    throw MissingTool{"the installation lacks firmware.sh",
                      "it belongs into share/ortc/targets/common/firmware"};
  const bool arm = target != "rv32";
  const std::string compiler = arm ? "arm-none-eabi-g++" : "riscv64-unknown-elf-g++",
                    emulator = arm ? "qemu-system-arm" : "qemu-system-riscv32";
  if (findProgram(compiler).empty())
    throw MissingTool{fmt::format("'{}' was not found, which target '{}' needs", compiler, target),
                      "install it from your distribution"};
  if (run && findProgram(emulator).empty())
    throw MissingTool{fmt::format("'{}' was not found, which runs target '{}'", emulator, target),
                      "install it from your distribution"};
}

class FirmwareSession final : public Session {
public:
  FirmwareSession(BundleInterface io, std::string target, std::string image, std::string work)
      : io(std::move(io)), target(std::move(target)), image(std::move(image)),
        work(std::move(work)) {}

  const onnx::Graph& signature() const override { return io.graph; }

  std::optional<std::vector<CaseValue>> run(const std::vector<CaseValue>& inputs,
                                            Diagnostics& diagnostics) override {
    const fs::path folder = fs::path(work) / fmt::format("run-{}-{}", getpid(), runs++);
    std::error_code error;
    fs::create_directories(folder, error);
    auto write = [&](const std::string& name, llvm::StringRef bytes) {
      std::error_code e;
      llvm::raw_fd_ostream((folder / name).string(), e) << bytes;
    };
    std::string request;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].isTensor()) {
        request += "-\n";
        continue;
      }
      const CaseTensor& t = inputs[i].tensor;
      request += fmt::format("{} {}", static_cast<int>(t.dtype), t.dims.size());
      for (int64_t d : t.dims)
        request += fmt::format(" {}", d);
      request += "\n";
      write(fmt::format("input_{}.bin", i),
            llvm::StringRef(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()));
    }
    write("request.txt", request);
    ProcessResult r = runProgram({"bash", script(), "run", "--board=" + target, image + "/case.elf",
                                  folder.string(), "--timeout=600"},
                                 660);
    std::istringstream response(readBytes((folder / "response.txt").string()));
    if (r.exitCode != 0) {
      diagnostics.error("", "the board's program failed: {}", r.output.substr(0, 400));
      return std::nullopt;
    }
    std::vector<CaseValue> outputs(io.graph.outputs.size());
    int status = -1;
    std::string why;
    for (std::string line; std::getline(response, line);) {
      std::istringstream words(line);
      std::string key;
      words >> key;
      if (key == "status") words >> status;
      if (key == "error") why = line.substr(std::min<size_t>(6, line.size()));
      if (key == "output") {
        size_t index = 0, rank = 0;
        int dtype = 0;
        words >> index >> dtype >> rank;
        std::vector<int64_t> dims(rank);
        for (int64_t& d : dims)
          words >> d;
        CaseTensor t = CaseTensor::zeros(static_cast<DType>(dtype), dims);
        const std::string bytes =
            readBytes((folder / fmt::format("output_{}.bin", index)).string());
        if (bytes.size() == t.bytes.size()) std::copy(bytes.begin(), bytes.end(), t.bytes.begin());
        if (index < outputs.size()) outputs[index] = std::move(t);
      }
    }
    fs::remove_all(folder, error);
    if (status != 0) {
      diagnostics.error("", "the run ended with status {}{}{}", status, why.empty() ? "" : ": ",
                        why);
      return std::nullopt;
    }
    return outputs;
  }

private:
  BundleInterface io;
  std::string target, image, work;
  int runs = 0;
};

class FirmwareRunner final : public DeviceRunner {
public:
  FirmwareRunner(const CompileOptions& options, std::string work)
      : options(options), work(std::move(work)) {}
  std::string label() const override { return options.target + " (qemu)"; }
  void require() override {
    if (!options.cxx.empty())
      throw UsageError{
          fmt::format("--cxx has no effect on target '{}', which has a compiler of its own",
                      options.target),
          ""};
    if (options.noCache)
      throw UsageError{
          fmt::format("--no-cache has no effect on target '{}': its builds are not kept",
                      options.target),
          ""};
    requireTools(options.target, /*run=*/true);
  }
  bool build(const std::vector<Bundle>& bundles, std::string& artefact, std::string& log) override {
    artefact = work + "/image-" + bundles[0].name;
    return buildImage(options, bundles[0], artefact, log);
  }
  std::unique_ptr<Session> load(const Bundle& bundle, const std::string& artefact,
                                Diagnostics& diagnostics) override {
    std::optional<BundleInterface> io = readBundleInterface(bundle.folder);
    if (!io) {
      diagnostics.error("", "the bundle has no readable manifest; this is a fault of ortc");
      return nullptr;
    }
    return std::make_unique<FirmwareSession>(std::move(*io), options.target, artefact, work);
  }

private:
  const CompileOptions& options;
  std::string work;
};

} // namespace

std::unique_ptr<DeviceRunner> makeFirmwareRunner(const CompileOptions& options,
                                                 const std::string& workFolder) {
  return std::make_unique<FirmwareRunner>(options, workFolder);
}

std::optional<FirmwareSize> measureFirmware(const CompileOptions& options, const Bundle& bundle,
                                            const std::string& workFolder, std::string& log) {
  requireTools(options.target, /*run=*/false);
  const std::string image = workFolder + "/image";
  if (!buildImage(options, bundle, image, log)) return std::nullopt;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(readBytes(image + "/size.json"));
  if (!json || !json->getAsObject()) {
    if (!json) llvm::consumeError(json.takeError());
    log = "the sizes of the image are not known";
    return std::nullopt;
  }
  const llvm::json::Object& o = *json->getAsObject();
  return FirmwareSize{o.getInteger("flash").value_or(0), o.getInteger("ram").value_or(0),
                      o.getInteger("stack").value_or(0)};
}

} // namespace ortc::driver
