// SPDX-License-Identifier: Apache-2.0
#include "targets/common/cxx/CxxBundle.h"
#include "codegen/common/Signature.h"
#include "codegen/cxx/PrintCxx.h"
#include "compiler/support/Names.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace ortc {
namespace {

using codegen::BundleFacts;
using codegen::BundleWriter;

/// What all programs of a bundle share: files of the runtime and of kernel templates.
class CxxFiles {
public:
  CxxFiles(const BundleRequest& request, const CxxBundleOptions& options, Diagnostics& diagnostics)
      : writer(request, diagnostics), options(options),
        head(fmt::format("// ortc {}. Do not edit: regenerate with `{}`.\n", ORTC_VERSION,
                         escapeForComment(request.command))) {
    writer.hosted = options.hosted;
    writer.libraries = options.libraries;
  }

  BundleWriter writer;
  const CxxBundleOptions& options;
  const std::string head;
  std::set<std::string> headers, templates; // that programs include

  /// The runtime with its sources, to which those of a program are added.
  bool copyRuntime(std::vector<std::string>& sources, std::set<std::string> tags = {}) {
    tags.insert({"core", "kernels", "functions", "narrow", "typed"});
    const bool steps = headers.count("rt/steps.h");
    if (steps) tags.insert("steps");
    const bool regex = headers.count("rt/regex.h");
    if (regex) tags.insert("regex");
    if (!writer.copyRuntime(tags)) return false;
    for (const char* s : {"arena", "context", "pool", "tensors", "weights"})
      sources.push_back(fmt::format("runtime/rt/{}.cpp", s));
    if (steps) sources.push_back("runtime/rt/steps.cpp");
    if (regex) sources.push_back("runtime/rt/regex.cpp");
    return true;
  }

  std::string includes(const codegen::cxx::Needs& needs) {
    std::string text;
    for (const std::string& h : needs.headers)
      text += fmt::format("#include \"{}\"\n", h), headers.insert(h);
    std::set<std::string> kernelHeaders;
    for (const std::string& t : needs.templates) {
      templates.insert(t);
      if (options.templateHeaders) kernelHeaders.insert(options.templateHeaders(t).front());
    }
    for (const std::string& h : kernelHeaders)
      text += fmt::format("#include \"{}\"\n", bundlePath(h));
    return text;
  }
  /// targets/cpu/kernels/gemm/gemm.h is kernels/gemm/gemm.h in the bundle.
  static std::string bundlePath(llvm::StringRef header) {
    return "kernels/" + header.substr(header.find("kernels/") + 8).str();
  }

  /// Copies the templates with the headers that they include, with includes as they are in the
  /// bundle.
  bool copyTemplates() {
    std::vector<std::string> todo;
    std::set<std::string> done;
    for (const std::string& t : templates)
      for (const std::string& h : options.templateHeaders(t))
        todo.push_back(h);
    while (!todo.empty()) {
      std::string header = todo.back();
      todo.pop_back();
      if (!done.insert(header).second) continue;
      auto buffer = llvm::MemoryBuffer::getFile(codegen::resourceFolder() + "/targets/" + header);
      if (!buffer) {
        writer.diagnostics.error("", "the installation lacks targets/{}", header);
        return false;
      }
      std::string text;
      SmallVector<StringRef> lines;
      (*buffer)->getBuffer().split(lines, '\n');
      for (auto [i, line] : llvm::enumerate(lines)) {
        StringRef rest = line;
        std::string out = line.str();
        if (rest.consume_front("#include \"targets/")) {
          StringRef path = rest.take_until([](char c) { return c == '"'; });
          todo.push_back(path.str());
          out = fmt::format("#include \"{}\"", bundlePath(path));
        } else if (rest.consume_front("#include \"runtime_min/")) {
          out = fmt::format("#include \"{}", rest.str());
        }
        text += out + (i + 1 < lines.size() ? "\n" : "");
      }
      if (!writer.write("runtime/" + bundlePath(header), text)) return false;
    }
    return true;
  }
};

/// One program: its kernels, the order in which they run, and the functions of its model.
class CxxProgram {
public:
  /// `prefix` of its symbols: the bundle's name, or that of a level, whose files lie in a folder of
  /// their own.
  CxxProgram(CxxFiles& files, ModuleOp program, const TargetInfo& target, std::string prefix,
             std::string folder)
      : files(files), writer(files.writer), request(files.writer.request), module(program),
        target(target), prefix(std::move(prefix)), folder(std::move(folder)),
        io(codegen::readFacts(program)) {}

