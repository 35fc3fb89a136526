// SPDX-License-Identifier: Apache-2.0
// footprint CASE...: what a bundle of target cpu costs before it computes. CPU time of `ortc
// compile` and of building its C++ as a user would, with nothing there before; bytes of code; and,
// with the weights in a file that is in the page cache, how much of them `create` touches, and how
// long create and the first run take beside a warm run.
#include "bench/Bundle.h"
#include "bench/Measure.h"
#include "compiler/cases/Case.h"
#include "compiler/cases/RandomInputs.h"
#include "compiler/import/OnnxFile.h"
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace ortc;
using namespace ortc::bench;

namespace {

struct Options {
  std::vector<std::string> cases, flags;
  std::string json, cpu = "x86-64-v3", work, ortc;
};

struct Row {
  std::string name, reason;
  double compile = 0, build = 0, buildFile = 0; // CPU-seconds
  CodeSize code;
  int64_t touched = 0, weights = 0; // bytes of the mapping that are resident after create; of all
  double first = 0, warm = 0, ratio = 0; // ms
};

std::vector<CaseValue> inputsOf(const Case& theCase, const onnx::Graph& graph) {
  Diagnostics diagnostics;
  if (!theCase.dataSets.empty()) {
    if (std::optional<DataSet> data = readDataSet(theCase.dataSets[0], graph, diagnostics))
      return data->inputs;
  } else if (auto random = randomInputs(graph, {}, 1, diagnostics)) {
    return *random;
  }
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::Error) throw std::runtime_error(d.message);
  throw std::runtime_error("there are no inputs");
}

/// Compiles and builds below `folder`; nothing of an earlier build is used.
void makeBundle(const Options& o, const std::string& model, const std::string& folder,
                const std::string& weights, double& compile, double& build) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::vector<std::string> command{o.ortc,         "compile",         model,
                                   "--target=cpu", "--name=model",    "--weights=" + weights,
                                   "-o",           folder + "/bundle"};
  if (!o.cpu.empty()) command.push_back("--mcpu=" + o.cpu);
  command.insert(command.end(), o.flags.begin(), o.flags.end());
  const std::string log = folder + "/log.txt";
  compile = cpuSecondsOf(command, log);
  writeBundleProject(folder);
  cpuSecondsOf({"cmake", "-S", folder, "-B", folder + "/build", "-DCMAKE_BUILD_TYPE=Release",
                "-DCMAKE_CXX_COMPILER_LAUNCHER="},
               log);
  build = cpuSecondsOf({"cmake", "--build", folder + "/build"}, log);
}

/// Resident bytes of what is mapped from a file.
int64_t residentBytesOf(const std::string& file) {
  std::ifstream f("/proc/self/smaps");
  std::string line;
  bool inside = false;
  int64_t kilobytes = 0;
  while (std::getline(f, line)) {
    // "7f..-7f.. r--p ... /path", then lines of "Field:  value kB"
    const bool head = line.find('-') < line.find(' ') && line.find(':') > line.find(' ');
    if (head) inside = line.size() >= file.size() && line.substr(line.size() - file.size()) == file;
    if (inside && line.rfind("Rss:", 0) == 0) kilobytes += std::stoll(line.substr(4));
  }
  return kilobytes * 1024;
}

void measureStart(const std::string& folder, const std::vector<CaseValue>& inputs, Row& row) {
  const std::string library = folder + "/build/libmodel_run.so",
                    file = fs::absolute(folder + "/bundle/weights/model.bin").string();
  const bool hasWeights = fs::exists(file);
  if (hasWeights) { // into the page cache
    std::ifstream f(file, std::ios::binary);
    std::vector<char> chunk(1 << 20);
    while (f.read(chunk.data(), static_cast<std::streamsize>(chunk.size())))
      ;
  }
  std::vector<double> first, warm, ratios;
  for (int process = 0; process < 7; ++process) {
    const Answer answer = inChild([&] {
      if (!dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) throw std::runtime_error(dlerror());
      double start = threadMilliseconds();
      Bundle bundle(library, hasWeights ? file : "", 1);
      const double create = threadMilliseconds() - start;
      const int64_t touched = residentBytesOf(file);
      bundle.prepare(inputs);
      start = threadMilliseconds();
      bundle.run();
      const double run = threadMilliseconds() - start;
      std::vector<double> later;
      for (int i = 0; i < 7; ++i) {
        // A sample of at least a millisecond.
        const int turns = std::max(1, static_cast<int>(1 / std::max(run / 4, 1e-4)));
        start = threadMilliseconds();
        for (int k = 0; k < turns; ++k)
          bundle.run();
        later.push_back((threadMilliseconds() - start) / turns);
      }
      return fmt::format("{} {} {}", create + run, median(later), touched);
    });
    if (!answer.error.empty()) throw std::runtime_error(answer.error);
    double a = 0, b = 0;
    long touched = 0;
    sscanf(answer.text.c_str(), "%lf %lf %ld", &a, &b, &touched);
    first.push_back(a), warm.push_back(b), ratios.push_back(a / b);
    row.touched = std::max<int64_t>(row.touched, touched);
  }
  row.first = median(first), row.warm = median(warm), row.ratio = median(ratios);
  row.weights = hasWeights ? static_cast<int64_t>(fs::file_size(file)) : 0;
}

