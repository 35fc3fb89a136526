// SPDX-License-Identifier: Apache-2.0
// Many small bundles become one source file: each in a namespace of its own, behind all headers, so
// that these are parsed once, and with one copy of the runtime. A large bundle is built file by
// file.
#include "compiler/driver/CxxRunner.h"
#include "compiler/driver/BuildCache.h"
#include "compiler/driver/BundleSession.h"
#include "compiler/driver/Tools.h"
#include "compiler/driver/WorkerPool.h"
#include "compiler/import/OnnxFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>
#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace ortc::driver {
namespace {

struct Source {
  std::string path; // below the bundle's folder
  std::vector<std::string> options;
};

struct Manifest {
  std::vector<Source> sources;
  std::vector<std::string> options, includeFolders, libraries;

  bool isSmall() const {
    return std::count_if(sources.begin(), sources.end(),
                         [](const Source& s) { return !isRuntime(s); }) == 1;
  }
  static bool isRuntime(const Source& s) { return s.path.rfind("runtime/", 0) == 0; }
};

std::optional<Manifest> readManifest(const std::string& folder) {
  auto buffer = llvm::MemoryBuffer::getFile(folder + "/manifest.json");
  if (!buffer) return std::nullopt;
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object* o = json->getAsObject();
  Manifest m;
  auto strings = [](const llvm::json::Object* from, const char* key,
                    std::vector<std::string>& into) {
    if (const llvm::json::Array* a = from ? from->getArray(key) : nullptr)
      for (const llvm::json::Value& v : *a)
        into.push_back(v.getAsString().value_or("").str());
  };
  if (const llvm::json::Array* a = o ? o->getArray("sources") : nullptr)
    for (const llvm::json::Value& v : *a) {
      Source s;
      if (const llvm::json::Object* one = v.getAsObject()) { // built with options of its own
        s.path = one->getString("path").value_or("").str();
        strings(one, "compile_options", s.options);
      } else {
        s.path = v.getAsString().value_or("").str();
      }
      m.sources.push_back(s);
    }
  strings(o, "compile_options", m.options);
  strings(o, "libraries", m.libraries);
  strings(o, "include_dirs", m.includeFolders);
  strings(o, "private_include_dirs", m.includeFolders);
  return m;
}

std::string readText(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

class CxxRunner final : public DeviceRunner {
public:
  CxxRunner(const CompileOptions& options, std::string workFolder, int threads, CxxTraits traits)
      : options(options), work(std::move(workFolder)), threads(threads), traits(std::move(traits)),
        cache(!options.noCache, work) {}

  std::string label() const override { return traits.label; }
  size_t bundlesPerBuild() const override { return traits.bundlesPerBuild; }

  void require() override {
    compiler = findCxx(options.cxx);
    if (compiler.empty()) {
      const char* variable = getenv("CXX");
      const std::string named = !options.cxx.empty() ? options.cxx : variable ? variable : "";
      throw MissingTool{named.empty() ? "no C++ compiler was found"
                                      : fmt::format("the C++ compiler '{}' was not found", named),
                        "install g++ or clang++, or name one with --cxx or CXX"};
    }
    compilerVersion = versionOf(compiler);
    cache.trim(uint64_t{8} << 30);
  }

  bool build(const std::vector<Bundle>& bundles, std::string& artefact, std::string& log) override {
    std::vector<Manifest> manifests;
    for (const Bundle& b : bundles) {
      std::optional<Manifest> m = readManifest(b.folder);
      if (!m || m->sources.empty()) {
        log = "the bundle of '" + b.name + "' has no manifest that lists its sources";
        return false;
      }
      manifests.push_back(std::move(*m));
    }
    const bool together = bundles.size() > 1 || manifests[0].isSmall();
    for (const Manifest& m : manifests)
      if (together && !m.isSmall()) {
        log = "a large bundle cannot be built together with others";
        return false;
      }
    std::string runtimeKey = keyOfHeaders(bundles[0]);
    std::string key = keyOf(bundles, manifests, runtimeKey);
    artefact = cache.find(key);
    if (!artefact.empty()) return true;

    const fs::path folder = fs::path(work) / ("build-" + key.substr(0, 16));
    std::error_code error;
    fs::create_directories(folder, error);
    // Sources that are the same in every build (runtime, emulator) become objects of the cache.
    std::vector<std::vector<std::string>> commands;
    std::vector<std::string> objects, keys;
    auto compile = [&](const std::string& source, const std::vector<std::string>& sourceOptions,
                       const std::string& level, bool shared) {
      std::vector<std::string> c{compiler, "-std=c++17", level, "-fPIC", "-w"};
      for (const std::vector<std::string>* list :
           {static_cast<const std::vector<std::string>*>(&traits.flags),
            static_cast<const std::vector<std::string>*>(&manifests[0].options), &sourceOptions})
        c.insert(c.end(), list->begin(), list->end());
      // A program for one of several processors brings a prefix of its own.
      if (llvm::none_of(sourceOptions,
                        [](llvm::StringRef o) { return o.starts_with("-DORTC_RT_PREFIX="); }))
        c.push_back("-DORTC_RT_PREFIX=" +
                    (bundles.size() == 1 ? bundles[0].name : std::string("ortc_unit")));
      std::string objectKey;
      if (shared) {
        BuildKey key;
        key.add(compilerVersion).add(runtimeKey);
        for (const std::string& word : c)
          key.add(word);
        objectKey = key.addFile(source).hex() + ".o";
        if (std::string found = cache.find(objectKey); !found.empty()) {
          objects.push_back(found);
          return;
        }
      }
      if (!shared) c.insert(c.end(), traits.kernelFlags.begin(), traits.kernelFlags.end());
      std::string object = (folder / fmt::format("{}.o", objects.size())).string();
      for (const std::string& f : traits.includeFolders)
        c.push_back("-I" + f);
      for (size_t i = 0; i < bundles.size(); ++i) {
        // One copy of the runtime serves all; only the model's own headers differ.
        for (const std::string& d : manifests[i].includeFolders)
          if (i == 0 || d == "include") c.push_back("-I" + bundles[i].folder + "/" + d);
        if (i == 0)
          for (const std::string& d : traits.bundleFolders)
            c.push_back("-I" + bundles[i].folder + "/" + d);
        if (shared) break;
        c.push_back("-I" + bundles[i].folder); // of weights that are linked in
        c.push_back("-Wa,-I" + bundles[i].folder);
      }
      for (const std::string& word : {std::string("-c"), std::string("-o"), object, source})
        c.push_back(word);
      commands.push_back(std::move(c));
      objects.push_back(object);
      keys.push_back(objectKey);
    };
    if (together) {
      const std::string unit = (folder / "unit.cpp").string();
      std::error_code e;
      llvm::raw_fd_ostream(unit, e) << unityText(bundles, manifests);
      compile(unit, {}, "-O1", false);
    } else {
      for (const Source& s : manifests[0].sources)
        if (!Manifest::isRuntime(s))
          compile(bundles[0].folder + "/" + s.path, s.options, "-O2", false);
    }
    for (const Source& s : manifests[0].sources)
      if (Manifest::isRuntime(s)) compile(bundles[0].folder + "/" + s.path, s.options, "-O2", true);
    for (const std::string& s : traits.extraSources)
      compile(s, {}, "-O2", true);

    if (!runAll(commands,
                together ? 1 : static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
                log))
      return false;
    for (size_t i = 0; i < commands.size(); ++i)
      if (!keys[i].empty()) {
        const std::string object = commands[i][commands[i].size() - 2];
        std::replace(objects.begin(), objects.end(), object, cache.put(keys[i], object));
      }
    std::string library = (folder / "bundle.so").string();
    std::vector<std::string> link{compiler, "-shared", "-o", library, "-Wl,--no-undefined"};
    link.insert(link.end(), objects.begin(), objects.end());
    link.insert(link.end(), traits.libraries.begin(), traits.libraries.end());
    for (const Manifest& m : manifests)
      for (const std::string& library : m.libraries)
        link.push_back("-l" + library);
    for (const char* l : {"-pthread", "-ldl", "-lm"})
      link.push_back(l);
    if (!runAll({link}, 1, log)) return false;
    artefact = cache.put(key, library);
    if (artefact != library) fs::remove_all(folder, error);
    return true;
  }

  std::unique_ptr<Session> load(const Bundle& bundle, const std::string& artefact,
                                Diagnostics& diagnostics) override {
    Diagnostics::FileScope scope(diagnostics, bundle.model);
    std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(bundle.model, diagnostics);
    if (!file) return nullptr;
    void* library = dlopen(artefact.c_str(), RTLD_NOW | RTLD_LOCAL);
    using Model = const ortc_model* (*)();
    auto model = library ? reinterpret_cast<Model>(dlsym(library, (bundle.name + "_model").c_str()))
                         : nullptr;
    if (!model) {
      const char* why = dlerror();
      diagnostics.error("", "what was built cannot be loaded: {}; this is a fault of ortc",
                        why ? why : "no reason was given");
      return nullptr;
    }
    std::string weights = bundle.folder + "/weights/" + bundle.name + ".bin";
    if (options.weights != "file" || !fs::exists(weights)) weights.clear();
    return openBundle(model(), file->model().graph, threads, weights, nullptr, diagnostics);
  }

private:
  const CompileOptions& options;
  std::string work, compiler, compilerVersion;
  int threads;
  CxxTraits traits;
  BuildCache cache;

  /// Of the runtime, which is the same in all bundles, and of what the target adds.
  std::string keyOfHeaders(const Bundle& bundle) {
    BuildKey key;
    std::vector<std::string> folders{bundle.folder + "/runtime", bundle.folder + "/include/ortc"},
        headers;
    folders.insert(folders.end(), traits.includeFolders.begin(), traits.includeFolders.end());
    for (const std::string& f : folders) {
      std::error_code error;
      for (fs::recursive_directory_iterator it(f, error), end; !error && it != end;
           it.increment(error))
        if (it->is_regular_file()) headers.push_back(it->path().string());
    }
    std::sort(headers.begin(), headers.end());
    for (const std::string& h : headers)
      key.addFile(h);
    return key.hex();
  }

  std::string keyOf(const std::vector<Bundle>& bundles, const std::vector<Manifest>& manifests,
                    const std::string& runtimeKey) {
    BuildKey key;
    key.add("2").add(runtimeKey).add(compiler).add(compilerVersion).add(traits.label);
    for (const auto* list : {&traits.flags, &traits.kernelFlags, &traits.includeFolders,
                             &traits.extraSources, &traits.libraries})
      for (const std::string& s : *list)
        key.add(s);
    for (const std::string& s : traits.extraSources)
      key.addFile(s);
    for (size_t i = 0; i < bundles.size(); ++i) {
      // The manifest has the hash of the weights. The runtime is the same in all bundles.
      key.add(bundles[i].name).addFile(bundles[i].folder + "/manifest.json");
      for (const Source& s : manifests[i].sources)
        if (i == 0 || !Manifest::isRuntime(s)) key.addFile(bundles[i].folder + "/" + s.path);
      // Catalogue kernels: headers, of which each bundle has those that it uses.
      std::vector<std::string> kernels;
      std::error_code error;
      for (fs::recursive_directory_iterator it(bundles[i].folder + "/kernels", error), end;
           !error && it != end; it.increment(error))
        if (it->is_regular_file()) kernels.push_back(it->path().string());
      std::sort(kernels.begin(), kernels.end());
      for (const std::string& k : kernels)
        key.addFile(k);
    }
    return key.hex();
  }

  /// All sources behind all headers, each in its namespace: what its includes would bring inside is
  /// there already.
  std::string unityText(const std::vector<Bundle>& bundles,
                        const std::vector<Manifest>& manifests) {
    std::set<std::string> headers;
    std::string body;
    for (size_t i = 0; i < bundles.size(); ++i) {
      const Source* main = nullptr;
      for (const Source& s : manifests[i].sources)
        if (!Manifest::isRuntime(s)) main = &s;
      const std::string path = bundles[i].folder + "/" + main->path;
      llvm::StringRef rest;
      const std::string text = readText(path);
      for (rest = text; !rest.empty();) {
        auto [line, after] = rest.split('\n');
        rest = after;
        if (line.starts_with("#include <")) headers.insert(line.str());
        // The model's own header, its weights and its shaders stay where they are.
        else if (line.starts_with("#include \"") && !line.contains("\"" + bundles[i].name + "/") &&
                 !line.ends_with(".inc\""))
          headers.insert(line.str());
      }
      body += fmt::format("namespace unit_{0} {{\n#include \"{1}\"\n}} // namespace unit_{0}\n",
                          bundles[i].name, path);
    }
    std::string all = "#include \"ortc/ortc.h\"\n";
    for (const std::string& h : headers)
      all += h + "\n";
    return all + body;
  }

  /// False: the output of those that failed is in `log`.
  bool runAll(const std::vector<std::vector<std::string>>& commands, unsigned jobs,
              std::string& log) {
    bool ok = true;
    runInWorkers(
        commands.size(), jobs, {1800, 0},
        [&](size_t i) {
          ProcessResult r = runProgram(commands[i], 1800);
          if (r.exitCode != 0 && r.output.find_first_not_of(" \n") == std::string::npos)
            r.output = fmt::format("{} ended with exit code {} and said nothing", commands[i][0],
                                   r.exitCode);
          return (r.exitCode == 0 ? "0" : "1") + r.output;
        },
        [&](size_t i, WorkerResult r) {
          if (r.failure.empty() && !r.output.empty() && r.output[0] == '0') return;
          ok = false;
          log += (r.failure.empty() ? r.output.substr(1) : commands[i].back() + ": " + r.failure) +
                 "\n";
        });
    return ok;
  }
};

} // namespace

std::unique_ptr<DeviceRunner> makeCxxRunner(const CompileOptions& options,
                                            const std::string& workFolder, int threads,
                                            CxxTraits traits) {
  return std::make_unique<CxxRunner>(options, workFolder, threads, std::move(traits));
}

std::unique_ptr<DeviceRunner> makeCxxRunner(const CompileOptions& options,
                                            const std::string& workFolder, int threads) {
  CxxTraits traits;
  traits.label = options.target;
  return makeCxxRunner(options, workFolder, threads, std::move(traits));
}

} // namespace ortc::driver
