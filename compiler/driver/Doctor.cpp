// SPDX-License-Identifier: Apache-2.0
// ortc doctor: which targets are built in, and which compilers, devices and runners this machine
// has. Finding nothing is an answer, too: exit code 0.
#include "compiler/driver/Command.h"
#include "compiler/driver/Tools.h"
#include "compiler/select/TargetInfo.h"
#include <dlfcn.h>
#include <filesystem>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

struct Finding {
  std::string what, where, version, use;
};

std::string environment(const char* name) {
  const char* v = getenv(name);
  return v ? v : "";
}

Finding program(const std::string& what, const std::vector<std::string>& names,
                const std::string& use,
                const std::vector<std::string>& versionFlag = {"--version"}) {
  for (const std::string& name : names)
    if (std::string path = findProgram(name); !path.empty())
      return {what, path, versionOf(path, versionFlag), use};
  return {what, "", "", use};
}

Finding nvcc() {
  // The last line tells the version; the first is a title.
  Finding f =
      program("nvcc",
              {environment("CUDACXX"), "nvcc",
               environment("CUDA_PATH").empty() ? "" : environment("CUDA_PATH") + "/bin/nvcc",
               "/usr/local/cuda/bin/nvcc"},
              "builds bundles of target cuda");
  if (!f.where.empty()) {
    ProcessResult r = runProgram({f.where, "--version"}, 10);
    if (size_t at = r.output.find("release "); at != std::string::npos)
      f.version = r.output.substr(at, r.output.find('\n', at) - at);
  }
  return f;
}

Finding cudaDevice() {
  Finding f{"NVIDIA GPU", "", "", "runs bundles of target cuda; without one, --emulate"};
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return f;
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  auto name = reinterpret_cast<int (*)(char*, int, int)>(dlsym(library, "cuDeviceGetName"));
  int devices = 0;
  if (init && count && name && init(0) == 0 && count(&devices) == 0)
    for (int i = 0; i < devices; ++i) {
      char text[256] = {};
      if (name(text, sizeof text, i) == 0)
        f.where += std::string(f.where.empty() ? "" : ", ") + text;
    }
  return f;
}

Finding vulkan() {
  Finding f{"Vulkan", "", "", "runs bundles of targets vulkan and webgpu"};
  if (!dlopen("libvulkan.so.1", RTLD_LAZY | RTLD_LOCAL)) return f;
  f.where = "libvulkan.so.1";
  std::string drivers;
  std::error_code error;
  if (std::string listed = environment("VK_ICD_FILENAMES"); !listed.empty()) {
    drivers = listed;
  } else {
    for (const char* folder :
         {"/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"})
      for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        drivers += (drivers.empty() ? "" : ", ") + it->path().stem().string();
  }
  f.version = drivers.empty() ? "no drivers" : "drivers: " + drivers;
  return f;
}

int doctor(const GlobalOptions& global) {
  std::vector<Finding> findings{
      program("C++ compiler", {findCxx("")}, "builds bundles of target cpu"),
      program("g++", {"g++"}, "builds bundles"),
      program("clang++", {"clang++", "clang++-19"}, "builds bundles"),
      program("cmake", {"cmake"}, "builds bundles as packages"),
      nvcc(),
      cudaDevice(),
      vulkan(),
      program("spirv-val", {"spirv-val"}, "checks bundles of target vulkan"),
      program("node", {environment("ORTC_NODE"), "node"},
              "runs bundles of target webgpu; version 20 or newer"),
      program("arm-none-eabi-g++", {"arm-none-eabi-g++"}, "builds firmware of targets cortex-m*"),
      program("qemu-system-arm", {"qemu-system-arm"}, "runs firmware of targets cortex-m*"),
      program("riscv64-unknown-elf-g++", {"riscv64-unknown-elf-g++"},
              "builds firmware of target rv32"),
      program("qemu-system-riscv32", {"qemu-system-riscv32"}, "runs firmware of target rv32"),
      program("python3", {environment("ORTC_PYTHON"), "python3"}, "makes and checks test cases"),
  };
  if (global.json) {
    llvm::json::Array tools, targets;
    for (const Finding& f : findings)
      tools.push_back(llvm::json::Object{{"tool", f.what},
                                         {"found", !f.where.empty()},
                                         {"path", llvm::json::fixUTF8(f.where)},
                                         {"version", llvm::json::fixUTF8(f.version)},
                                         {"use", f.use}});
    targets.push_back(
        llvm::json::Object{{"target", "reference"}, {"summary", "evaluates tensor IR"}});
    for (auto& [name, summary] : targetNames())
      targets.push_back(llvm::json::Object{{"target", name}, {"summary", summary}});
    printJson(llvm::json::Object{
        {"version", "0.1.0"}, {"targets", std::move(targets)}, {"tools", std::move(tools)}});
    return 0;
  }
  fmt::print("ortc 0.1.0\n\ntargets\n  {:<24} evaluates tensor IR, for checking\n", "reference");
  for (auto& [name, summary] : targetNames())
    fmt::print("  {:<24} {}\n", name, summary);
  fmt::print("\ntools\n");
  for (const Finding& f : findings) {
    if (f.where.empty())
      fmt::print("  {:<24} not found: {}\n", f.what, f.use);
    else
      fmt::print("  {:<24} {}{}{}\n", f.what, f.where, f.version.empty() ? "" : ": ", f.version);
  }
  return 0;
}

} // namespace

void addDoctor(CLI::App& app, GlobalOptions& global, Action& action) {
  CLI::App* c =
      addCommand(app, global, "doctor",
                 "Which targets are built in, and which compilers, devices and runners are here",
                 "  ortc doctor\n  ortc doctor --json\n");
  c->callback([&global, &action] { action = [&global] { return doctor(global); }; });
}

} // namespace ortc::driver