  bool write() { return writeKernels() && writeMain(); }

  std::vector<std::string> sources; // of its own

private:
  CxxFiles& files;
  BundleWriter& writer;
  const BundleRequest& request;
  ModuleOp module;
  const TargetInfo& target;
  const std::string prefix, folder;
  BundleFacts io;

  bool isLevel() const { return prefix != request.name; }

  std::vector<func::FuncOp> kernels() {
    std::vector<func::FuncOp> r;
    for (auto f : module.getOps<func::FuncOp>())
      if (f->hasAttr("ortc.kernel")) r.push_back(f);
    return r;
  }
  bool hasSteps() {
    bool found = false;
    module.walk([&](HostStepOp) { found = true; });
    return found;
  }
  /// Constant strings, as tables that buffers of the segment "strings" are.
  std::string stringTables() {
    std::string text;
    auto tables = module->getAttrOfType<ArrayAttr>("ortc.string_tables");
    if (!tables) return text;
    for (auto [i, table] : llvm::enumerate(tables.getAsRange<ArrayAttr>())) {
      text += fmt::format("static const ortc_string strings_{}[] = {{\n", i);
      for (auto s : table.getAsRange<StringAttr>())
        text += fmt::format("    {{\"{}\", {}}},\n", escapeForString(s.getValue().str()),
                            s.getValue().size());
      text += "};\n";
    }
    return text + "\n";
  }
  bool split() { return kernels().size() > files.options.kernelsPerFile; }

  /// Kernels of large models in files of their own; those of small ones stand in the main source.
  bool writeKernels() {
    if (!split()) return true;
    std::vector<func::FuncOp> all = kernels();
    std::string declarations;
    llvm::raw_string_ostream declared(declarations);
    codegen::cxx::Options external;
    external.linkage = "";
    for (size_t first = 0, file = 0; first < all.size();
         first += files.options.kernelsPerFile, ++file) {
      std::string body;
      llvm::raw_string_ostream os(body);
      codegen::cxx::Needs needs;
      for (size_t k = first; k < std::min(all.size(), first + files.options.kernelsPerFile); ++k) {
        if (failed(codegen::cxx::printKernel(all[k], os, needs, external)) ||
            failed(codegen::cxx::printKernelDeclaration(all[k], declared, external)))
          return false;
        os << "\n";
      }
      std::string path = fmt::format("{}kernels_{}.cpp", folder, file);
      std::string text =
          fmt::format("{}\n#include \"kernels.h\"\n{}\nnamespace {}_kernels {{\n\nusing namespace "
                      "ortc_rt;\n\n{}}} // namespace {}_kernels\n",
                      files.head, files.includes(needs), prefix, body, prefix);
      if (!writer.write(path, text)) return false;
      sources.push_back(path);
    }
    return writer.write(
        folder + "kernels.h",
        fmt::format("{}#pragma once\n#include \"rt/half.h\"\n#include \"rt/pool.h\"\n\nnamespace "
                    "{}_kernels {{\n\nusing namespace ortc_rt;\n\n{}\n}} // namespace {}_kernels\n",
                    files.head, prefix, declarations, prefix));
  }

