// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs: CUDA C++ that nvcc compiles for four generations and as PTX for what comes after
// them. Every kernel is one launch: a tile of kernels/ for products and convolutions that are worth
// it, else one thread per element or a block per row (Schedules.h).
#include "codegen/bundle/Bundle.h"
#include "codegen/cuda/PrintCuda.h"
#include "compiler/pipeline/DiagnosticBridge.h"
#include "compiler/support/Names.h"
#include "targets/cuda/Families.h"
#include "targets/cuda/Schedules.h"

using namespace mlir;

namespace ortc {
namespace {

/// Capabilities that machine code is made for, and the PTX of the last one.
constexpr int kArchs[] = {75, 80, 90, 100};

class CudaBundle {
public:
  CudaBundle(ModuleOp module, const ProgramFacts& facts, const BundleRequest& request,
             const TargetInfo& target, Diagnostics& diagnostics)
      : module(module), facts(facts), request(request), target(target),
        writer(request, diagnostics), io(codegen::readFacts(module)) {}

  bool write() {
    if (!writer.writeWeights(facts.weights) || !writeMain() ||
        !writer.copyRuntime({"core", "typed"}))
      return false;
    std::vector<std::string> sources{fmt::format("src/{}.cu", request.name),
                                     "runtime/rt/cuda_context.cpp"};
    for (const char* s : {"arena", "context", "pool", "tensors", "weights"})
      sources.push_back(fmt::format("runtime/rt/{}.cpp", s));
    for (const char* f : {"cuda_context.h", "cuda_context.cpp", "ortc_cuda.cuh", "ops.cuh",
                          "rows.cuh", "narrow.cuh"})
      if (!writer.copyResource(fmt::format("targets/cuda/host/{}", f),
                               fmt::format("runtime/rt/{}", f)))
        return false;
    std::set<std::string> headers;
    for (const std::string& callee : needs.templates)
      headers.insert(cuda::Families::templateHeader(callee, "cuh"));
    if (!headers.empty()) headers.insert("kernels/tile/tile.cuh");
    for (const std::string& h : headers)
      if (!writer.copyResource("targets/cuda/" + h, h)) return false;
    return writer.writeHeaders(io, "cuda") && writeCMake() &&
           writer.writeManifest(io, facts, module, target, sources, {});
  }

private:
  ModuleOp module;
  const ProgramFacts& facts;
  const BundleRequest& request;
  const TargetInfo& target;
  codegen::BundleWriter writer;
  codegen::BundleFacts io;
  codegen::cuda::Needs needs;

