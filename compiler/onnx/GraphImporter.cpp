// SPDX-License-Identifier: Apache-2.0
// Walks the graph, calls one op definition per node, expands functions, and keeps names in scopes.
// An error in one node ends the import: what follows would be errors about the error.
#include "compiler/onnx/GraphImporter.h"
#include "compiler/evaluate/Simplify.h"
#include "compiler/import/OpSchemas.h"
#include "compiler/onnx/ControlFlow.h"
#include "compiler/onnx/NodeBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"
#include <set>
#include <unordered_map>

using namespace mlir;

namespace ortc {
namespace {

using namespace opdef;

/// How often the rest of a graph may be copied into the branches of an If, counted in nodes.
constexpr uint64_t kCopiedNodesBudget = 200000;

struct ImportFailure {}; // already reported

class Importer final : public GraphImporter {
public:
  Importer(const onnx::OnnxFile& file, MLIRContext& context, const ImportOptions& options,
           Diagnostics& diagnostics)
      : file(file), options(options), reports(&diagnostics), b(&context) {}

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
    try {
      importMain(*module);
    } catch (ImportFailure&) {
      return nullptr;
    }
    return module;
  }

  std::vector<Tensor> importSubgraph(const Graph& graph, ArrayRef<Tensor> arguments) override {
    if (arguments.size() != graph.inputs.size())
      throw NodeError{fmt::format("the subgraph has {} inputs, but {} are given",
                                  graph.inputs.size(), arguments.size()),
                      {}};
    Scope scope(*this);
    for (auto [info, t] : llvm::zip(graph.inputs, arguments))
      scopes.back()[info.name] = t;
    addInitializers(graph);
    return importFrom(graph, graph.nodes, 0);
  }

  void warn(const Node& node, const std::string& message) override {
    reports->warning(node.describe(), "{}", message);
  }
  Value simplify(Value built) override { return simplifyBuilt(b, built); }

private:
  using Names = std::unordered_map<std::string, Tensor>;
  struct Scope {
    Importer& i;
    explicit Scope(Importer& i) : i(i) { i.scopes.emplace_back(); }
    ~Scope() { i.scopes.pop_back(); }
  };

  const onnx::OnnxFile& file;
  const ImportOptions& options;
  Diagnostics* reports; // where errors go; another one while a branch is tried
  OpBuilder b;
  std::vector<Names> scopes;
  /// Outputs that an operator's definition leaves out, with the node and what to say when one is
  /// read after all.
  std::unordered_map<std::string, std::pair<std::string, std::string>> notComputed;
  uint64_t copiedNodes = 0;
  std::vector<const onnx::Function*> calls; // functions being expanded

  template <typename... T>
  [[noreturn]] void fail(std::string_view where, fmt::format_string<T...> format, T&&... args) {
    reports->error(where, format, std::forward<T>(args)...);
    throw ImportFailure();
  }

  const Tensor* find(const std::string& name) {
    for (size_t s = scopes.size(); s-- > 0;)
      if (auto it = scopes[s].find(name); it != scopes[s].end()) return &it->second;
    return nullptr;
  }

  // ---- inputs ----

  Type elementType(DType t, Location loc, const std::string& where) {
    static const Node none{};
    try {
      return NodeBuilder(none, b, loc, *this, {}).typeOf(t);
    } catch (NodeError& e) {
      fail(where, "{}", e.message);
    }
  }

  Type valueType(const onnx::Type& t, Location loc, const std::string& where) {
    switch (t.kind) {
    case onnx::Type::Kind::Sequence:
      return ListType::get(b.getContext(), valueType(*t.element, loc, where));
    case onnx::Type::Kind::Map:
      return MapType::get(b.getContext(), elementType(t.dtype, loc, where),
                          valueType(*t.element, loc, where));
    case onnx::Type::Kind::Tensor: break;
    default: fail(where, "values of type {} are not supported", onnx::typeText(t));
    }
    if (!t.shape) fail(where, "the rank of this input is not known; fix its sizes with --shape");
    SmallVector<int64_t> shape;
    for (const onnx::Dim& d : *t.shape)
      shape.push_back(d.value.value_or(ShapedType::kDynamic));
    if (isTooLarge(shape)) fail(where, "{} is too large", onnx::typeText(t));
    return RankedTensorType::get(shape, elementType(t.dtype, loc, where));
  }

