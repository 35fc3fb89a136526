// SPDX-License-Identifier: Apache-2.0
// GPUs through Vulkan 1.1: SPIR-V kernels inside a C++ library, one dispatch per kernel, one thread
// per element.
#include "codegen/bundle/Bundle.h"
#include "codegen/common/Provenance.h"
#include "codegen/common/Text.h"
#include "codegen/spirv/PrintSpirv.h"
#include "compiler/pipeline/DiagnosticBridge.h"
#include "compiler/support/Names.h"

using namespace mlir;

namespace ortc {
namespace {

using codegen::spirv_text::SpirvKernel;

const std::vector<std::string> kCompileOptions = {"-ffp-contract=off", "-fno-math-errno",
                                                  "-fno-exceptions",   "-fno-rtti",
                                                  "-Wno-psabi",        "-fvisibility=hidden"};

class VulkanBundle {
public:
  VulkanBundle(ModuleOp module, const ProgramFacts& facts, const BundleRequest& request,
               const TargetInfo& target, Diagnostics& diagnostics)
      : module(module), facts(facts), request(request), target(target),
        writer(request, diagnostics), io(codegen::readFacts(module)) {}

  bool write() {
    auto compiled = codegen::spirv_text::compileKernels(module);
    if (failed(compiled)) return false;
    program = std::move(*compiled);
    for (auto& [feature, kernel] : program.needs)
      writer.needs.push_back(feature + ": kernel '" + kernel + "'");
    if (!writer.writeWeights(facts.weights) || !writeShaders() || !writeMain()) return false;
    std::set<std::string> tags{"core", "typed"};
    if (!headers.empty())
      tags.insert({"kernels", "functions", "narrow"}); // they include each other
    if (!writer.copyRuntime(tags)) return false;
    std::vector<std::string> sources{fmt::format("src/{}.cpp", request.name)};
    for (const char* s : {"vulkan_loader", "vulkan_device", "ortc_vulkan", "vulkan_bundle"}) {
      sources.push_back(fmt::format("runtime/rt/{}.cpp", s));
      for (const char* ending : {"h", "cpp"})
        if (!writer.copyResource(fmt::format("targets/vulkan/host/{}.{}", s, ending),
                                 fmt::format("runtime/rt/{}.{}", s, ending)))
          return false;
    }
    for (const char* s : {"arena", "context", "pool", "tensors", "weights"})
      sources.push_back(fmt::format("runtime/rt/{}.cpp", s));
    return writer.writeHeaders(io, target.name()) && writer.writeCMake(sources, kCompileOptions) &&
           writer.writeManifest(io, facts, module, target, sources, kCompileOptions);
  }

private:
  ModuleOp module;
  const ProgramFacts& facts;
  const BundleRequest& request;
  const TargetInfo& target;
  codegen::BundleWriter writer;
  codegen::BundleFacts io;
  codegen::spirv_text::SpirvProgram program;
  std::set<std::string> headers; // of the runtime, for arithmetic of the host program

  std::string head() {
    return fmt::format("// ortc {}. Do not edit: regenerate with `{}`.\n", ORTC_VERSION,
                       escapeForComment(request.command));
  }

  /// shaders/NAME.inc: the words that are linked in. shaders/KERNEL.spv and KERNEL.mlir: the same
  /// for tools and readers.
  bool writeShaders() {
    std::string all = head() + "//\n// SPIR-V of the kernels; shaders/*.mlir is what it says.\n";
    std::string table;
    for (const SpirvKernel& k : program.kernels) {
      const std::string& name = k.legal.name;
      std::string line = fmt::format("const uint32_t {}_words[] = {{", name);
      for (auto [i, word] : llvm::enumerate(k.words))
        line += (i % 8 ? " " : "\n    ") + fmt::format("0x{:08x},", word);
      all += line + "\n};\n";
      table += fmt::format("    {{\"{0}\", \"{0}\", {0}_words, {1}, {2}, 0x{3:x}, {4}}},\n", name,
                           k.words.size(), k.legal.bindings.size(), k.legal.writes,
                           4 * k.legal.pushWords);
      std::string text;
      llvm::raw_string_ostream os(text);
      codegen::Writer w(os);
      codegen::printProvenance(k.source, w);
      if (!writer.write(fmt::format("shaders/{}.mlir", name), text + k.text + "\n") ||
          !writer.write(
              fmt::format("shaders/{}.spv", name),
              StringRef(reinterpret_cast<const char*>(k.words.data()), k.words.size() * 4)))
        return false;
    }
    if (!table.empty()) all += "const ortc_rt::vulkan_kernel kernels[] = {\n" + table + "};\n";
    return writer.write(fmt::format("shaders/{}.inc", request.name), all);
  }

