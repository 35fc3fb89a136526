// SPDX-License-Identifier: Apache-2.0
// ortc inspect: what is in a model. Weights are counted, never read: a file of any size costs no
// memory.
#include "compiler/driver/CompileOptions.h"
#include "compiler/import/OnnxFile.h"
#include "compiler/ops/AllOps.h"
#include "compiler/support/Names.h"
#include <map>
#include <memory>
#include <set>

using namespace mlir;

namespace ortc::driver {
namespace {

struct Counts {
  std::map<std::string, int64_t> operators; // with the domain where it is not ai.onnx
  int64_t nodes = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> weights; // element type -> elements, bytes
  int64_t parameters = 0, weightBytes = 0;
  std::set<std::string> externalFiles;

  void add(const onnx::TensorData& t) {
    auto& [elements, bytes] = weights[std::string(dtypeName(t.dtype))];
    int64_t size = static_cast<int64_t>(t.bytes.size());
    for (const std::string& s : t.strings)
      size += static_cast<int64_t>(s.size());
    elements += t.elementCount(), bytes += size;
    parameters += t.elementCount(), weightBytes += size;
    if (!t.externalFile.empty()) externalFiles.insert(t.externalFile);
  }
  void add(const onnx::Node& n) {
    ++nodes;
    ++operators[n.domain.empty() ? n.opType : n.domain + "." + n.opType];
    for (const onnx::Attribute& a : n.attributes) {
      for (const onnx::TensorData& t : a.tensors)
        add(t);
      for (const auto& g : a.graphs)
        add(*g);
    }
  }
  void add(const onnx::Graph& g) {
    for (const onnx::TensorData& t : g.initializers)
      add(t);
    for (const onnx::SparseTensor& s : g.sparseInitializers)
      add(s.values);
    for (const onnx::Node& n : g.nodes)
      add(n);
  }
};

struct Work {
  bool known = false;
  std::string why;         // when not known
  double multiplyAdds = 0; // of products and convolutions
  double flops = 0; // all: two for a multiply-add, one for each operation of an elementwise body
  bool freeSizesAreOne = false;
};

double elements(mlir::Type type) {
  double n = 1;
  for (int64_t d : cast<RankedTensorType>(type).getShape())
    n *= ShapedType::isDynamic(d) ? 1 : static_cast<double>(d);
  return n;
}

/// Counts on tensor IR, where every operator is a formula. Free sizes are taken to be 1.
Work countWork(const onnx::OnnxFile& file, const PipelineOptions& given) {
  Work work;
  PipelineOptions options = given;
  options.emitIr = "import"; // before constants are folded: that would read weights
  for (const onnx::ValueInfo* input : file.model().graph.dataInputs()) {
    if (!input->type.isTensor() || !input->type.shape) continue;
    for (size_t i = 0; i < input->type.shape->size(); ++i) {
      const onnx::Dim& d = (*input->type.shape)[i];
      auto fixed = given.import.shapes.find(input->name);
      if (d.value ||
          (fixed != given.import.shapes.end() && i < fixed->second.size() && fixed->second[i] >= 0))
        continue;
      std::string name = d.param.empty() ? input->name + "." + std::to_string(i) : d.param;
      auto [it, added] = options.import.dims.emplace(name, std::pair<int64_t, int64_t>(1, 1));
      if (!added)
        it->second.first = it->second.second; // a range: its upper end
      else
        work.freeSizesAreOne = true;
    }
  }
  MLIRContext context;
  context.disableMultithreading();
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> module = buildTensorIr(file, context, options, diagnostics);
  if (!module) {
    for (const Diagnostic& d : diagnostics.all())
      if (d.severity == Severity::Error && work.why.empty())
        work.why = (d.location.empty() ? "" : d.location + ": ") + d.message;
    return work;
  }
  work.known = true;
  module->walk([&](Operation* op) {
    if (auto contract = dyn_cast<ContractOp>(op)) {
      double n = elements(contract.getResult().getType());
      for (unsigned loop : contract.reductionLoops()) {
        auto [operand, dim] = contract.extentOf(loop);
        int64_t extent =
            cast<RankedTensorType>(contract->getOperand(operand).getType()).getDimSize(dim);
        n *= ShapedType::isDynamic(extent) ? 1 : static_cast<double>(extent);
      }
      work.multiplyAdds += n;
    } else if (auto conv = dyn_cast<ConvOp>(op)) {
      auto weights = cast<RankedTensorType>(conv.getWeights().getType());
      double perOutput = elements(weights) / std::max<int64_t>(1, weights.getDimSize(0));
      work.multiplyAdds += elements(conv.getResult().getType()) * perOutput;
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      double n = 1;
      for (int64_t r : generic.getStaticLoopRanges())
        n *= ShapedType::isDynamic(r) ? 1 : static_cast<double>(r);
      double operations = 0;
      generic.getRegion().walk([&](Operation* inner) {
        if (!isa<arith::ConstantOp>(inner) &&
            isa_and_nonnull<arith::ArithDialect, math::MathDialect>(inner->getDialect()) &&
            inner->getNumResults() == 1 && isa<FloatType>(inner->getResult(0).getType()))
          ++operations;
      });
      work.flops += n * operations;
    }
  });
  work.flops += 2 * work.multiplyAdds;
  return work;
}

std::string humanBytes(double n) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (n >= 1024 && u < 4)
    n /= 1024, ++u;
  return u ? fmt::format("{:.1f} {}", n, units[u]) : fmt::format("{:.0f} B", n);
}
std::string humanCount(double n) {
  const char* units[] = {"", " k", " M", " G", " T"};
  int u = 0;
  while (n >= 1000 && u < 4)
    n /= 1000, ++u;
  return u ? fmt::format("{:.2f}{}", n, units[u]) : fmt::format("{:.0f}", n);
}

int inspect(const GlobalOptions& global, const std::string& path, const CompileOptions& compile) {
  PipelineOptions options = pipelineOptions(compile);
  Diagnostics diagnostics(path);
  std::unique_ptr<onnx::OnnxFile> file = onnx::OnnxFile::open(path, diagnostics);
  if (!file) return finish(global, diagnostics);
  const onnx::Model& model = file->model();
  if (!checkSizeOptions(model.graph, options.import, diagnostics))
    return finish(global, diagnostics);
  Counts counts;
  counts.add(model.graph);
  for (const onnx::Function& f : model.functions)
    for (const onnx::Node& n : f.nodes)
      counts.add(n);
  Work work = countWork(*file, options);
  uint64_t fileBytes = 0;
  for (const onnx::OnnxFile::Part& part : file->parts())
    fileBytes += part.bytes.size();

  if (global.json) {
    llvm::json::Object o{{"file", llvm::json::fixUTF8(path)},
                         {"bytes", static_cast<int64_t>(fileBytes)},
                         {"ir_version", model.irVersion},
                         {"producer", llvm::json::fixUTF8(escapeControls(model.producerName + " " +
                                                                         model.producerVersion))},
                         {"nodes", counts.nodes},
                         {"functions", static_cast<int64_t>(model.functions.size())},
                         {"parameters", counts.parameters},
                         {"weight_bytes", counts.weightBytes}};
    llvm::json::Object opsets, operators, weights;
    for (const onnx::OpsetImport& opset : model.opsets)
      opsets[opset.domain.empty() ? "ai.onnx" : llvm::json::fixUTF8(opset.domain)] = opset.version;
    for (auto& [name, n] : counts.operators)
      operators[llvm::json::fixUTF8(escapeControls(name))] = n;
    for (auto& [type, n] : counts.weights)
      weights[type] = llvm::json::Object{{"elements", n.first}, {"bytes", n.second}};
    auto values = [](const auto& list, auto&& info) {
      llvm::json::Array a;
      for (const auto& v : list)
        a.push_back(llvm::json::Object{
            {"name", llvm::json::fixUTF8(escapeControls(info(v).name))},
            {"type", llvm::json::fixUTF8(escapeControls(onnx::typeText(info(v).type)))}});
      return a;
    };
    o["opsets"] = std::move(opsets), o["operators"] = std::move(operators),
    o["weights"] = std::move(weights);
    o["inputs"] = values(model.graph.dataInputs(),
                         [](const onnx::ValueInfo* v) -> const onnx::ValueInfo& { return *v; });
    o["outputs"] = values(model.graph.outputs,
                          [](const onnx::ValueInfo& v) -> const onnx::ValueInfo& { return v; });
    if (work.known)
      o["flops"] = work.flops, o["multiply_adds"] = work.multiplyAdds,
      o["free_sizes_taken_as_one"] = work.freeSizesAreOne;
    else
      o["flops"] = nullptr,
      o["flops_unknown_because"] = llvm::json::fixUTF8(escapeControls(work.why));
    return finish(global, diagnostics, std::move(o));
  }

  fmt::print("{}: {}, IR version {}", escapeControls(path),
             humanBytes(static_cast<double>(fileBytes)), model.irVersion);
  for (const onnx::OpsetImport& opset : model.opsets)
    fmt::print(", {} opset {}", escapeControls(opset.domain.empty() ? "ai.onnx" : opset.domain),
               opset.version);
  if (!model.producerName.empty())
    fmt::print(", by {} {}", escapeControls(model.producerName),
               escapeControls(model.producerVersion));
  fmt::print("\n");
  for (const onnx::ValueInfo* v : model.graph.dataInputs())
    fmt::print("  input   {} {}\n", quoteName(v->name), escapeControls(onnx::typeText(v->type)));
  for (const onnx::ValueInfo& v : model.graph.outputs)
    fmt::print("  output  {} {}\n", quoteName(v.name), escapeControls(onnx::typeText(v.type)));
  fmt::print("  weights {} parameters, {}", humanCount(static_cast<double>(counts.parameters)),
             humanBytes(static_cast<double>(counts.weightBytes)));
  const char* separator = ": ";
  for (auto& [type, n] : counts.weights) {
    fmt::print("{}{} {}", separator, type, humanBytes(static_cast<double>(n.second)));
    separator = ", ";
  }
  fmt::print("\n");
  for (const std::string& name : counts.externalFiles)
    fmt::print("  external data in {}\n", quoteName(name));
  if (work.known)
    fmt::print("  work    {} FLOPs, {} multiply-adds{}\n", humanCount(work.flops),
               humanCount(work.multiplyAdds),
               work.freeSizesAreOne ? " (free sizes taken as 1)" : "");
  else
    fmt::print("  work    not known{}: {}\n",
               work.freeSizesAreOne ? " with free sizes taken as 1; give them with --shape or --dim"
                                    : "",
               escapeControls(work.why));
  fmt::print("  {} nodes", counts.nodes);
  if (!model.functions.empty()) fmt::print(", {} functions", model.functions.size());
  fmt::print("\n");
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (auto& [name, n] : counts.operators)
    sorted.push_back({-n, name});
  std::sort(sorted.begin(), sorted.end());
  for (auto& [n, name] : sorted)
    fmt::print("  {:7} {}\n", -n, escapeControls(name));
  fflush(stdout);
  return finish(global, diagnostics);
}

} // namespace

void addInspect(CLI::App& app, GlobalOptions& global, Action& action) {
  auto path = std::make_shared<std::string>();
  auto compile = std::make_shared<CompileOptions>();
  CLI::App* c = addCommand(app, global, "inspect",
                           "What is in a model: operators, sizes, parameters, FLOPs, bytes",
                           "  ortc inspect model.onnx\n"
                           "  ortc inspect encoder.onnx --dim batch=1 --dim sequence=128 --json\n");
  c->add_option("model", *path, "ONNX file")->required()->type_name("MODEL");
  c->add_option("--shape", compile->shapes, "Sizes of an input, for counting: x=1x3x224x224")
      ->type_name("X=SIZES")
      ->allow_extra_args(false);
  c->add_option("--dim", compile->dims, "Size of a named dimension, for counting: batch=8")
      ->type_name("N=SIZE")
      ->allow_extra_args(false);
  c->callback([&global, &action, path, compile] {
    action = [&global, path, compile] { return inspect(global, *path, *compile); };
  });
}

} // namespace ortc::driver