  /// An input of the file, and what it is made of: itself, the elements of a sequence, or nothing.
  struct InputParts {
    enum class Kind : uint8_t { Plain, Sequence, Absent } kind = Kind::Plain;
    std::string name;
    DType dtype = DType::Undefined;
    std::vector<onnx::ValueInfo> parts;
  };

  /// Sequences have as many elements as --shape speaks of, and optionals a value unless it says
  /// that they have none: both are known while compiling.
  InputParts partsOf(const onnx::ValueInfo& info) {
    InputParts r{InputParts::Kind::Plain, info.name, info.type.dtype, {info}};
    onnx::Type type = info.type;
    if (type.kind == onnx::Type::Kind::Optional) {
      if (options.isNone(info.name)) {
        r.kind = InputParts::Kind::Absent;
        r.parts.clear();
        return r;
      }
      type = *type.element;
      r.parts[0].type = type;
      r.dtype = type.dtype;
    }
    if (!isTensorSequence(type)) return r;
    bool empty = options.isNone(info.name);
    if (!empty && !options.shapes.count(elementName(info.name, 0))) return r; // of any length
    r.kind = InputParts::Kind::Sequence;
    r.dtype = type.element->dtype;
    r.parts.clear();
    for (size_t i = 0; !empty && options.shapes.count(elementName(info.name, i)); ++i) {
      onnx::ValueInfo part;
      part.name = elementName(info.name, i);
      part.type = *type.element;
      r.parts.push_back(std::move(part));
    }
    return r;
  }

  /// The type of an input and its dims by name, from the file and from --shape and --dim.
  std::pair<Type, ArrayAttr> inputType(const onnx::ValueInfo& info, Location loc) {
    std::string where = "input " + quoteName(info.name);
    onnx::Type t = info.type;
    auto given = options.shapes.find(info.name);
    if (t.kind == onnx::Type::Kind::Tensor && given != options.shapes.end()) {
      if (!t.shape) t.shape.emplace(given->second.size());
      for (auto [d, size] : llvm::zip(*t.shape, given->second))
        if (size >= 0) d.value = size;
    }
    SmallVector<mlir::Attribute> names;
    if (t.kind == onnx::Type::Kind::Tensor && t.shape)
      for (auto [i, d] : llvm::enumerate(*t.shape)) {
        if (d.value) {
          names.push_back(b.getUnitAttr());
          continue;
        }
        std::string name = d.param.empty() ? info.name + "." + std::to_string(i) : d.param;
        auto bounds = options.dims.find(name);
        if (bounds != options.dims.end() && bounds->second.first == bounds->second.second) {
          d.value = bounds->second.first;
          names.push_back(b.getUnitAttr());
          continue;
        }
        names.push_back(b.getStringAttr(name));
      }
    return {valueType(t, loc, where), b.getArrayAttr(names)};
  }