  bool writeMain() {
    const std::string& n = request.name;
    std::string arena, run, names, features;
    llvm::raw_string_ostream as(arena), rs(run);
    auto function = module.lookupSymbol<func::FuncOp>("run");
    if (failed(codegen::spirv_text::printArenaBytes(function, program, as, headers)) ||
        failed(codegen::spirv_text::printProgram(function, program, n + "_context", rs, headers)))
      return false;
    std::string includes;
    for (const std::string& h : headers)
      includes += fmt::format("#include \"{}\"\n", h);
    if (StringRef(arena).starts_with("static "))
      arena.erase(0, 7); // all of it is in a namespace without a name
    for (const SpirvKernel& k : program.kernels)
      names += fmt::format("  kernel_{},\n", k.legal.name);
    if (!names.empty()) names = "enum : uint32_t {\n" + names + "};\n\n";
    for (auto& [feature, kernel] : program.needs)
      features += (features.empty() ? "" : " | ") + feature;
    bool hasWeights = io.weightsBytes != 0, isFile = hasWeights && request.weights == "file";
    std::string weights, open;
    if (hasWeights && request.weights == "embed")
      weights = fmt::format("ORTC_EMBED({0}_weights, \"weights/{0}.bin\")\n\n", n),
      open = fmt::format("  c->params.data = {}_weights;\n  c->params.size = {};\n", n,
                         io.weightsBytes);
    if (hasWeights && request.weights == "array")
      weights = fmt::format("#include \"weights/{}.inc\"\n\n", n),
      open = fmt::format("  c->params.data = reinterpret_cast<const char*>(weights_words);\n  "
                         "c->params.size = {};\n",
                         io.weightsBytes);
    if (isFile) {
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
    std::string text =
        head() +
        fmt::format(
            R"(//
// The program that dispatches the kernels, and the C interface.
#include "{n}/{n}.h"

{includes}#include "rt/vulkan_bundle.h"

{weights}namespace {{

using namespace ortc_rt;

#include "shaders/{n}.inc"

{names}const vulkan_model shaders = {{
    "{n}", {kernels}, {numKernels}, {features}, 0, {threads}, {weightsBytes}}};

struct {n}_context : vulkan_bundle {{
  vulkan_range places[{numIo}] = {{}};
}};

{arena}
{run}
// ---- what this model is, for callers that know nothing of it ----
{tables}}} // namespace

extern "C" {{

ortc_status {n}_create(const ortc_options* options, ortc_context** context) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto* c = create_context<{n}_context>();
  *context = context_handle(c);
  if (!c) return ORTC_OUT_OF_MEMORY;
  c->io = c->places;
{open}  const ortc_status opened = c->open_vulkan(*{n}_model(), options, shaders);
{close}  if (opened != ORTC_OK) return opened;
{reserveNow}  return ORTC_OK;
}}

ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<{n}_context>(context);
  const run_scope scope(c);
  if (scope.busy) return ORTC_BUSY;
  if (const ortc_status s = c.check_dims(sizes)) return s;
  return c.reserve_vulkan(arena_bytes(sizes), sizes);
}}

ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<{n}_context>(context);
  int64_t dims[{dimsOrOne}] = {{}};
  return c.run_host(inputs, outputs, dims, arena_bytes, [&] {{ return run(c, outputs, dims); }});
}}

uint64_t {n}_output_bound(int32_t index, const int64_t* sizes) {{ return output_bytes(*{n}_model(), index, sizes); }}

const char* {n}_error(const ortc_context* context) {{
  return context ? context_cast<{n}_context>(context)->message : "no context: out of memory";
}}

void {n}_destroy(ortc_context* context) {{
  if (context) destroy_context(context_cast<{n}_context>(context));
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
            fmt::arg("n", n), fmt::arg("includes", includes), fmt::arg("weights", weights),
            fmt::arg("names", names),
            fmt::arg("kernels", program.kernels.empty() ? "nullptr" : "kernels"),
            fmt::arg("numKernels", program.kernels.size()),
            fmt::arg("features", features.empty() ? "0" : features),
            fmt::arg("threads", codegen::spirv_text::kThreads),
            fmt::arg("weightsBytes", io.weightsBytes),
            fmt::arg("numIo", std::max<size_t>(1, io.inputs.size() + io.outputs.size())),
            fmt::arg("arena", arena), fmt::arg("run", run), fmt::arg("tables", writer.ioTables(io)),
            fmt::arg("open", open),
            fmt::arg("close", isFile ? "  weights_close(c->params); // the device has them\n" : ""),
            fmt::arg("reserveNow",
                     io.dims.empty()
                         ? "  if (const ortc_status s = c->reserve_vulkan(arena_bytes(nullptr), "
                           "nullptr)) return s;\n"
                         : ""),
            fmt::arg("dimsOrOne", std::max<size_t>(1, io.dims.size())),
            fmt::arg("target", target.name()), fmt::arg("sha", request.sha256),
            fmt::arg("numIn", io.inputs.size()), fmt::arg("numOut", io.outputs.size()),
            fmt::arg("numDims", io.dims.size()),
            fmt::arg("inTable", io.inputs.empty() ? "nullptr" : "inputs"),
            fmt::arg("outTable", io.outputs.empty() ? "nullptr" : "outputs"),
            fmt::arg("dimTable", io.dims.empty() ? "nullptr" : "dimensions"),
            fmt::arg("arenaBytes", io.arenaBytes ? fmt::format("UINT64_C({})", *io.arenaBytes)
                                                 : std::string("UINT64_MAX")));
    return writer.write(fmt::format("src/{}.cpp", n), text);
  }
};

class VulkanTarget final : public TargetInfo {
public:
  std::string name() const override { return "vulkan"; }
  int64_t alignment() const override { return codegen::spirv_text::kBindingAlignment; }
  unsigned indexBits() const override { return 32; }
  bool bindsRanges() const override { return true; }
  bool checksData() const override { return false; } // a round trip to the device each time
  Schedule schedule(KernelOp) const override { return {/*parallelLoops=*/-1, /*vectorLanes=*/0}; }
  bool emit(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    DiagnosticBridge bridge(*program.getContext(), diagnostics);
    bool ok = VulkanBundle(program, facts, request, *this, diagnostics).write();
    if (!ok && !diagnostics.hasErrors())
      diagnostics.error("", "the bundle could not be written for Vulkan; this is a fault of ortc");
    return ok;
  }
};

[[maybe_unused]] const bool registered = registerTarget(
    "vulkan", [] { return std::unique_ptr<TargetInfo>(new VulkanTarget); },
    "SPIR-V for GPUs with Vulkan 1.1");

} // namespace
} // namespace ortc
