// SPDX-License-Identifier: Apache-2.0
#include "bench/OnnxRuntime.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

namespace fs = std::filesystem;

namespace ortc::bench {
namespace {

// The table only grows at its end, so the places of these functions hold for every version
// since 12.
enum Slot : size_t {
  GetErrorMessage = 2,
  CreateEnv = 3,
  CreateSession = 7,
  Run = 9,
  CreateSessionOptions = 10,
  SetGraphOptimizationLevel = 23,
  SetIntraOpNumThreads = 24,
  SetInterOpNumThreads = 25,
  CreateTensorWithData = 49,
  CreateCpuMemoryInfo = 69
};
constexpr uint32_t kApiVersion = 12;

struct Base {
  const void* (*getApi)(uint32_t version);
  const char* (*versionText)();
};

} // namespace

struct OnnxRuntime::State {
  void* const* table = nullptr;
  void* session = nullptr;
  std::vector<std::string> names;
  std::vector<const char*> inputNames, outputNames;
  std::vector<void*> inputs, outputs;

  template <class... T> void call(Slot slot, T... args) {
    void* status = reinterpret_cast<void* (*)(T...)>(table[slot])(args...);
    if (!status) return;
    throw std::runtime_error(
        reinterpret_cast<const char* (*)(const void*)>(table[GetErrorMessage])(status));
  }
};

OnnxRuntime::OnnxRuntime(const std::string& library, const std::string& model, int threads,
                         const std::vector<TensorView>& in, const std::vector<TensorView>& out)
    : state(std::make_unique<State>()) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  auto base = reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (!base) throw std::runtime_error(library + " is not ONNX Runtime");
  State& s = *state;
  s.table = static_cast<void* const*>(base()->getApi(kApiVersion));
  if (!s.table) throw std::runtime_error("ONNX Runtime is too old");
  void *env = nullptr, *options = nullptr, *memory = nullptr;
  s.call(CreateEnv, 3 /*errors*/, static_cast<const char*>("compare"), &env);
  s.call(CreateSessionOptions, &options);
  s.call(SetGraphOptimizationLevel, options, 99 /*all*/);
  s.call(SetIntraOpNumThreads, options, threads);
  s.call(SetInterOpNumThreads, options, 1);
  s.call(CreateSession, env, model.c_str(), static_cast<const void*>(options), &s.session);
  s.call(CreateCpuMemoryInfo, 1 /*arena*/, 0 /*default*/, &memory);
  auto wrap = [&](const TensorView& t) {
    void* value = nullptr;
    s.call(CreateTensorWithData, static_cast<const void*>(memory), t.data, t.bytes, t.dims.data(),
           t.dims.size(), t.dtype, &value);
    return value;
  };
  for (const auto* list : {&in, &out})
    for (const TensorView& t : *list)
      s.names.push_back(t.name);
  for (size_t i = 0; i < in.size(); ++i)
    s.inputNames.push_back(s.names[i].c_str()), s.inputs.push_back(wrap(in[i]));
  for (size_t i = 0; i < out.size(); ++i)
    s.outputNames.push_back(s.names[in.size() + i].c_str()), s.outputs.push_back(wrap(out[i]));
}

// What the library holds lives as long as the process: it is measured once and the process ends.
OnnxRuntime::~OnnxRuntime() = default;

void OnnxRuntime::run() {
  State& s = *state;
  s.call(Run, s.session, static_cast<const void*>(nullptr), s.inputNames.data(),
         static_cast<const void* const*>(s.inputs.data()), s.inputs.size(), s.outputNames.data(),
         s.outputs.size(), s.outputs.data());
}

std::string findOnnxRuntime(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = getenv("ORTC_ONNXRUNTIME")) return named;
  std::vector<fs::path> environments;
  if (const char* active = getenv("VIRTUAL_ENV")) environments.push_back(active);
  environments.push_back(fs::path(ORTC_SOURCE_DIR) / ".venv");
  std::error_code error;
  for (const fs::path& environment : environments)
    for (fs::directory_iterator it(environment / "lib", error), end; !error && it != end;
         it.increment(error))
      for (fs::directory_iterator file(it->path() / "site-packages/onnxruntime/capi", error);
           !error && file != end; file.increment(error))
        if (file->path().filename().string().rfind("libonnxruntime.so.", 0) == 0)
          return file->path().string();
  return {};
}

} // namespace ortc::bench