  bool writeMain() {
    const std::string &n = prefix, &bundle = request.name;
    std::string body;
    llvm::raw_string_ostream os(body);
    codegen::cxx::Needs needs;
    if (!split())
      for (func::FuncOp k : kernels()) {
        if (failed(codegen::cxx::printKernel(k, os, needs))) return false;
        os << "\n";
      }
    std::string program;
    llvm::raw_string_ostream ps(program);
    if (failed(codegen::cxx::printProgram(module.lookupSymbol<func::FuncOp>("run"), ps, needs)))
      return false;
    std::string arena;
    llvm::raw_string_ostream as(arena);
    if (!io.arenaBytes &&
        failed(codegen::cxx::printArenaBytes(module.lookupSymbol<func::FuncOp>("run"), as)))
      return false;
    auto bounds = module.lookupSymbol<func::FuncOp>("output_bounds");
    if (bounds && failed(codegen::cxx::printComputedBytes(bounds, as))) return false;

    std::string weights, open;
    bool hasWeights = io.weightsBytes != 0;
    if (hasWeights && isLevel() && request.weights != "file")
      open = fmt::format("  c->params.data = {}_weights_data();\n  c->params.size = {};\n", bundle,
                         io.weightsBytes);
    else if (hasWeights && request.weights == "embed")
      weights = fmt::format("ORTC_EMBED({0}_weights, \"weights/{0}.bin\")\n\n", n),
      open = fmt::format("  c->params.data = {}_weights;\n  c->params.size = {};\n", n,
                         io.weightsBytes);
    else if (hasWeights && request.weights == "array")
      weights = fmt::format("#include \"weights/{}.inc\"\n\n", n),
      open = fmt::format("  c->params.data = reinterpret_cast<const char*>(weights_words);\n  "
                         "c->params.size = {};\n",
                         io.weightsBytes);
    if (hasWeights && request.weights == "file") {
      std::string bytes;
      for (size_t i = 0; i < writer.weightsDigest().size(); i += 2)
        bytes += fmt::format("{}0x{}", i ? (i % 32 ? ", " : ",\n    ") : "",
                             writer.weightsDigest().substr(i, 2));
      weights =
          fmt::format("static const unsigned char weights_digest[32] = {{\n    {}}};\n\n", bytes);
      open = fmt::format("  ortc_rt::text why = c->why();\n  if (const ortc_status s = "
                         "ortc_rt::weights_open(c->params, options ? options->weights_path : "
                         "nullptr, \"{}.bin\",\n"
                         "                                                  &weights_digest, {}, "
                         "weights_digest, why)) {{\n    return s;\n  }}\n",
                         bundle, io.weightsBytes);
    }
    int64_t dims = static_cast<int64_t>(io.dims.size());
    std::string reserve = io.arenaBytes ? fmt::format("{}", *io.arenaBytes)
                                        : std::string("uint64_t(arena_bytes(sizes))");
    std::string text =
        files.head +
        fmt::format(
            R"(//
// The program{forLevel}: kernels, the order in which they run, and the C interface.
#include "{interface}"

{kernelsH}{includes}
{weights}namespace {{

using namespace ortc_rt;
{usingKernels}
{strings}{body}{program}
{arena}// ---- what this model is, for callers that know nothing of it ----
{tables}}} // namespace

extern "C" {{

{own}ortc_status {n}_create(const ortc_options* options, ortc_context** context) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto* c = create_context<ortc_rt::context>();
  *context = context_handle(c);
  if (!c) return ORTC_OUT_OF_MEMORY;
  if (const ortc_status s = c->open(*{n}_model(), options, {heap})) return s;
{open}{createArena}  return ORTC_OK;
}}

{own}ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<ortc_rt::context>(context);
  const run_scope scope(c);
  if (scope.busy) return ORTC_BUSY;
  if (const ortc_status s = c.check_dims(sizes)) return s;
  return c.reserve_arena({reserve});
}}

{own}ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<ortc_rt::context>(context);
  const run_scope scope(c);
  if (scope.busy) return ORTC_BUSY;
  c.outputs = outputs;
  int64_t dims[{dimsOrOne}] = {{}};
  if (const ortc_status s = c.check_inputs(inputs, dims)) return s;
  if (const ortc_status s = c.check_outputs(outputs, dims)) return s;
  return run(c, inputs, outputs, dims);
}}

{own}uint64_t {n}_output_bound(int32_t index, const int64_t* sizes) {{
{outputBound}
}}

{own}const char* {n}_error(const ortc_context* context) {{
  return context ? context_cast<ortc_rt::context>(context)->message : "no context: out of memory";
}}