  bool writeMain() {
    const std::string& n = request.name;
    std::string body, arena;
    llvm::raw_string_ostream os(body), as(arena);
    for (auto f : module.getOps<func::FuncOp>()) {
      if (!f->hasAttr("ortc.kernel")) continue;
      if (failed(codegen::cuda::printKernel(f, os, needs))) return false;
      os << "\n";
    }
    std::string includes;
    for (const std::string& callee : needs.templates)
      includes += fmt::format("#include \"{}\"\n", cuda::Families::templateHeader(callee, "cuh"));
    auto run = module.lookupSymbol<func::FuncOp>("run");
    codegen::cuda::Options options;
    options.contextType = n + "_context";
    if (failed(codegen::cuda::printArenaBytes(run, as))) return false;
    auto bounds = module.lookupSymbol<func::FuncOp>("output_bounds");
    if (bounds && failed(codegen::cuda::printComputedBytes(bounds, as))) return false;
    std::string program;
    llvm::raw_string_ostream ps(program);
    if (failed(codegen::cuda::printProgram(run, ps, options))) return false;
    std::string archs;
    for (int a : kArchs)
      archs += (archs.empty() ? "" : ", ") + std::to_string(a);
    bool hasWeights = io.weightsBytes != 0;
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
    std::string text = fmt::format(
        R"(// ortc {version}. Do not edit: regenerate with `{command}`.
//
// Kernels, the program that launches them, and the C interface. The same text runs on a CPU under the emulator.
#include "{n}/{n}.h"

#include "cuda_context.h"
{includes}
{weights}namespace {n}_bundle {{
namespace {{

using namespace ortc_rt;
ORTC_USE_FUNCTIONS;

const int archs[] = {{{archs}}};
const cuda_build build = {{archs, {numArchs}, {ptx}}};

struct {n}_context : cuda_context {{
  char* places[{numIo}] = {{}};
  int64_t dims[{dimsOrOne}] = {{}};
}};

{body}{arena}
{program}
// ---- what this model is, for callers that know nothing of it ----
{tables}}} // namespace

extern "C" {{

ortc_status {n}_create(const ortc_options* options, ortc_context** context) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto* c = create_context<{n}_context>();
  *context = context_handle(c);
  if (!c) return ORTC_OUT_OF_MEMORY;
  c->io = c->places;
{open}  if (const ortc_status s = c->open_cuda(*{n}_model(), options, build)) return s;
  if (const ortc_status s = c->upload_weights()) return s;
{reserveNow}  return ORTC_OK;
}}

ortc_status {n}_reserve(ortc_context* context, const int64_t* sizes) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<{n}_context>(context);
  const run_scope scope(c);
  if (scope.busy) return ORTC_BUSY;
  if (const ortc_status s = c.check_dims(sizes)) return s;
  return c.reserve_cuda(arena_bytes(sizes), sizes);
}}

ortc_status {n}_run(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<{n}_context>(context);
  return c.run_host(inputs, outputs, c.dims, arena_bytes, [&](cudaStream_t stream) {{ return run(c, outputs, c.dims, stream); }});
}}

ortc_status {n}_run_async(ortc_context* context, const ortc_tensor* inputs, ortc_tensor* outputs, void* stream) {{
  if (!context) return ORTC_INVALID_ARGUMENT;
  auto& c = *context_cast<{n}_context>(context);
  return c.run_device(inputs, outputs, c.dims, stream, arena_bytes, [&](cudaStream_t s) {{ return run(c, outputs, c.dims, s); }});
}}

uint64_t {n}_output_bound(int32_t index, const int64_t* sizes) {{
{outputBound}
}}

const char* {n}_error(const ortc_context* context) {{
  return context ? context_cast<{n}_context>(context)->message : "no context: out of memory";
}}

void {n}_destroy(ortc_context* context) {{
  if (context) destroy_context(context_cast<{n}_context>(context));
}}

const ortc_model* {n}_model(void) {{
  static const ortc_model model = {{
      ORTC_ABI_VERSION, sizeof(ortc_model), "{n}", "cuda", "{sha}",
      {numIn}, {numOut}, {numDims}, 0,
      {inTable}, {outTable}, {dimTable}, {weightsBytes}, {arenaBytes},
      {n}_create, {n}_reserve, {n}_run, {n}_run_async, {n}_output_bound, {n}_error, {n}_destroy}};
  return &model;
}}

}} // extern "C"
}} // namespace {n}_bundle
)",
        fmt::arg("version", ORTC_VERSION), fmt::arg("command", escapeForComment(request.command)),
        fmt::arg("n", n), fmt::arg("weights", weights), fmt::arg("includes", includes),
        fmt::arg("archs", archs), fmt::arg("numArchs", std::size(kArchs)),
        fmt::arg("ptx", kArchs[std::size(kArchs) - 1]),
        fmt::arg("numIo", std::max<size_t>(1, io.inputs.size() + io.outputs.size())),
        fmt::arg("dimsOrOne", std::max<size_t>(1, io.dims.size())), fmt::arg("body", body),
        fmt::arg("arena", arena), fmt::arg("program", program),
        fmt::arg("tables", writer.ioTables(io)), fmt::arg("open", open),
        fmt::arg("outputBound", codegen::outputBoundBody(n, bounds != nullptr)),
        fmt::arg("reserveNow", io.dims.empty()
                                   ? "  if (const ortc_status s = "
                                     "c->reserve_cuda(arena_bytes(c->dims), c->dims)) return s;\n"
                                   : ""),
        fmt::arg("sha", request.sha256), fmt::arg("numIn", io.inputs.size()),
        fmt::arg("numOut", io.outputs.size()), fmt::arg("numDims", io.dims.size()),
        fmt::arg("inTable", io.inputs.empty() ? "nullptr" : "inputs"),
        fmt::arg("outTable", io.outputs.empty() ? "nullptr" : "outputs"),
        fmt::arg("dimTable", io.dims.empty() ? "nullptr" : "dimensions"),
        fmt::arg("weightsBytes", io.weightsBytes),
        fmt::arg("arenaBytes", io.arenaBytes ? fmt::format("UINT64_C({})", *io.arenaBytes)
                                             : std::string("UINT64_MAX")));
    return writer.write(fmt::format("src/{}.cu", n), text);
  }

  bool writeCMake() {
    const std::string& n = request.name;
    std::string archs;
    for (int a : kArchs)
      archs += fmt::format("{}-real;", a);
    archs += fmt::format("{}-virtual", kArchs[std::size(kArchs) - 1]);
    std::string text = fmt::format(
        R"(# {command}
# Use with add_subdirectory, or install and find_package({n}); the target is {n}::{n} either way. Needs the CUDA Toolkit 13.
cmake_minimum_required(VERSION 3.24)
project({n} VERSION 1.0.0 LANGUAGES CXX CUDA)

add_library({n} STATIC
  src/{n}.cu
  runtime/rt/cuda_context.cpp
  runtime/rt/arena.cpp runtime/rt/context.cpp runtime/rt/pool.cpp runtime/rt/tensors.cpp runtime/rt/weights.cpp)
add_library({n}::{n} ALIAS {n})
set_target_properties({n} PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_STANDARD 17 CXX_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
  CUDA_ARCHITECTURES "{archs}")
target_include_directories({n}
  PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include> $<INSTALL_INTERFACE:include>
  PRIVATE ${{CMAKE_CURRENT_SOURCE_DIR}} runtime runtime/rt)
target_compile_options({n} PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Xcompiler=-fvisibility=hidden -Xcompiler=-Wa\\,-I${{CMAKE_CURRENT_SOURCE_DIR}}>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility=hidden -fno-exceptions -fno-rtti>)
target_compile_definitions({n} PRIVATE ORTC_RT_PREFIX={n})
set_source_files_properties(runtime/rt/cuda_context.cpp PROPERTIES LANGUAGE CUDA)
find_package(Threads REQUIRED)
target_link_libraries({n} PUBLIC Threads::Threads ${{CMAKE_DL_LIBS}})

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS {n} EXPORT {n}Targets ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}})
install(DIRECTORY include/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {n}Targets NAMESPACE {n}:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
configure_package_config_file({n}Config.cmake.in ${{CMAKE_CURRENT_BINARY_DIR}}/{n}Config.cmake
  INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{n}Config.cmake DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{n})
)",
        fmt::arg("command", request.command), fmt::arg("n", n), fmt::arg("archs", archs));
    return writer.write("CMakeLists.txt", text) &&
           writer.write(
               n + "Config.cmake.in",
               fmt::format("@PACKAGE_INIT@\ninclude(CMakeFindDependencyMacro)\nfind_dependency("
                           "Threads)\ninclude(\"${{CMAKE_CURRENT_LIST_DIR}}/{0}Targets.cmake\")\n",
                           n));
  }
};

