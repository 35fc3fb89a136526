// SPDX-License-Identifier: Apache-2.0
// compare CASE...: bundles of target cpu beside ONNX Runtime. Each case is compiled and built as a
// user would, checked against its data, and then timed in one process with ONNX Runtime, in turn,
// both with outputs allocated before. Peak memory is that of a child process that loads one of the
// two, runs it once and ends.
#include "bench/Bundle.h"
#include "bench/Measure.h"
#include "bench/OnnxRuntime.h"
#include "compiler/cases/Case.h"
#include "compiler/import/OnnxFile.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

namespace fs = std::filesystem;
using namespace ortc;
using namespace ortc::bench;

namespace {

struct Options {
  std::vector<std::string> cases;
  int threads = 1;
  std::string json, cpu = "native", work, ortc, onnxRuntime;
  std::vector<std::string> flags;
  double seconds = 5;
  bool shapeFromData = false;
};

struct Row {
  std::string name, reason;
  double ort = 0, ours = 0, ratio = 0;
  std::optional<double> maxRel;
  int64_t oursPeak = 0, ortPeak = 0;
  CodeSize code;
  uint64_t weightBytes = 0;
  int rounds = 0;
};

std::string firstError(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::Error) return d.message;
  return "the case cannot be read";
}

std::vector<TensorView> views(const std::vector<CaseValue>& values,
                              const std::vector<std::string>& names,
                              std::vector<std::vector<uint8_t>>& memory) {
  std::vector<TensorView> r;
  for (size_t i = 0; i < values.size(); ++i) {
    const CaseTensor& t = values[i].tensor;
    memory.push_back(t.bytes);
    r.push_back(
        {names[i], static_cast<int32_t>(t.dtype), t.dims, memory.back().data(), t.bytes.size()});
  }
  return r;
}

Row compareCase(const std::string& folder, const Options& o) {
  Row row;
  row.name = folder;
  Diagnostics diagnostics;
  std::optional<Case> theCase = readCase(folder, diagnostics);
  if (!theCase) throw std::runtime_error(firstError(diagnostics));
  if (theCase->dataSets.empty()) throw std::runtime_error("the case has no data");
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(theCase->modelPath, diagnostics);
  if (!file) throw std::runtime_error(firstError(diagnostics));
  const onnx::Graph& graph = file->model().graph;
  std::optional<DataSet> data = readDataSet(theCase->dataSets[0], graph, diagnostics);
  if (!data) throw std::runtime_error(firstError(diagnostics));
  std::vector<std::string> inputNames, outputNames;
  for (const onnx::ValueInfo* v : graph.dataInputs())
    inputNames.push_back(v->name);
  for (const onnx::ValueInfo& v : graph.outputs)
    outputNames.push_back(v.name);

  BuildRequest request{o.ortc, theCase->modelPath, o.flags, ""};
  if (!o.cpu.empty()) request.flags.push_back("--mcpu=" + o.cpu);
  if (o.shapeFromData)
    for (size_t i = 0; i < data->inputs.size(); ++i) {
      std::string sizes;
      for (int64_t d : data->inputs[i].tensor.dims)
        sizes += (sizes.empty() ? "" : "x") + std::to_string(d);
      if (!sizes.empty()) request.flags.push_back("--shape=" + inputNames[i] + "=" + sizes);
    }
  // One folder per model and set of flags, so that both stay built.
  std::string key = fs::absolute(folder).lexically_normal().string();
  for (const std::string& f : request.flags)
    key += "\n" + f;
  request.folder =
      fmt::format("{}/{}-{:016x}", o.work, fs::path(folder).lexically_normal().filename().string(),
                  std::hash<std::string>{}(key));
  const std::string library = buildBundle(request);
  std::string weights = request.folder + "/bundle/weights/model.bin";
  if (std::find(o.flags.begin(), o.flags.end(), "--weights=file") == o.flags.end()) weights.clear();
  row.code = codeSize(library);

  std::vector<std::vector<uint8_t>> memory;
  memory.reserve(data->inputs.size() + graph.outputs.size());
  std::vector<TensorView> inputs = views(data->inputs, inputNames, memory);

  Peak peak = peakOf([&] {
    Bundle bundle(library, weights, o.threads);
    bundle.bind(data->inputs);
  });
  if (!peak.error.empty()) throw std::runtime_error(peak.error);
  row.oursPeak = peak.bytes;

  Bundle bundle(library, weights, o.threads);
  bundle.bind(data->inputs);
  row.weightBytes = bundle.description().weights_bytes;
  if (weights.empty() && row.code.rodata >= row.weightBytes) row.code.rodata -= row.weightBytes;
  std::vector<CaseValue> outputs = bundle.outputs();
  Comparison comparison = compareOutputs(outputs, *data, graph, theCase->expect);
  row.maxRel = comparison.maxRel;
  if (!comparison.passed) throw std::pair(row, comparison.reason);

  std::vector<TensorView> results =
      views(outputs, outputNames, memory); // ONNX Runtime gets room of the same sizes
  peak = peakOf(
      [&] { OnnxRuntime(o.onnxRuntime, theCase->modelPath, o.threads, inputs, results).run(); });
  if (!peak.error.empty()) throw std::pair(row, "ONNX Runtime: " + peak.error);
  row.ortPeak = peak.bytes;

  OnnxRuntime ort(o.onnxRuntime, theCase->modelPath, o.threads, inputs, results);
  Times times =
      timeInterleaved([&] { ort.run(); }, [&] { bundle.run(); }, o.threads == 1, o.seconds);
  row.ort = times.first, row.ours = times.second, row.ratio = times.ratio,
  row.rounds = times.rounds;
  return row;
}