{own}void {n}_destroy(ortc_context* context) {{
  if (!context) return;
{close}  destroy_context(context_cast<ortc_rt::context>(context));
}}

const ortc_model* {n}_model(void) {{
  static const ortc_model model = {{
      ORTC_ABI_VERSION, sizeof(ortc_model), "{bundle}", "{target}", "{sha}",
      {numIn}, {numOut}, {numDims}, 0,
      {inTable}, {outTable}, {dimTable}, {weightsBytes}, {arenaBytes},
      {n}_create, {n}_reserve, {n}_run, nullptr, {n}_output_bound, {n}_error, {n}_destroy}};
  return &model;
}}

}} // extern "C"
)",
            fmt::arg("n", n), fmt::arg("bundle", bundle),
            fmt::arg("own", isLevel() ? "static " : ""),
            fmt::arg("forLevel", isLevel() ? " for " + target.levelName() : std::string()),
            fmt::arg("interface", isLevel() ? "../levels.h" : fmt::format("{0}/{0}.h", n)),
            fmt::arg("kernelsH", split() ? "#include \"kernels.h\"\n" : ""),
            fmt::arg("includes", files.includes(needs)), fmt::arg("weights", weights),
            fmt::arg("usingKernels",
                     split() ? fmt::format("using namespace {}_kernels;\n", n) : ""),
            fmt::arg("strings", stringTables()), fmt::arg("body", body),
            fmt::arg("program", program), fmt::arg("arena", arena),
            fmt::arg("tables", writer.ioTables(io)), fmt::arg("heap", hasSteps() ? "1 << 20" : "0"),
            fmt::arg("open", open),
            fmt::arg(
                "createArena",
                io.arenaBytes
                    ? (*io.arenaBytes
                           ? fmt::format(
                                 "  if (const ortc_status s = c->reserve_arena({})) return s;\n",
                                 *io.arenaBytes)
                           : std::string())
                    : std::string()),
            fmt::arg("outputBound", codegen::outputBoundBody(n, bounds != nullptr)),
            fmt::arg("reserve", reserve), fmt::arg("dimsOrOne", std::max<int64_t>(dims, 1)),
            fmt::arg("close",
                     hasWeights && request.weights == "file"
                         ? "  weights_close(context_cast<ortc_rt::context>(context)->params);\n"
                         : ""),
            fmt::arg("target", target.name()), fmt::arg("sha", request.sha256),
            fmt::arg("numIn", io.inputs.size()), fmt::arg("numOut", io.outputs.size()),
            fmt::arg("numDims", dims),
            fmt::arg("inTable", io.inputs.empty() ? "nullptr" : "inputs"),
            fmt::arg("outTable", io.outputs.empty() ? "nullptr" : "outputs"),
            fmt::arg("dimTable", io.dims.empty() ? "nullptr" : "dimensions"),
            fmt::arg("weightsBytes", io.weightsBytes),
            fmt::arg("arenaBytes", io.arenaBytes ? fmt::format("UINT64_C({})", *io.arenaBytes)
                                                 : std::string("UINT64_MAX")));
    std::string path = fmt::format("{}{}.cpp", folder, bundle);
    sources.insert(sources.begin(), path);
    return writer.write(path, text);
  }
};

} // namespace

static bool reported(bool ok, Diagnostics& diagnostics) {
  if (!ok && !diagnostics.hasErrors())
    diagnostics.error("", "an operation could not be printed; this is a fault of ortc");
  return ok;
}

bool writeCxxBundle(ModuleOp module, const ProgramFacts& facts, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics) {
  CxxFiles files(request, options, diagnostics);
  BundleWriter& writer = files.writer;
  CxxProgram program(files, module, target, request.name, "src/");
  if (!writer.writeWeights(facts.weights) || !reported(program.write(), diagnostics)) return false;
  std::vector<std::string>& sources = program.sources;
  const BundleFacts io = codegen::readFacts(module);
  return reported(
      files.copyTemplates() && files.copyRuntime(sources) &&
          writer.writeHeaders(io, target.name()) &&
          writer.writeCMake(sources, options.compileOptions) &&
          writer.writeManifest(io, facts, module, target, sources, options.compileOptions),
      diagnostics);
}

