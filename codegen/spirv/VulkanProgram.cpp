// SPDX-License-Identifier: Apache-2.0
// The host program for Vulkan. One arena holds everything but the weights: what the planner placed, then inputs and outputs.
#include "codegen/common/CProgram.h"
#include "codegen/spirv/EmitSpirv.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::spirv {
namespace {

class VulkanProgram : public CProgramPrinter {
public:
  VulkanProgram(func::FuncOp program, const gpu::DeviceModule& device, llvm::raw_ostream& os) : CProgramPrinter(Language::Cxx, program, os), device(device) {
    for (const char* name : {"vk", "arena", "in", "out", "end", "at", "weights_range"}) names.reserve(name);
  }
  bool usesGroups = false;

  unsigned count(StringRef key) {
    auto list = program->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(key);
    return list ? list.size() : 0;
  }

  LogicalResult printPlaces() {
    names.reserve("dims");
    bindDims();
    analyze(program.getBody());
    w.indent = 1;
    Expr arena;
    SmallVector<Expr> inputs, outputs;
    SmallVector<std::string> table = programDimNames(program->getParentOfType<ModuleOp>());
    auto dimText = [&](StringRef dim) { return Expr{"dims[" + std::to_string(llvm::find(table, dim) - table.begin()) + "]"}; };
    if (mlir::failed(bufferBytes(program, dimText, arena, inputs, outputs))) return failure();
    w.line("uint64_t end = round_up(uint64_t(" + arena.text + "));");
    for (auto [list, name] : {std::pair(&inputs, "inputs"), std::pair(&outputs, "outputs")})
      for (auto [i, bytes] : llvm::enumerate(*list)) {
        w.line(std::string(name) + "[" + std::to_string(i) + "] = vk_arena(end, uint64_t(" + bytes.text + "));");
        w.line("end += round_up(" + std::string(name) + "[" + std::to_string(i) + "].size);");
      }
    w.line("return end;");
    return success(!hasFailed);
  }

protected:
  std::string bufferPointer(BufferOp, const Expr&, const std::string&) override { return ""; }
  LogicalResult printRequireArena(RequireArenaOp) override { return success(); }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
        .Case([&](BufferOp) { return success(); }) // kernels and read-backs say themselves where they are
        .Case([&](memref::LoadOp load) -> std::optional<LogicalResult> {
          auto buffer = load.getMemRef().getDefiningOp<BufferOp>();
          if (!buffer || buffer.getSegment() == "weights") return unsupported(op, "a read of this buffer");
          std::string name = freshName(load, "value"), element = elementTypeName(load.getType());
          Expr at = sum(byteOffset(buffer), product(expr(load.getIndices()[0]), integer(load.getType().isIndex() ? 8 : std::max<int64_t>(1, load.getType().getIntOrFloatBitWidth() / 8))));
          w.line(element + " " + name + ";");
          w.line("vk.download(&" + name + ", vk_arena(" + rangeName(buffer) + ".offset + uint64_t(" + at.text + "), sizeof " + name + "));");
          w.open("if (!vk.flush()) {");
          w.line("return vk.finish();");
          w.close();
          return bind(load, {name}), success();
        })
        .Case([&](OutputDimsOp dims) -> std::optional<LogicalResult> {
          outputSizes[dims.getNumber()] = dims;
          return CProgramPrinter::printSpecial(op);
        })
        .Case([&](CheckOp check) -> std::optional<LogicalResult> {
          w.open("if (" + unary("!", expr(check.getCondition())).text + ") {");
          w.line("vk.fail(ORTC_" + check.getStatus().str() + ", \"%s\", \"" + escapeForString(check.getMessage()) + "\");");
          w.line("return vk.finish();");
          w.close();
          return success();
        })
        .Case<HostStepOp, memref::CopyOp>([&](Operation*) { return unsupported(op, "steps of the host"); })
        .Case([&](func::ReturnOp) -> std::optional<LogicalResult> {
          // A variable must not be used outside of its scope: sizes are read back from what the caller was told.
          for (unsigned i = 0; i < count("ortc.outputs"); ++i) {
            OutputDimsOp dims = outputSizes.lookup(i);
            if (!dims) continue;
            std::string n = std::to_string(i), bytes = "uint64_t(" + std::to_string(dims.getElementBytes()) + ")";
            for (unsigned d = 0; d < dims.getSizes().size(); ++d) bytes += " * uint64_t(outputs[" + n + "].dims[" + std::to_string(d) + "])";
            w.line("vk.download(outputs[" + n + "].data, vk_arena(out[" + n + "].offset, " + bytes + "));");
          }
          w.line("return vk.finish();");
          return success();
        })
        .Default([&](Operation*) { return CProgramPrinter::printSpecial(op); });
  }