  /// The part of the graph that --cut-inputs and --cut-outputs leave: what the outputs need, up to
  /// the inputs.
  Graph cut(const Graph& whole) {
    Graph part = whole;
    auto typed = [&](const std::string& name) -> const onnx::ValueInfo* {
      for (const auto* list : {&whole.inputs, &whole.outputs, &whole.valueInfos})
        for (const onnx::ValueInfo& v : *list)
          if (v.name == name) return &v;
      return nullptr;
    };
    auto produced = [&](const std::string& name) {
      return llvm::any_of(whole.nodes,
                          [&](const Node& n) { return llvm::is_contained(n.outputs, name); }) ||
             llvm::any_of(whole.inputs, [&](const onnx::ValueInfo& v) { return v.name == name; });
    };
    for (auto [list, flag] : {std::pair{&options.cutInputs, "--cut-inputs"},
                              std::pair{&options.cutOutputs, "--cut-outputs"}})
      for (size_t i = 0; i < list->size(); ++i)
        if (llvm::is_contained(ArrayRef(*list).take_front(i), (*list)[i]))
          fail("", "{} names {} twice", flag, quoteName((*list)[i]));
    if (!options.cutOutputs.empty()) {
      part.outputs.clear();
      for (const std::string& name : options.cutOutputs) {
        if (!produced(name))
          fail("", "--cut-outputs names {}, which is no value of the graph", quoteName(name));
        onnx::ValueInfo info;
        if (const onnx::ValueInfo* known = typed(name)) info = *known;
        info.name = name;
        part.outputs.push_back(info);
      }
    }
    std::set<std::string> stop;
    std::vector<onnx::ValueInfo> cutInputs;
    for (const std::string& name : options.cutInputs) {
      if (!produced(name))
        fail("", "--cut-inputs names {}, which is no value of the graph", quoteName(name));
      const onnx::ValueInfo* known = typed(name);
      if (!known || known->type.kind == onnx::Type::Kind::None) {
        reports
            ->error("", "--cut-inputs names {}, whose type the file does not say", quoteName(name))
            .help("let the exporter write the types of inner values (onnx.shape_inference), or cut "
                  "elsewhere");
        throw ImportFailure();
      }
      stop.insert(name);
      cutInputs.push_back(*known);
    }
    std::set<std::string> needed;
    for (const onnx::ValueInfo& o : part.outputs)
      needed.insert(o.name);
    std::function<void(const Node&)> need = [&](const Node& n) {
      for (const std::string& in : n.inputs)
        if (!in.empty() && !stop.count(in)) needed.insert(in);
      for (const onnx::Attribute& a : n.attributes) // names of the outer graph that subgraphs read
        for (const auto& g : a.graphs) {
          for (const Node& inner : g->nodes)
            need(inner);
          for (const onnx::ValueInfo& o : g->outputs)
            if (!stop.count(o.name)) needed.insert(o.name);
        }
    };
    std::vector<Node> kept;
    for (const Node& n : llvm::reverse(whole.nodes)) {
      bool wanted = llvm::any_of(
          n.outputs, [&](const std::string& o) { return needed.count(o) && !stop.count(o); });
      if (!wanted) continue;
      need(n);
      kept.push_back(n);
    }
    part.nodes.assign(kept.rbegin(), kept.rend());
    part.inputs.clear();
    for (const onnx::ValueInfo& i : whole.inputs)
      if (!stop.count(i.name) && (needed.count(i.name) || whole.initializer(i.name)))
        part.inputs.push_back(i);
    part.inputs.insert(part.inputs.end(), cutInputs.begin(), cutInputs.end());
    return part;
  }
  Graph cutGraph;