// ---- several processors ----

/// src/levels.h: what the parts know of each other.
static bool writeLevelsHeader(CxxFiles& files, bool hasData) {
  std::string text = files.head + "// What the parts of this bundle know of each other: the "
                                  "weights, and a program for each level.\n"
                                  "#pragma once\n#include \"ortc/ortc.h\"\n\nextern \"C\" {\n\n";
  if (hasData)
    text += fmt::format("const char* {}_weights_data(void);\n\n", files.writer.request.name);
  for (const codegen::BundleLevel& level : files.writer.levels)
    text += fmt::format("const ortc_model* {}_model(void);\n", level.prefix);
  return files.writer.write("src/levels.h", text + "\n} // extern \"C\"\n");
}

/// src/NAME.cpp: picks a level, and answers for processors that there is none for.
static bool writeDispatcher(CxxFiles& files, const BundleFacts& io, const TargetInfo& target,
                            bool hasData) {
  const BundleRequest& request = files.writer.request;
  const std::string& n = request.name;
  std::string weights, table, names;
  if (hasData && request.weights == "embed")
    weights = fmt::format("ORTC_EMBED({0}_weights, \"weights/{0}.bin\")\n\n"
                          "const char* {0}_weights_data(void) {{ return {0}_weights; }}\n\n",
                          n);
  else if (hasData)
    weights = fmt::format("#include \"weights/{0}.inc\"\n\nconst char* {0}_weights_data(void) {{ "
                          "return reinterpret_cast<const char*>(weights_words); }}\n\n",
                          n);
  for (const codegen::BundleLevel& level : files.writer.levels) {
    std::string needs;
    for (const std::string& feature : level.needs)
      needs += (needs.empty() ? "" : " | ") + feature;
    table += fmt::format("    {{\"{}\", {}, {}_model}},\n", level.processor,
                         needs.empty() ? "0" : needs, level.prefix);
    names += (names.empty() ? "" : ", ") + level.processor;
  }
  std::string text =
      files.head +
      fmt::format(R"(//
// One model for several processors: each level is a whole program with its own copy of the runtime.
// Here the first level is picked that the processor at hand can run. This file is compiled for every
// processor of the architecture.
#include "{n}/{n}.h"

#include "levels.h"
#include "rt/processor.h"
#include "rt/weights.h"

#include <string.h>

{weights}namespace {{

using namespace ortc_rt;

struct level {{
  const char* processor;
  uint64_t needs;
  const ortc_model* (*model)(void);
}};
const level levels[] = {{
{table}}};

bool runs_here(const level& l) {{ return (processor_features() & l.needs) == l.needs; }}

// ---- where no level runs: a model that says so ----
{tables}
ortc_status refuse_create(const ortc_options*, ortc_context** context) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  *context = nullptr;
  return ORTC_UNSUPPORTED;
}}
ortc_status refuse_reserve(ortc_context*, const int64_t*) {{ return ORTC_UNSUPPORTED; }}
ortc_status refuse_run(ortc_context*, const ortc_tensor*, ortc_tensor*) {{ return ORTC_UNSUPPORTED; }}
uint64_t refuse_output_bound(int32_t, const int64_t*) {{ return 0; }}
const char* refuse_error(const ortc_context*) {{
  return "this processor lacks instructions that every level of the bundle needs; there are levels "
         "for {names}; compile the model for this processor, too: --mcpu";
}}
void refuse_destroy(ortc_context*) {{}}

const ortc_model refusing = {{
    ORTC_ABI_VERSION, sizeof(ortc_model), "{n}", "{target}", "{sha}",
    {numIn}, {numOut}, {numDims}, 0,
    {inTable}, {outTable}, {dimTable}, {weightsBytes}, UINT64_MAX,
    refuse_create, refuse_reserve, refuse_run, nullptr, refuse_output_bound, refuse_error, refuse_destroy}};

}} // namespace