llvm::json::Value orNull(double v, bool known) {
  return known && std::isfinite(v) ? llvm::json::Value(v) : llvm::json::Value(nullptr);
}

llvm::json::Object toJson(const Row& r, int threads) {
  const bool good = r.reason.empty();
  llvm::json::Object o{{"case", llvm::json::fixUTF8(r.name)},
                       {"threads", threads},
                       {"ort_ms", orNull(r.ort, good)},
                       {"ortc_ms", orNull(r.ours, good)},
                       {"ratio", orNull(r.ratio, good)},
                       {"max_rel", orNull(r.maxRel.value_or(0), r.maxRel.has_value())},
                       {"ortc_peak_bytes", orNull(static_cast<double>(r.oursPeak), r.oursPeak > 0)},
                       {"ort_peak_bytes", orNull(static_cast<double>(r.ortPeak), r.ortPeak > 0)},
                       {"code_bytes", static_cast<int64_t>(r.code.text + r.code.rodata)},
                       {"weight_bytes", static_cast<int64_t>(r.weightBytes)}};
  if (!good) o["reason"] = llvm::json::fixUTF8(r.reason);
  return o;
}

int run(Options& o) {
  std::error_code error;
  if (o.ortc.empty())
    o.ortc = (fs::read_symlink("/proc/self/exe", error).parent_path() / "ortc").string();
  o.onnxRuntime = findOnnxRuntime(o.onnxRuntime);
  if (o.onnxRuntime.empty()) {
    fmt::print(stderr, "error: ONNX Runtime is not there\nhelp: `pip install onnxruntime==1.32.0` "
                       "in .venv, or name libonnxruntime.so with --ort\n");
    return 3;
  }
  if (o.work.empty()) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    o.work =
        (cache ? fs::path(cache) : fs::path(home ? home : ".") / ".cache") / "ortc" / "compare";
  }
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
  fmt::print("{:<32} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>8} {:>9}\n", "case", "ort ms",
             "ortc ms", "ratio", "max rel", "ort MB", "ortc MB", "code KB", "weights MB");
  for (const std::string& folder : folders) {
    Row row;
    try {
      row = compareCase(folder, o);
    } catch (const std::pair<Row, std::string>& e) {
      row = e.first, row.reason = e.second;
    } catch (const std::exception& e) {
      row.name = folder, row.reason = e.what();
    }
    const std::string name = fs::path(folder).filename().string();
    if (row.reason.empty())
      fmt::print("{:<32} {:>9.4g} {:>9.4g} {:>7.3f} {:>9.1e} {:>9.1f} {:>9.1f} {:>8.1f} {:>9.2f}\n",
                 name, row.ort, row.ours, row.ratio, *row.maxRel,
                 static_cast<double>(row.ortPeak) / 1e6, static_cast<double>(row.oursPeak) / 1e6,
                 static_cast<double>(row.code.text + row.code.rodata) / 1e3,
                 static_cast<double>(row.weightBytes) / 1e6);
    else
      fmt::print("{:<32} failed: {}\n", name, row.reason), failed = true;
    fflush(stdout);
    list.push_back(toJson(row, o.threads));
  }
  if (!o.json.empty()) {
    llvm::raw_fd_ostream out(o.json, error);
    if (error) {
      fmt::print(stderr, "'{}' cannot be written: {}\n", o.json, error.message());
      return 2;
    }
    out << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"cases", std::move(list)}}))
        << "\n";
  }
  return failed;
}

} // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app(
      "Bundles of target cpu beside ONNX Runtime: checks each case, then times both in turn.",
      "bench/compare");
  app.add_option("cases", o.cases, "Folders of cases")->required()->type_name("CASE...");
  app.add_option("--threads", o.threads,
                 "Threads of each; one: times are CPU time of the thread, more: wall clock")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--json", o.json, "Write the results as JSON")->type_name("FILE");
  app.add_option("--mcpu", o.cpu, "Processor to compile for")->capture_default_str();
  app.add_option("--flag", o.flags, "A further flag of `ortc compile`, as --flag=--weights=file")
      ->allow_extra_args(false);
  app.add_flag("--shape-from-data", o.shapeFromData,
               "Compile for the sizes of the data where the model leaves them free");
  app.add_option("--seconds", o.seconds, "Time per case")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--work", o.work, "Folder for bundles and builds (default: in the user's cache)")
      ->type_name("DIR");
  app.add_option("--ortc", o.ortc, "The compiler (default: the one beside this program)")
      ->type_name("PATH");
  app.add_option("--ort", o.onnxRuntime,
                 "ONNX Runtime's shared library (default: that of the virtual environment)")
      ->type_name("PATH");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    int code = app.exit(e);
    return code ? 2 : 0;
  }
  return run(o);
}