class CudaTarget final : public TargetInfo {
public:
  std::string name() const override { return "cuda"; }
  Runner runner() const override { return Runner::CudaLibrary; }
  int64_t alignment() const override { return 256; }
  bool prefersChannelsLast() const override { return true; }

  std::vector<Candidate> candidates(KernelOp kernel) const override {
    return cuda::Families::candidates(kernel, device);
  }
  double loopsCost(KernelOp kernel) const override { return cuda::loopsCost(kernel, device); }
  bool checksData() const override { return false; } // a round trip to the device each time
  Schedule schedule(KernelOp kernel) const override { return cuda::schedule(kernel); }
  FailureOr<LoweredKernel> writeChoice(KernelOp kernel, ModuleOp module, StridesOf strides,
                                       Weights&) const override {
    return cuda::Families::write(kernel, module, strides);
  }
  bool emit(ModuleOp program, const ProgramFacts& facts, const BundleRequest& request,
            Diagnostics& diagnostics) const override {
    DiagnosticBridge bridge(*program.getContext(), diagnostics);
    if (!codegen::requireOutputBounds(program, diagnostics)) return false;
    bool ok = CudaBundle(program, facts, request, *this, diagnostics).write();
    if (!ok && !diagnostics.hasErrors())
      diagnostics.error("", "an operation could not be printed; this is a fault of ortc");
    return ok;
  }

private:
  cuda::Device device;
};

[[maybe_unused]] const bool registered = registerTarget(
    "cuda", [] { return std::unique_ptr<TargetInfo>(new CudaTarget); },
    "CUDA C++ for NVIDIA GPUs from sm_75 on");

} // namespace
} // namespace ortc