extern "C" {{

const ortc_model* {n}_model(void) {{
  // Whoever comes first picks; all would pick the same.
  static const ortc_model* picked;
  const ortc_model* model = __atomic_load_n(&picked, __ATOMIC_ACQUIRE);
  if (model) return model;
  model = &refusing;
  for (const level& l : levels)
    if (runs_here(l)) {{
      model = l.model();
      break;
    }}
  __atomic_store_n(&picked, model, __ATOMIC_RELEASE);
  return model;
}}

const ortc_model* {n}_model_for(const char* processor) {{
  for (const level& l : levels)
    if (processor && strcmp(processor, l.processor) == 0 && runs_here(l)) return l.model();
  return &refusing;
}}

ortc_status {n}_create(const ortc_options* options, ortc_context** context) {{
  return {n}_model()->create(options, context);
}}
ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes) {{
  return {n}_model()->reserve(context, sizes);
}}
ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs) {{
  return {n}_model()->run(context, inputs, outputs);
}}
uint64_t {n}_output_bound(int32_t index, const int64_t* sizes) {{
  return {n}_model()->output_bound(index, sizes);
}}
const char* {n}_error(const ortc_context* context) {{ return {n}_model()->error(context); }}
void {n}_destroy(ortc_context* context) {{ {n}_model()->destroy(context); }}

}} // extern "C"
)",
                  fmt::arg("n", n), fmt::arg("weights", weights), fmt::arg("table", table),
                  fmt::arg("names", names), fmt::arg("tables", files.writer.ioTables(io)),
                  fmt::arg("target", target.name()), fmt::arg("sha", request.sha256),
                  fmt::arg("numIn", io.inputs.size()), fmt::arg("numOut", io.outputs.size()),
                  fmt::arg("numDims", io.dims.size()),
                  fmt::arg("inTable", io.inputs.empty() ? "nullptr" : "inputs"),
                  fmt::arg("outTable", io.outputs.empty() ? "nullptr" : "outputs"),
                  fmt::arg("dimTable", io.dims.empty() ? "nullptr" : "dimensions"),
                  fmt::arg("weightsBytes", io.weightsBytes));
  return files.writer.write(fmt::format("src/{}.cpp", n), text);
}

bool writeCxxLevels(llvm::ArrayRef<CxxLevel> levels, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics) {
  CxxFiles files(request, options, diagnostics);
  BundleWriter& writer = files.writer;
  BundleFacts io = codegen::readFacts(levels[0].module);
  if (!writer.writeWeights(levels.back().facts->weights)) return false;
  for (const CxxLevel& level : levels) {
    const std::string word = legaliseIdentifier(level.target->levelName());
    writer.levels.push_back({level.target->levelName(),
                             request.name + "_" + word,
                             level.features,
                             level.compileOptions,
                             {},
                             level.module,
                             level.facts});
    CxxProgram program(files, level.module, *level.target, writer.levels.back().prefix,
                       "src/" + word + "/");
    if (!reported(program.write(), diagnostics)) return false;
    writer.levels.back().sources = program.sources;
    if (!level.facts->arenaBytes || !io.arenaBytes)
      io.arenaBytes.reset();
    else
      io.arenaBytes = std::max(*io.arenaBytes, *level.facts->arenaBytes);
  }
  const bool hasData = io.weightsBytes != 0 && request.weights != "file";
  std::vector<std::string> runtime;
  if (!files.copyTemplates() || !files.copyRuntime(runtime, {"levels"}) ||
      !writeLevelsHeader(files, hasData) || !writeDispatcher(files, io, target, hasData))
    return reported(false, diagnostics);
  for (codegen::BundleLevel& level : writer.levels)
    level.sources.insert(level.sources.end(), runtime.begin(), runtime.end());
  const std::vector<std::string> sources{fmt::format("src/{}.cpp", request.name),
                                         "runtime/rt/processor.cpp"};
  return reported(writer.writeHeaders(io, target.name()) &&
                      writer.writeCMake(sources, options.compileOptions) &&
                      writer.writeManifest(io, *levels[0].facts, levels[0].module, target, sources,
                                           options.compileOptions),
                  diagnostics);
}

} // namespace ortc