  LogicalResult printLaunch(LaunchOp op) override {
    int index = device.kernelOf(op);
    if (index < 0) return unsupported(op, "its kernel was not lowered");
    const gpu::DeviceKernel& kernel = device.kernels()[index];
    SmallVector<std::string> ranges, scalars;
    for (const gpu::Binding& b : kernel.bindings) {
      std::string n = std::to_string(b.number);
      ranges.push_back(b.segment == "arena" ? "arena" : b.segment == "weights" ? "weights_range" : b.segment == "input" ? "in[" + n + "]" : "out[" + n + "]");
    }
    for (const gpu::DeviceScalar& s : kernel.scalars) {
      Value operand = op->getOperand(s.arg);
      if (!s.isOffset) {
        std::string value = text(operand);
        scalars.push_back(s.letter == 'f' ? "bits_as<int32_t>(float(" + value + "))" : expr(operand).isInteger ? value : "int32_t(" + value + ")");
        continue;
      }
      Expr at = byteOffset(operand.getDefiningOp<BufferOp>());
      int64_t n;
      if (at.isInteger && !StringRef(at.text).getAsInteger(10, n)) scalars.push_back(std::to_string(n / s.unitBytes));
      else scalars.push_back("int32_t(" + (s.unitBytes == 1 ? at : binary("/", at, integer(s.unitBytes))).text + ")");
    }
    std::string grid = "1, 1, 1";
    if (kernel.parallel) {
      Expr total = launchCount(op, kernel.source, kernel.parallel);
      int64_t n;
      if (total.isInteger && !StringRef(total.text).getAsInteger(10, n)) grid = std::to_string(std::max<int64_t>(1, std::min<int64_t>(65535, (n + kernel.workgroup[0] - 1) / kernel.workgroup[0]))) + ", 1, 1";
      else usesGroups = true, grid = "groups(" + total.text + ", " + std::to_string(kernel.workgroup[0]) + "), 1, 1";
    } else if (kernel.source->hasAttr("ortc.grid")) {
      SmallVector<std::string> parts;
      for (const Expr& e : launchGrid(op, kernel.source)) parts.push_back(e.isInteger ? e.text : "uint32_t(" + e.text + ")");
      parts.resize(3, "1");
      grid = llvm::join(parts, ", ");
    }
    w.open("{");
    if (!scalars.empty()) w.line("const int32_t scalars[] = {" + llvm::join(scalars, ", ") + "};");
    w.line("const vulkan_range buffers[] = {" + llvm::join(ranges, ", ") + "};");
    w.line("vk.dispatch(" + std::to_string(index) + " /* " + kernel.name + " */, buffers, " + std::to_string(ranges.size()) + ", " +
           (scalars.empty() ? "nullptr, 0" : "scalars, sizeof scalars") + ", " + grid + ");");
    w.close();
    return success();
  }

private:
  Expr byteOffset(BufferOp op) { return op.getOffset() ? expr(op.getOffset()) : integer(0); }
  std::string rangeName(BufferOp op) {
    std::string n = std::to_string(op.getNumber());
    return op.getSegment() == "input" ? "in[" + n + "]" : op.getSegment() == "output" ? "out[" + n + "]" : "arena";
  }
  const gpu::DeviceModule& device;
  llvm::DenseMap<int64_t, OutputDimsOp> outputSizes;
};

} // namespace

LogicalResult printProgram(ModuleOp module, func::FuncOp program, const gpu::DeviceModule& device, llvm::raw_ostream& os, const Options& options) {
  std::string body, places;
  llvm::raw_string_ostream bodyStream(body), placesStream(places);
  VulkanProgram p(program, device, bodyStream), q(program, device, placesStream);
  bool ok = succeeded(p.printBody());
  ok &= succeeded(q.printPlaces()) && !p.failed() && !q.failed();
  std::string inputs = std::to_string(std::max(1u, p.count("ortc.inputs"))), outputs = std::to_string(std::max(1u, p.count("ortc.outputs")));
  os << "// Offsets of buffers suit every device.\n"
        "static uint64_t round_up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }\n\n";
  if (p.usesGroups)
    os << "// Workgroups for one thread per element; kernels loop, so that the limit of a dispatch does no harm.\n"
          "static uint32_t groups(int64_t elements, int64_t threads) {\n"
          "  const int64_t n = (elements + threads - 1) / threads;\n"
          "  return uint32_t(n < 1 ? 1 : n > 65535 ? 65535 : n);\n"
          "}\n\n";
  std::string placeDims = q.dimDeclarations(places);
  Writer w(os);
  auto parameter = [&](StringRef type, StringRef name, StringRef text) { return (type + (mentions(text, name) ? name.str() : "/*" + name.str() + "*/")).str(); };
  w.line("static uint64_t place(" + parameter("const int64_t* ", "dims", placeDims + places) + ", " + parameter("vulkan_range* ", "inputs", places) + ", " + parameter("vulkan_range* ", "outputs", places) + ") {");
  os << placeDims << places << "}\n\n";

  std::string head = p.dimDeclarations(body);
  head += "  vulkan_range in[" + inputs + "], out[" + outputs + "];\n";
  head += "  " + std::string(mentions(body, "arena") ? "const uint64_t bytes_of_arena = place(dims, in, out);\n" : "place(dims, in, out);\n");
  if (mentions(body, "arena")) head += "  const vulkan_range arena = vk_arena(0, bytes_of_arena);\n";
  auto weights = module->getAttrOfType<IntegerAttr>("ortc.weights_bytes");
  if (mentions(body, "weights_range")) head += "  const vulkan_range weights_range = vk_weights(0, " + std::to_string(weights ? weights.getInt() : 0) + ");\n";
  head += "  if (!vk.begin()) {\n    return vk.status();\n  }\n";
  for (unsigned i = 0; i < p.count("ortc.inputs"); ++i) head += "  vk.upload(in[" + std::to_string(i) + "], inputs[" + std::to_string(i) + "].data);\n";
  body = head + body;
  w.line("static ortc_status run(" + parameter(options.contextType + "& ", "context", body) + ", vulkan_context& vk, " + parameter("const ortc_tensor* ", "inputs", body) + ", " +
         parameter("ortc_tensor* ", "outputs", body) + ", " + parameter("const int64_t* ", "dims", body) + ") {");
  os << body << "}\n";
  return success(ok);
}

} // namespace ortc::codegen::spirv