  void importMain(ModuleOp module) {
    bool cuts = !options.cutInputs.empty() || !options.cutOutputs.empty();
    if (cuts) cutGraph = cut(file.model().graph);
    const Graph& graph = cuts ? cutGraph : file.model().graph;
    if (!checkSizeOptions(graph, options, *reports)) throw ImportFailure();
    std::vector<InputParts> inputs;
    for (const onnx::ValueInfo* info : graph.dataInputs())
      inputs.push_back(partsOf(*info));
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attrs;
    for (const InputParts& input : inputs)
      for (const onnx::ValueInfo& info : input.parts) {
        auto [type, dims] = inputType(info, b.getUnknownLoc());
        types.push_back(type);
        attrs.push_back(b.getDictionaryAttr(
            {b.getNamedAttr("ortc.name", b.getStringAttr(info.name)),
             b.getNamedAttr("ortc.dtype",
                            b.getI64IntegerAttr(static_cast<int64_t>(info.type.dtype))),
             b.getNamedAttr("ortc.dims", dims)}));
      }
    auto function = b.create<func::FuncOp>(b.getUnknownLoc(), "main", b.getFunctionType(types, {}));
    Block* entry = function.addEntryBlock();
    function.setAllArgAttrs(ArrayRef<DictionaryAttr>(attrs));
    b.setInsertionPointToStart(entry);
    // Named dims in order of the inputs, so that the order in the bundle is that of the file.
    SmallVector<StringRef> order;
    for (DictionaryAttr a : attrs)
      for (mlir::Attribute d : a.getAs<ArrayAttr>("ortc.dims"))
        if (auto s = dyn_cast<StringAttr>(d); s && !llvm::is_contained(order, s.getValue()))
          order.push_back(s.getValue());
    for (StringRef name : order) {
      auto bounds = options.dims.find(name.str());
      int64_t lo = bounds == options.dims.end() ? 0 : bounds->second.first,
              hi = bounds == options.dims.end() ? INT64_MAX : bounds->second.second;
      b.create<DimOp>(b.getUnknownLoc(), b.getIndexType(), name, lo, hi, 1);
    }
    Scope scope(*this);
    const auto* argument = entry->args_begin();
    for (const InputParts& input : inputs) {
      std::vector<Tensor> parts;
      for (const onnx::ValueInfo& info : input.parts)
        parts.push_back({*argument++, info.type.dtype});
      Tensor& value = scopes.back()[input.name];
      if (input.kind == InputParts::Kind::Plain)
        value = parts[0];
      else if (input.kind == InputParts::Kind::Sequence)
        value = NodeBuilder::sequence(std::move(parts), input.dtype);
      else
        value.form = Tensor::Form::Absent;
    }
    addInitializers(graph);
    std::vector<Tensor> outputs = importFrom(graph, graph.nodes, 0);
    SmallVector<Value> results;
    SmallVector<DictionaryAttr> resultAttrs;
    for (auto [info, t] : llvm::zip(graph.outputs, outputs)) {
      results.push_back(t.value && t.form == Tensor::Form::Plain ? t.value : valueOf(info, t));
      if (info.type.dtype != DType::Undefined && info.type.kind == onnx::Type::Kind::Tensor &&
          info.type.dtype != t.dtype)
        reports->warning("output " + quoteName(info.name),
                         "the file says {}, but it is computed as {}", dtypeName(info.type.dtype),
                         dtypeName(t.dtype));
      resultAttrs.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("ortc.name", b.getStringAttr(info.name)),
           b.getNamedAttr("ortc.dtype", b.getI64IntegerAttr(static_cast<int64_t>(t.dtype)))}));
    }
    b.create<func::ReturnOp>(b.getUnknownLoc(), results);
    function.setFunctionType(b.getFunctionType(types, ValueRange(results).getTypes()));
    function.setAllResultAttrs(ArrayRef<DictionaryAttr>(resultAttrs));
  }

  /// A sequence that leaves the model: the host makes a list of its tensors.
  Value valueOf(const onnx::ValueInfo& info, const Tensor& t) {
    std::string where = "output " + quoteName(info.name);
    if (t.absent()) fail(where, "an optional without a value cannot be an output");
    if (!t.elements) fail(where, "a sequence whose length a run decides cannot be an output");
    SmallVector<Value> tensors;
    SmallVector<int64_t> types;
    Type element;
    for (const Tensor& e : *t.elements) {
      if (!e.isTensor()) fail(where, "a sequence of sequences cannot be an output");
      tensors.push_back(e.value);
      types.push_back(static_cast<int64_t>(e.dtype));
      element = e.value.getType();
    }
    if (!element) element = RankedTensorType::get({}, b.getF32Type());
    auto settings = b.getDictionaryAttr(
        {b.getNamedAttr("dtypes", b.getDenseI64ArrayAttr(types)),
         b.getNamedAttr("ranks", b.getDenseI64ArrayAttr(llvm::to_vector(llvm::map_range(
                                     *t.elements, [](const Tensor& e) { return e.rank(); }))))});
    return b
        .create<HostStepOp>(NameLoc::get(b.getStringAttr(where)),
                            ListType::get(b.getContext(), element), "list_of", tensors, settings)
        .getResult(0);
  }

  void addInitializers(const Graph& graph) {
    static const Node none{};
    for (const TensorData& t : graph.initializers) {
      // An initializer that the caller may override is a constant: its default is what the model
      // computes with.
      Location loc = NameLoc::get(b.getStringAttr("initializer " + quoteName(t.name)));
      try {
        scopes.back()[t.name] = NodeBuilder(none, b, loc, *this, {}).constant(t);
      } catch (NodeError& e) {
        fail("initializer " + quoteName(t.name), "{}", e.message);
      }
    }
    for (const onnx::SparseTensor& s : graph.sparseInitializers)
      scopes.back()[s.values.name] = {denseFrom(s), s.values.dtype};
  }

  Value denseFrom(const onnx::SparseTensor& s) {
    static const Node none{};
    Location loc = NameLoc::get(b.getStringAttr("initializer " + quoteName(s.values.name)));
    NodeBuilder n(none, b, loc, *this, {});
    // A file of a few bytes must not take all memory.
    constexpr int64_t kMostElements = int64_t(1) << 32;
    int64_t elements = 1;
    for (int64_t d : s.dims)
      elements *= d; // the reader has checked that this fits
    if (elements > kMostElements)
      fail("initializer " + quoteName(s.values.name),
           "the sparse tensor has {} elements when written out, and at most {} are allowed",
           elements, kMostElements);
    if (s.values.dtype == DType::String || isSubByte(s.values.dtype))
      fail("initializer " + quoteName(s.values.name), "sparse tensors of {} are not supported",
           dtypeName(s.values.dtype));
    HostTensor t(n.typeOf(s.values.dtype), ArrayRef<int64_t>(s.dims.data(), s.dims.size()));
    unsigned width = storageBytes(t.elementType);
    const auto* at = reinterpret_cast<const char*>(s.indices.bytes.data());
    for (int64_t i = 0, count = s.values.elementCount(); i < count; ++i) {
      int64_t linear = 0, value;
      int64_t rank = s.indices.dims.size() == 2 ? static_cast<int64_t>(s.dims.size()) : 1;
      for (int64_t d = 0; d < rank; ++d) { // indices are linear, or one tuple per value
        std::memcpy(&value, at + (i * rank + d) * 8, 8);
        if (value < 0 || (rank > 1 ? value >= s.dims[d] : value >= t.size()))
          fail("initializer " + quoteName(s.values.name),
               "index {} of the sparse tensor is out of range", value);
        linear = rank > 1 ? linear * s.dims[d] + value : value;
      }
      std::memcpy(t.data.get() + linear * width, s.values.bytes.data() + i * width, width);
    }
    return n.constant(t, s.values.dtype).value;
  }

  // ---- nodes ----

  /// Imports nodes[from...] and gives the graph's outputs.
  std::vector<Tensor> importFrom(const Graph& graph, const std::vector<Node>& nodes, size_t from) {
    for (size_t i = from; i < nodes.size(); ++i) {
      try {
        importNode(nodes[i]);
      } catch (BranchRankError& e) {
        return importRestInBranches(graph, nodes, i, e);
      }
    }
    std::vector<Tensor> outputs;
    for (const onnx::ValueInfo& o : graph.outputs) {
      const Tensor* t = find(o.name);
      if (auto it = notComputed.find(o.name); !t && it != notComputed.end())
        fail(it->second.first, "{}", it->second.second);
      if (!t) fail("output " + quoteName(o.name), "nothing produces it");
      outputs.push_back(*t);
    }
    return outputs;
  }

  /// The If at nodes[i] has results of different ranks: each branch gets its own copy of what
  /// follows.
  std::vector<Tensor> importRestInBranches(const Graph& graph, const std::vector<Node>& nodes,
                                           size_t i, BranchRankError& e) {
    const Node& node = nodes[i];
    copiedNodes += nodes.size() - i;
    auto refuse = [&](const std::string& why) {
      auto& d = reports->error(node.describe(),
                               "{}, and what is known of the sizes does not tell which is taken; "
                               "this is not supported",
                               e.detail);
      d.note("{}", why);
      d.help("fix the sizes that its condition is computed from with --shape");
      throw ImportFailure();
    };
    if (copiedNodes > kCopiedNodesBudget)
      refuse("copying the rest of the graph into both branches would make it too large");
    auto rest = [&](const Graph& branch) {
      Scope scope(*this);
      std::vector<Tensor> results = importSubgraph(branch, {});
      for (auto [output, t] : llvm::zip(node.outputs, results))
        scopes.back()[output] = t;
      return importFrom(graph, nodes, i + 1);
    };
    try {
      return buildBranches(node, e.condition, rest);
    } catch (BranchRankError& outer) {
      refuse("the graph's outputs have different ranks, too: " + outer.detail);
    } catch (NodeError& error) {
      report(node, error);
    }
    llvm_unreachable("reported");
  }

  std::vector<Tensor> importBranches(const Node& node, Value condition) override {
    return buildBranches(node, condition,
                         [&](const Graph& branch) { return importSubgraph(branch, {}); });
  }

  /// An If, of which `build` makes each branch. Where one of them is an error of the model (it
  /// cannot run with these sizes), the model can only run with the other: the run checks for it,
  /// and no branch is needed. What ortc lacks is an error in either branch.
  std::vector<Tensor>
  buildBranches(const Node& node, Value condition,
                llvm::function_ref<std::vector<Tensor>(const Graph& branch)> build) {
    Location loc = locationOf(node);
    // Each is built in a region of its own, with errors kept apart.
    BranchScratch scratch(b, loc, condition);
    std::vector<Tensor> results[2];
    bool good[2];
    Diagnostics kept[2];
    for (int k : {0, 1}) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&scratch.region(k));
      kept[k].setFile(reports->file());
      llvm::SaveAndRestore<Diagnostics*> apart(reports, &kept[k]);
      try {
        results[k] = build(node.attribute(k == 0 ? "then_branch" : "else_branch")->graph());
        good[k] = true;
      } catch (ImportFailure&) {
        good[k] = false;
      }
    }
    for (int k : {0, 1})
      for (const Diagnostic& d : kept[k].all())
        if (good[k]) reports->report(d); // remarks
    auto firstError = [&](int k) -> const Diagnostic& {
      return *llvm::find_if(kept[k].all(),
                            [](const Diagnostic& d) { return d.severity == Severity::Error; });
    };
    for (int k : {0, 1})
      if (!good[k] && (firstError(k).isLimitOfOrtc() || !good[1 - k])) {
        auto& d = reports->report(firstError(k));
        if (!good[1 - k])
          d.note("this is with the first branch of {}; the second one fails as well",
                 node.describe());
        throw ImportFailure();
      }
    auto move = [&](int k) {
      return [&, k]() -> std::vector<Tensor> {
        for (Operation& op : llvm::make_early_inc_range(scratch.region(k).front())) {
          op.remove();
          b.insert(&op);
        }
        return results[k];
      };
    };
    if (good[0] && good[1]) return buildIf(b, loc, condition, move(0), move(1));
    int k = good[0] ? 0 : 1;
    const Diagnostic& why = firstError(1 - k);
    reports
        ->warning(node.describe(), "its {} branch cannot run: {}: {}", k == 0 ? "second" : "first",
                  why.location, why.message)
        .note("a run that would take it ends with an error");
    Value ok = condition;
    if (k == 1)
      ok = b.create<arith::XOrIOp>(loc, ok, b.create<arith::ConstantOp>(loc, b.getBoolAttr(true)));
    b.create<CheckOp>(loc, ok, "RUN_ERROR",
                      fmt::format("{}: only its {} branch gives a graph that can run",
                                  node.describe(), k == 0 ? "first" : "second"));
    return move(k)(); // to where the If would be
  }

  Location locationOf(const Node& node) {
    std::string where = node.describe();
    for (const onnx::Function* f : llvm::reverse(calls))
      where += " in function '" + f->name + "'";
    return NameLoc::get(b.getStringAttr(where));
  }

  [[noreturn]] void report(const Node& node, NodeError& e) {
    Diagnostic d;
    d.severity = Severity::Error;
    d.file = reports->file();
    d.location = node.describe();
    d.message = e.message;
    d.lines = e.lines;
    reports->report(std::move(d));
    throw ImportFailure();
  }

  void importNode(const Node& node) {
    std::vector<Tensor> inputs;
    for (const std::string& name : node.inputs) {
      const Tensor* t = name.empty() ? nullptr : find(name);
      if (!name.empty() && !t) {
        if (auto it = notComputed.find(name); it != notComputed.end())
          fail(it->second.first, "{}", it->second.second);
        fail(node.describe(), "input {} is not there", quoteName(name));
      }
      inputs.push_back(t ? *t : Tensor());
    }
    std::vector<Tensor> outputs;
    if (node.function) {
      outputs = expand(node, file.model().functions[*node.function], inputs);
    } else {
      const OpDefinition* definition = OpRegistry::find(node.domain, node.opType);
      if (!definition) {
        if (!onnx::isKnownOperator(node.domain, node.opType)) {
          auto& d = reports->error(node.describe(), "there is no operator {} in domain {}",
                                   quoteName(node.opType),
                                   quoteName(node.domain.empty() ? "ai.onnx" : node.domain));
          std::string_view nearest = onnx::nearestOperator(node.domain, node.opType);
          if (!nearest.empty()) d.help("did you mean {}?", quoteName(nearest));
          throw ImportFailure();
        }
        auto& d = reports->error(
            node.describe(), "operator {} is not supported{}", quoteName(node.opType),
            node.domain.empty() ? "" : " (domain " + quoteName(node.domain) + ")");
        d.help("`ortc ops` lists what is; compile the part before or after it with --cut-outputs "
               "or --cut-inputs");
        throw ImportFailure();
      }
      if (node.opset < definition->versions.front())
        fail(node.describe(), "operator {} was added in opset {}, but the model imports opset {}",
             quoteName(node.opType), definition->versions.front(), node.opset);
      std::vector<DType> types;
      for (const Tensor& t : inputs)
        types.push_back(t && t.isTensor() ? t.dtype : DType::Undefined);
      NodeBuilder n(node, b, locationOf(node), *this, std::move(inputs));
      try {
        if (std::string error = onnx::inputTypeError(node, types); !error.empty()) n.fail(error);
        definition->build(n);
      } catch (NodeError& e) {
        report(node, e);
      }
      outputs = n.takeOutputs();
    }
    for (auto [i, name] : llvm::enumerate(node.outputs)) {
      if (name.empty()) continue;
      if (i >= outputs.size() || !outputs[i]) {
        // Exporters name outputs that nobody reads.
        notComputed[name] = {node.describe(),
                             fmt::format("output {} ({}) is not computed by this operator here", i,
                                         quoteName(name))};
        continue;
      }
      scopes.back()[name] = outputs[i];
    }
  }

  // ---- functions ----

  /// The node with attributes that refer to the function's replaced by the caller's, or by
  /// defaults.
  Node bound(const Node& node, const Node& call, const onnx::Function& f) {
    Node r = node;
    r.attributes.clear();
    for (const onnx::Attribute& a : node.attributes) {
      if (a.refName.empty()) {
        r.attributes.push_back(boundGraphs(a, call, f));
        continue;
      }
      const onnx::Attribute* given = call.attribute(a.refName);
      if (!given)
        for (const onnx::Attribute& d : f.attributeDefaults)
          if (d.name == a.refName) given = &d;
      if (!given) continue; // an optional attribute that nobody set
      r.attributes.push_back(*given);
      r.attributes.back().name = a.name;
    }
    return r;
  }
  onnx::Attribute boundGraphs(const onnx::Attribute& a, const Node& call, const onnx::Function& f) {
    if (a.graphs.empty()) return a;
    onnx::Attribute r = a;
    for (auto& g : r.graphs) {
      auto copy = std::make_shared<Graph>(*g);
      for (Node& n : copy->nodes)
        n = bound(n, call, f);
      keptGraphs.push_back(copy);
      g = copy;
    }
    return r;
  }
  std::vector<std::shared_ptr<Graph>> keptGraphs;
  std::vector<std::unique_ptr<Graph>> bodies;

  std::vector<Tensor> expand(const Node& call, const onnx::Function& f, ArrayRef<Tensor> inputs) {
    // The body sees only its own names.
    std::vector<Names> outer = std::move(scopes);
    scopes.clear();
    calls.push_back(&f);
    // Also when an error ends it, since an If goes on with its other branch.
    auto restore = llvm::make_scope_exit([&] {
      calls.pop_back();
      scopes = std::move(outer);
    });
    auto body = std::make_unique<Graph>();
    for (const std::string& o : f.outputs) {
      onnx::ValueInfo info;
      info.name = o;
      body->outputs.push_back(info);
    }
    for (const Node& n : f.nodes)
      body->nodes.push_back(bound(n, call, f));
    std::vector<Tensor> r;
    {
      Scope scope(*this);
      for (auto [i, name] : llvm::enumerate(f.inputs))
        if (i < inputs.size() && inputs[i]) scopes.back()[name] = inputs[i];
      // Optional inputs that are absent make the nodes that read them see an absent input.
      for (Node& n : body->nodes)
        for (std::string& in : n.inputs)
          if (llvm::is_contained(f.inputs, in) && !scopes.back().count(in)) in.clear();
      bodies.push_back(std::move(body));
      r = importFrom(*bodies.back(), bodies.back()->nodes, 0);
    }
    return r;
  }
};

} // namespace

