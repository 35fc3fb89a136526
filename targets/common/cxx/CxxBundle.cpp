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

class CxxBundle {
public:
  CxxBundle(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            const TargetInfo& target, const CxxBundleOptions& options, Diagnostics& diagnostics)
      : module(program), facts(facts), request(request), target(target), options(options),
        writer(request, diagnostics), io(codegen::readFacts(program)) {
    writer.hosted = options.hosted;
  }

  bool write() {
    head = fmt::format("// ortc {}. Do not edit: regenerate with `{}`.\n", ORTC_VERSION,
                       escapeForComment(request.command));
    if (!writer.writeWeights(facts.weights)) return false;
    if (!writeKernels() || !writeMain()) return false;
    if (!copyTemplates()) return false;
    std::set<std::string> tags{"core", "kernels"};
    for (const std::string& h : headers) {
      if (llvm::StringRef(h).contains("elementary") || isFunctionHeader(h))
        tags.insert("functions");
      if (isNarrowHeader(h)) tags.insert("narrow");
    }
    tags.insert("functions");
    tags.insert("narrow");
    tags.insert("typed");
    bool steps = headers.count("rt/steps.h");
    if (steps) tags.insert("steps");
    if (!writer.copyRuntime(tags)) return false;
    for (const char* s : {"arena", "context", "pool", "tensors", "weights"})
      sources.push_back(fmt::format("runtime/rt/{}.cpp", s));
    if (steps) sources.push_back("runtime/rt/steps.cpp");
    std::vector<std::string> compile = options.compileOptions;
    return writer.writeHeaders(io, target.name()) && writer.writeCMake(sources, compile) &&
           writer.writeManifest(io, facts, module, target, sources, compile);
  }

private:
  ModuleOp module;
  const ProgramFacts& facts;
  const BundleRequest& request;
  const TargetInfo& target;
  const CxxBundleOptions& options;
  BundleWriter writer;
  BundleFacts io;
  std::string head;
  std::set<std::string> headers, templates;
  std::vector<std::string> sources;

  static bool isFunctionHeader(llvm::StringRef h) {
    return llvm::any_of(
        ArrayRef<StringRef>{"exp.h", "log.h", "trig.h", "hyperbolic.h", "erf.h", "pow.h", "sqrt.h"},
        [&](StringRef f) { return h.ends_with(f); });
  }
  static bool isNarrowHeader(llvm::StringRef h) {
    return llvm::any_of(ArrayRef<StringRef>{"half.h", "float8.h", "int4.h"},
                        [&](StringRef f) { return h.ends_with(f); });
  }

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
  bool split() { return kernels().size() > options.kernelsPerFile; }

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

  /// Kernels of large models in files of their own; those of small ones stand in the main source.
  bool writeKernels() {
    if (!split()) return true;
    std::vector<func::FuncOp> all = kernels();
    std::string declarations;
    llvm::raw_string_ostream declared(declarations);
    codegen::cxx::Options external;
    external.linkage = "";
    for (size_t first = 0, file = 0; first < all.size(); first += options.kernelsPerFile, ++file) {
      std::string body;
      llvm::raw_string_ostream os(body);
      codegen::cxx::Needs needs;
      for (size_t k = first; k < std::min(all.size(), first + options.kernelsPerFile); ++k) {
        if (failed(codegen::cxx::printKernel(all[k], os, needs, external)) ||
            failed(codegen::cxx::printKernelDeclaration(all[k], declared, external)))
          return false;
        os << "\n";
      }
      std::string path = fmt::format("src/kernels_{}.cpp", file);
      std::string text =
          fmt::format("{}\n#include \"kernels.h\"\n{}\nnamespace {}_kernels {{\n\nusing namespace "
                      "ortc_rt;\n\n{}}} // namespace {}_kernels\n",
                      head, includes(needs), request.name, body, request.name);
      if (!writer.write(path, text)) return false;
      sources.push_back(path);
    }
    return writer.write(
        "src/kernels.h",
        fmt::format("{}#pragma once\n#include \"rt/half.h\"\n#include \"rt/pool.h\"\n\nnamespace "
                    "{}_kernels {{\n\nusing namespace ortc_rt;\n\n{}\n}} // namespace {}_kernels\n",
                    head, request.name, declarations, request.name));
  }