Row footprintOf(const std::string& folder, const Options& o) {
  Row row;
  row.name = folder;
  Diagnostics diagnostics;
  std::optional<Case> theCase = readCase(folder, diagnostics);
  if (!theCase) throw std::runtime_error("the case cannot be read");
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(theCase->modelPath, diagnostics);
  if (!file) throw std::runtime_error("the model cannot be read");
  const std::vector<CaseValue> inputs = inputsOf(*theCase, file->model().graph);
  const std::string work = o.work + "/" + std::to_string(getpid());
  double compileFile = 0;
  makeBundle(o, theCase->modelPath, work, "embed", row.compile, row.build);
  makeBundle(o, theCase->modelPath, work, "file", compileFile, row.buildFile);
  row.code = codeSize(work + "/build/libmodel_run.so");
  measureStart(work, inputs, row);
  fs::remove_all(work);
  return row;
}

int run(Options& o) {
  std::error_code error;
  if (o.ortc.empty())
    o.ortc = (fs::read_symlink("/proc/self/exe", error).parent_path() / "ortc").string();
  if (o.work.empty()) o.work = (fs::temp_directory_path() / "ortc-footprint").string();
  std::vector<std::string> folders;
  for (const std::string& c : o.cases) {
    std::vector<std::string> below = findCases(c);
    if (below.empty()) {
      fmt::print(stderr, "{}: error: no folder here holds a model.onnx\n", c);
      return 2;
    }
    folders.insert(folders.end(), below.begin(), below.end());
  }
  llvm::json::Array list;
  bool failed = false;
  fmt::print("{}\n", processorText());
  fmt::print("{:<28} {:>9} {:>8} {:>8} {:>8} {:>11} {:>9} {:>8} {:>6}\n", "case", "compile s",
             "build s", "(file) s", "code KB", "touched KB", "first ms", "warm ms", "ratio");
  for (const std::string& folder : folders) {
    Row r;
    try {
      r = footprintOf(folder, o);
    } catch (const std::exception& e) {
      r.name = folder, r.reason = e.what();
    }
    llvm::json::Object json{{"case", llvm::json::fixUTF8(r.name)}};
    const std::string name = fs::path(folder).lexically_normal().filename().string();
    if (r.reason.empty()) {
      fmt::print("{:<28} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.1f} {:>11} {:>9.4g} {:>8.4g} {:>6.2f}\n",
                 name, r.compile, r.build, r.buildFile,
                 static_cast<double>(r.code.text + r.code.rodata) / 1e3, r.touched / 1024, r.first,
                 r.warm, r.ratio);
      json["compile_cpu_s"] = r.compile;
      json["build_cpu_s"] = r.build;
      json["build_cpu_s_weights_in_file"] = r.buildFile;
      json["code_bytes"] = static_cast<int64_t>(r.code.text + r.code.rodata);
      json["weights_file_bytes"] = r.weights;
      json["weights_resident_after_create_bytes"] = r.touched;
      json["create_and_first_run_ms"] = r.first;
      json["warm_run_ms"] = r.warm;
      json["ratio"] = r.ratio;
    } else {
      fmt::print("{:<28} failed: {}\n", name, r.reason);
      json["reason"] = llvm::json::fixUTF8(r.reason);
      failed = true;
    }
    fflush(stdout);
    list.push_back(std::move(json));
  }
  if (!o.json.empty()) {
    llvm::raw_fd_ostream out(o.json, error);
    if (error) {
      fmt::print(stderr, "'{}' cannot be written: {}\n", o.json, error.message());
      return 2;
    }
    out << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                      {"cpu", llvm::json::fixUTF8(processorText())},
                                      {"mcpu", o.cpu},
                                      {"cases", std::move(list)}}))
        << "\n";
  }
  return failed;
}

} // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("What bundles of target cpu cost: CPU-seconds of compiling and building, bytes of "
               "code, and the way to the first result.",
               "bench/footprint");
  app.add_option("cases", o.cases, "Folders of cases")->required()->type_name("CASE...");
  app.add_option("--json", o.json, "Write the results as JSON")->type_name("FILE");
  app.add_option("--mcpu", o.cpu, "Processor to compile for")->capture_default_str();
  app.add_option("--flag", o.flags, "A further flag of `ortc compile`")->allow_extra_args(false);
  app.add_option("--work", o.work, "Folder for bundles and builds, removed afterwards")
      ->type_name("DIR");
  app.add_option("--ortc", o.ortc, "The compiler (default: the one beside this program)")
      ->type_name("PATH");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    int code = app.exit(e);
    return code ? 2 : 0;
  }
  return run(o);
}