std::string elementName(const std::string& input, size_t i) {
  return fmt::format("{}[{}]", input, i);
}
bool isTensorSequence(const onnx::Type& type) {
  return type.kind == onnx::Type::Kind::Sequence && type.element &&
         type.element->kind == onnx::Type::Kind::Tensor;
}
bool isMadeOfShapes(const onnx::Type& type) {
  return type.kind == onnx::Type::Kind::Optional || isTensorSequence(type);
}

bool checkSizeOptions(const Graph& graph, const ImportOptions& options, Diagnostics& diagnostics) {
  const std::vector<const onnx::ValueInfo*> inputs = graph.dataInputs();
  std::set<std::string> dims;
  for (const onnx::ValueInfo* input : inputs) {
    const onnx::Type& type =
        input->type.kind == onnx::Type::Kind::Optional ? *input->type.element : input->type;
    if (type.kind != onnx::Type::Kind::Tensor || !type.shape) continue;
    auto given = options.shapes.find(input->name);
    for (auto [i, d] : llvm::enumerate(*type.shape)) {
      const bool fixed =
          given != options.shapes.end() && i < given->second.size() && given->second[i] >= 0;
      if (!d.value && !fixed)
        dims.insert(d.param.empty() ? input->name + "." + std::to_string(i) : d.param);
    }
  }
  // A shape is of an input, or of an element of one that is a sequence.
  auto sequenceOf = [&](const std::string& name) {
    size_t bracket = name.rfind('[');
    std::string whole = bracket == std::string::npos ? "" : name.substr(0, bracket);
    unsigned long long k;
    if (whole.empty() || name.back() != ']' ||
        StringRef(name).substr(bracket + 1).drop_back().getAsInteger(10, k))
      return inputs.end();
    return llvm::find_if(inputs, [&](auto* i) { return i->name == whole; });
  };
  for (auto& [name, sizes] : options.shapes) {
    auto it = llvm::find_if(inputs, [&](auto* i) { return i->name == name; });
    bool isElement = it == inputs.end() && sequenceOf(name) != inputs.end();
    if (isElement) it = sequenceOf(name);
    if (it == inputs.end()) {
      auto& d = diagnostics.error("", "--shape names {}, which is no input", quoteName(name));
      for (const onnx::ValueInfo* i : inputs)
        d.note("input {} is {}", quoteName(i->name), onnx::typeText(i->type));
      return false;
    }
    const onnx::Type* declared = &(*it)->type;
    const bool isOptional = declared->kind == onnx::Type::Kind::Optional;
    if (options.isNone(name) && !isElement && isMadeOfShapes(*declared)) continue;
    if (isOptional) declared = declared->element.get();
    if (isElement && isTensorSequence(*declared)) {
      declared = declared->element.get();
      size_t k = 0; // all before it must be there, too
      while (options.shapes.count(elementName((*it)->name, k)))
        ++k;
      if (std::stoull(name.substr(name.rfind('[') + 1)) >= k) {
        diagnostics.error("input " + quoteName((*it)->name), "--shape names {}, but not {}",
                          quoteName(name), quoteName(elementName((*it)->name, k)));
        return false;
      }
    } else if (isElement) {
      diagnostics.error("input " + quoteName((*it)->name), "--shape names {}, but the input is {}",
                        quoteName(name), onnx::typeText((*it)->type));
      return false;
    }
    const onnx::Type& type = *declared;
    const std::string where = "input " + quoteName(name);
    if (type.kind != onnx::Type::Kind::Tensor) {
      auto& d = diagnostics.error(where, "--shape gives sizes, but the input is {}",
                                  onnx::typeText(type));
      if (isTensorSequence(type))
        d.help("give those of each element: --shape '{}=SIZES'", elementName(name, 0));
      return false;
    }
    if (options.isNone(name)) {
      diagnostics.error(where, "--shape says that it has no value, but the input is {}",
                        onnx::typeText(type));
      return false;
    }
    if (!type.shape) continue;
    if (type.shape->size() != sizes.size()) {
      diagnostics.error(where, "--shape gives {} sizes, but the input is {}", sizes.size(),
                        onnx::typeText(type));
      return false;
    }
    for (auto [d, size] : llvm::zip(*type.shape, sizes))
      if (size >= 0 && d.value && *d.value != size) {
        diagnostics.error(where, "--shape gives {} where the model says {}", size, *d.value);
        return false;
      }
  }
  for (auto& [name, range] : options.dims)
    if (!dims.count(name)) {
      auto& d = diagnostics.error("", "--dim names {}, which is no free dimension of an input",
                                  quoteName(name));
      for (const std::string& known : dims)
        d.note("there is {}", quoteName(known));
      return false;
    }
  return true;
}

OwningOpRef<ModuleOp> importModel(const onnx::OnnxFile& file, MLIRContext& context,
                                  const ImportOptions& options, Diagnostics& diagnostics) {
  context.loadDialect<OrtcDialect, vector::VectorDialect, func::FuncDialect, linalg::LinalgDialect,
                      tensor::TensorDialect, scf::SCFDialect, arith::ArithDialect,
                      math::MathDialect, memref::MemRefDialect>();
  return Importer(file, context, options, diagnostics).run();
}

} // namespace ortc