  bool writeMain() {
    const std::string& n = request.name;
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

    std::string weights, open;
    bool hasWeights = io.weightsBytes != 0;
    if (hasWeights && request.weights == "embed")
      weights = fmt::format("ORTC_EMBED({0}_weights, \"weights/{0}.bin\")\n\n", n),
      open = fmt::format("  c->params.data = {}_weights;\n  c->params.size = {};\n", n,
                         io.weightsBytes);
    if (hasWeights && request.weights == "array")
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
                         n, io.weightsBytes);
    }
    int64_t dims = static_cast<int64_t>(io.dims.size());
    std::string reserve = io.arenaBytes ? fmt::format("{}", *io.arenaBytes)
                                        : std::string("uint64_t(arena_bytes(sizes))");
    std::string text =
        head +
        fmt::format(
            R"(//
// The program: kernels, the order in which they run, and the C interface.
#include "{n}/{n}.h"

#include "rt/context.h"
{kernelsH}{includes}
{weights}namespace {{

using namespace ortc_rt;
{usingKernels}
{strings}{body}{program}
{arena}// ---- what this model is, for callers that know nothing of it ----
{tables}}} // namespace

extern "C" {{

ortc_status {n}_create(const ortc_options* options, ortc_context** context) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto* c = create_context<ortc_rt::context>();
  *context = context_handle(c);
  if (!c) return ORTC_OUT_OF_MEMORY;
  if (const ortc_status s = c->open(*{n}_model(), options, {heap})) return s;
{open}{createArena}  return ORTC_OK;
}}

ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<ortc_rt::context>(context);
  const run_scope scope(c);
  if (scope.busy) return ORTC_BUSY;
  if (const ortc_status s = c.check_dims(sizes)) return s;
  return c.reserve_arena({reserve});
}}

ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs) {{
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

uint64_t {n}_output_bound(int32_t index, const int64_t* sizes) {{ return output_bytes(*{n}_model(), index, sizes); }}

const char* {n}_error(const ortc_context* context) {{
  return context ? context_cast<ortc_rt::context>(context)->message : "no context: out of memory";
}}

void {n}_destroy(ortc_context* context) {{
  if (!context) return;
{close}  destroy_context(context_cast<ortc_rt::context>(context));
}}

const ortc_model* {n}_model(void) {{
  static const ortc_model model = {{
      ORTC_ABI_VERSION, sizeof(ortc_model), "{n}", "{target}", "{sha}",
      {numIn}, {numOut}, {numDims}, 0,
      {inTable}, {outTable}, {dimTable}, {weightsBytes}, {arenaBytes},
      {n}_create, {n}_reserve, {n}_run, nullptr, {n}_output_bound, {n}_error, {n}_destroy}};
  return &model;
}}

}} // extern "C"
)",
            fmt::arg("n", n), fmt::arg("kernelsH", split() ? "#include \"kernels.h\"\n" : ""),
            fmt::arg("includes", includes(needs)), fmt::arg("weights", weights),
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
    std::string path = fmt::format("src/{}.cpp", n);
    sources.insert(sources.begin(), path);
    return writer.write(path, text);
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

} // namespace

bool writeCxxBundle(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
                    const TargetInfo& target, const CxxBundleOptions& options,
                    Diagnostics& diagnostics) {
  bool ok = CxxBundle(program, facts, request, target, options, diagnostics).write();
  if (!ok && !diagnostics.hasErrors())
    diagnostics.error("", "an operation could not be printed; this is a fault of ortc");
  return ok;
}

} // namespace ortc
