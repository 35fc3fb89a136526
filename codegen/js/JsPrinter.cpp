// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/CPrinter.h"
#include "codegen/common/Provenance.h"
#include "codegen/js/PrintJs.h"
#include "compiler/support/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::js {
namespace {

/// A string of JavaScript, whose characters are code points, not bytes as in C.
std::string quoted(StringRef text) {
  std::string r = "'";
  for (std::string_view rest(text.data(), text.size()); !rest.empty();) {
    const std::string_view before = rest;
    const int32_t c = takeCodePoint(rest);
    if (c == '\'' || c == '\\')
      r += '\\', r += static_cast<char>(c);
    else if (c < 0)
      r += "\\ufffd"; // no UTF-8: what a decoder makes of it
    else if (isUnsafeToPrint(c))
      r += "\\u{" + llvm::utohexstr(static_cast<uint32_t>(c), /*LowerCase=*/true) + "}";
    else
      r += before.substr(0, before.size() - rest.size());
  }
  return r + "'";
}

struct DType {
  const char* name;
  const char* array; ///< what a caller holds it in
};
DType dtypeOf(int64_t onnx) {
  switch (onnx) {
  case 1: return {"float32", "Float32Array"};
  case 2: return {"uint8", "Uint8Array"};
  case 3: return {"int8", "Int8Array"};
  case 4: return {"uint16", "Uint16Array"};
  case 5: return {"int16", "Int16Array"};
  case 6: return {"int32", "Int32Array"};
  case 7: return {"int64", "BigInt64Array"};
  case 9: return {"bool", "Uint8Array"};
  case 10: return {"float16", "Uint16Array"};
  case 11: return {"float64", "Float64Array"};
  case 12: return {"uint32", "Uint32Array"};
  case 13: return {"uint64", "BigUint64Array"};
  case 16: return {"bfloat16", "Uint16Array"};
  default: return {nullptr, nullptr};
  }
}

/// Host programs only: sizes, no floats.
constexpr Language kJs = {.name = "JavaScript", .onlyThese = true};

class JsPrinter : public Printer {
public:
  JsPrinter(ModuleOp module, const gpu::DeviceModule& device, llvm::raw_ostream& os)
      : Printer(kJs, os), module(module), device(device) {
    for (auto f : module.getOps<func::FuncOp>())
      if (f->hasAttr("ortc.program")) program = f;
    for (const char* name :
         {"run", "dims", "arena", "weights", "model", "groups", "bytes", "create", "sizes"})
      names.reserve(name);
    module.walk([&](BufferOp buffer) {
      if (buffer.getSegment() == "weights") names.reserve(weightsName(buffer.getNumber()));
    });
  }
  func::FuncOp program;
  bool usesGroups = false;
  static std::string weightsName(int64_t buffer) {
    return "weights" + (buffer ? std::to_string(buffer) : std::string());
  }

  unsigned count(StringRef key) {
    auto list = module->getAttrOfType<ArrayAttr>(key);
    return list ? list.size() : 0;
  }

  LogicalResult printProgram() {
    bindDims();
    analyze(program.getBody());
    w.indent = 2;
    // Inputs go to the device first.
    for (unsigned i = 0; i < count("ortc.inputs"); ++i) {
      w.line("const input" + std::to_string(i) + " = run.arena(" + std::to_string(1 + i) +
             ", 0, bytes[" + std::to_string(1 + i) + "]);");
      w.line("run.input(" + std::to_string(i) + ", input" + std::to_string(i) + ");");
      names.reserve("input" + std::to_string(i));
    }
    for (unsigned i = 0; i < count("ortc.outputs"); ++i) {
      std::string at = std::to_string(1 + count("ortc.inputs") + i);
      w.line("const output" + std::to_string(i) + " = run.arena(" + at + ", 0, bytes[" + at +
             "]);");
      names.reserve("output" + std::to_string(i));
    }
    return printBlock(program.getBody().front(), {});
  }

  /// The function that says how many bytes each buffer has.
  LogicalResult printSizes() {
    bindDims();
    analyze(program.getBody());
    w.indent = 1;
    Expr arena;
    SmallVector<Expr> inputs, outputs;
    if (mlir::failed(bufferBytes(
            program, [](StringRef dim) { return Expr{dimAccess(dim)}; }, arena, inputs, outputs)))
      return failure();
    SmallVector<std::string> list = {arena.text};
    for (const Expr& e : inputs)
      list.push_back(e.text);
    for (const Expr& e : outputs)
      list.push_back(e.text);
    w.line("return [" + llvm::join(list, ", ") + "];");
    return success(!hasFailed);
  }

  std::string dimDeclarations(StringRef body, unsigned indent) {
    std::string s;
    for (auto& [name, dim] : dimNames)
      if (mentions(body, name))
        s += std::string(indent, ' ') + "const " + name + " = " + dimAccess(dim) + ";\n";
    return s;
  }

protected:
  std::string typeName(Type type) override {
    return type.isInteger(1) ? "boolean" : isa<FloatType>(type) ? "float" : "number";
  }
  std::string constDecl(Type, StringRef name, StringRef init) override {
    return "const " + name.str() + " = " + init.str() + ";";
  }
  std::string varDecl(Type, StringRef name, StringRef init) override {
    return "let " + name.str() + (init.empty() ? ";" : " = " + init.str() + ";");
  }
  Expr floatLiteral(FloatType type, const APFloat& value) override {
    if (value.isNaN()) return {"NaN"};
    if (value.isInfinity())
      return value.isNegative() ? Expr{"-Infinity", Prec::Unary} : Expr{"Infinity"};
    std::string s = shortestDecimal(value);
    // The shortest text of an f32 is another number as f64.
    if (type.isF32() && APFloat(APFloat::IEEEdouble(), s).convertToDouble() !=
                            static_cast<double>(value.convertToFloat()))
      return call("Math.fround", {s});
    return {s, s[0] == '-' ? Prec::Unary : Prec::Primary};
  }
  Expr integerLiteral(Type type, const APInt& value) override {
    if (type.isInteger(1)) return {value.isZero() ? "false" : "true"};
    return integer(value.getSExtValue());
  }
  Expr castTo(Type, const Expr& e) override { return call("Number", {e.text}); }
  Expr unsignedCast(Type, const Expr& e) override { return {"(" + primary(e) + " >>> 0)"}; }
  Expr bitcastTo(Type, const Expr&) override { return {""}; }
  std::string forHeader(Type, StringRef name, const Expr& lower, const Expr& upper,
                        const Expr& step) override {
    std::string n = name.str(),
                next = codegen::isInteger(step, 1) ? "++" + n : n + " += " + step.text;
    return "for (let " + n + " = " + lower.text + "; " + binary("<", {n}, upper).text + "; " +
           next + ") {";
  }
  Expr divideSizes(const Expr& a, const Expr& b, bool up) override {
    return call(up ? "Math.ceil" : "Math.floor", {binary("/", a, b).text});
  }
  Expr compareIntegers(arith::CmpIOp op) override {
    Expr e = Printer::compareIntegers(op);
    for (StringRef o : {" == ", " != "})
      if (size_t at = e.text.find(o.str()); at != std::string::npos) e.text.insert(at + 3, "=");
    return e;
  }
  Expr integerOp(Operation* op) override {
    if (isScalarBool(op->getResult(0).getType())) return Printer::integerOp(op);
    Expr a = expr(op->getOperand(0)), b = expr(op->getOperand(1));
    Expr quotient = binary("/", a, b);
    if (isa<arith::DivSIOp>(op)) return call("Math.trunc", {quotient.text});
    if (isa<arith::DivUIOp, arith::FloorDivSIOp>(op)) return call("Math.floor", {quotient.text});
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) return call("Math.ceil", {quotient.text});
    if (isa<arith::RemUIOp>(op)) return binary("%", a, b);
    if (isa<arith::MaxUIOp>(op)) return call("Math.max", {a.text, b.text});
    if (isa<arith::MinUIOp>(op)) return call("Math.min", {a.text, b.text});
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::RemSIOp>(op))
      return Printer::integerOp(op);
    return {""};
  }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
        .Case<DimOp, RequireArenaOp, func::ReturnOp>([&](Operation*) { return success(); })
        .Case([&](BufferOp buffer) -> std::optional<LogicalResult> {
          buffers[buffer.getMemref()] = buffer;
          return success();
        })
        .Case([&](LaunchOp launch) { return printLaunch(launch); })
        .Case([&](OutputDimsOp dims) -> std::optional<LogicalResult> {
          SmallVector<std::string> sizes;
          for (Value v : dims.getSizes())
            sizes.push_back(text(v));
          std::string n = std::to_string(dims.getNumber());
          w.line("run.output(" + n + ", output" + n + ", [" + llvm::join(sizes, ", ") + "]);");
          return success();
        })
        .Case([&](CheckOp check) -> std::optional<LogicalResult> {
          w.open("if (" + unary("!", expr(check.getCondition())).text + ") {");
          w.line("run.fail(" + quoted(check.getMessage()) + ");");
          w.close();
          return success();
        })
        .Case([&](memref::LoadOp load) { return printReadBack(load); })
        .Case<HostStepOp, memref::CopyOp>(
            [&](Operation*) { return unsupported(op, "steps of the host"); })
        .Default([&](Operation*) -> std::optional<LogicalResult> {
          if (op->getNumResults() != 1 || op->getNumRegions()) return std::nullopt;
          StringRef f = llvm::StringSwitch<StringRef>(op->getName().getStringRef())
                            .Cases("arith.maxsi", "arith.maximumf", "arith.maxnumf", "Math.max")
                            .Cases("arith.minsi", "arith.minimumf", "arith.minnumf", "Math.min")
                            .Cases("math.absf", "math.absi", "Math.abs")
                            .Case("math.floor", "Math.floor")
                            .Case("math.ceil", "Math.ceil")
                            .Case("math.sqrt", "Math.sqrt")
                            .Case("math.exp", "Math.exp")
                            .Case("math.log", "Math.log")
                            .Case("math.trunc", "Math.trunc")
                            .Default("");
          if (!f.empty()) {
            SmallVector<std::string> args;
            for (Value v : op->getOperands())
              args.push_back(text(v));
            return define(op, rounded(op, call(f, args))), success();
          }
          if (isa<arith::FPToSIOp, arith::FPToUIOp>(op)) // NaN is 0
            return define(op,
                          {"(" + call("Math.trunc", {text(op->getOperand(0))}).text + " || 0)"}),
                   success();
          StringRef o = llvm::StringSwitch<StringRef>(op->getName().getStringRef())
                            .Case("arith.addf", "+")
                            .Case("arith.subf", "-")
                            .Case("arith.mulf", "*")
                            .Case("arith.divf", "/")
                            .Default("");
          if (!o.empty())
            return define(op,
                          rounded(op, binary(o, expr(op->getOperand(0)), expr(op->getOperand(1))))),
                   success();
          if (isa<arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp>(op) &&
              !op->getOperand(0).getType().isInteger(1)) {
            Expr from = expr(op->getOperand(0));
            if (isa<arith::ExtFOp>(op)) return forward(op, from), success();
            return define(op, rounded(op, from)), success();
          }
          return std::nullopt;
        });
  }

private:
  ModuleOp module;
  const gpu::DeviceModule& device;
  std::vector<std::pair<std::string, std::string>> dimNames;
  DenseMap<Value, BufferOp> buffers;

  /// Numbers of JavaScript are f64: what f32 arithmetic gives is that, rounded once more (exactly
  /// so for + - * / and sqrt). Sizes that are computed by floats turn on it.
  Expr rounded(Operation* op, const Expr& e) {
    bool exact = isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                     math::AbsFOp, math::FloorOp, math::CeilOp, math::TruncOp>(op);
    return op->getResult(0).getType().isF32() && !exact ? call("Math.fround", {e.text}) : e;
  }
  static std::string dimAccess(StringRef dim) {
    bool plain = !dim.empty() && !llvm::isDigit(dim[0]) &&
                 llvm::all_of(dim, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    return plain ? "dims." + dim.str() : "dims[" + quoted(dim) + "]";
  }
  void bindDims() {
    module.walk([&](DimOp dim) {
      std::string name;
      for (auto& [n, d] : dimNames)
        if (d == dim.getName()) name = n;
      if (name.empty()) {
        name = names.fresh(dim.getName());
        dimNames.push_back({name, dim.getName().str()});
      }
      bind(dim, {name});
    });
  }
  Expr byteOffset(BufferOp op) { return op.getOffset() ? expr(op.getOffset()) : integer(0); }
  std::string bufferIndex(BufferOp op) {
    StringRef segment = op.getSegment();
    if (segment == "input") return std::to_string(1 + op.getNumber());
    if (segment == "output") return std::to_string(1 + count("ortc.inputs") + op.getNumber());
    if (segment == "weights") return std::to_string(op.getNumber());
    return "0";
  }

  LogicalResult printReadBack(memref::LoadOp load) {
    BufferOp buffer = buffers.lookup(load.getMemRef());
    if (!buffer) return unsupported(load, "a read of this buffer");
    Type element = load.getType();
    int64_t bytes =
        element.isIndex() ? 8 : std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    const char* array = element.isF32() ? "Float32Array"
                        : bytes == 8    ? "BigInt64Array"
                        : bytes == 4    ? "Int32Array"
                        : bytes == 1    ? "Int8Array"
                                        : nullptr;
    if (!array || isa<FloatType>(element) != element.isF32())
      return unsupported(load, "a value of this type");
    Expr at = sum(byteOffset(buffer), product(expr(load.getIndices()[0]), integer(bytes)));
    std::string name = freshName(load, "value");
    auto range = [&](const std::string& offset, int64_t size) {
      StringRef f = buffer.getSegment() == "weights" ? "run.weights(" : "run.arena(";
      return (f + bufferIndex(buffer) + ", " + offset + ", " + std::to_string(size) + ")").str();
    };
    if (bytes < 4) {
      // Whole words travel.
      std::string place = names.fresh(name + "_at");
      w.line("const " + place + " = " + at.text + ";");
      std::string word = "(await run.read([" + range(place + " - " + place + " % 4", 4) + "], " +
                         array + "))[0][" + place + " % 4]";
      w.line("const " + name + " = " + word + (element.isInteger(1) ? " !== 0;" : ";"));
    } else {
      std::string value = "(await run.read([" + range(at.text, bytes) + "], " + array + "))[0][0]";
      w.line("const " + name + " = " + (bytes == 8 ? "Number(" + value + ")" : value) + ";");
    }
    return bind(load, {name}), success();
  }

  LogicalResult printLaunch(LaunchOp op) {
    int index = device.kernelOf(op);
    if (index < 0) return unsupported(op, "its kernel was not lowered");
    const gpu::DeviceKernel& kernel = device.kernels()[index];
    SmallVector<std::string> ranges, scalars;
    for (const gpu::Binding& b : kernel.bindings)
      ranges.push_back(b.segment == "arena"     ? b.segment
                       : b.segment == "weights" ? weightsName(device.weightsOf(op)[b.number])
                                                : b.segment + std::to_string(b.number));
    for (const gpu::DeviceScalar& s : kernel.scalars) {
      Value operand = op->getOperand(s.arg);
      if (!s.isOffset) {
        scalars.push_back(operand.getType().isInteger(1) ? "Number(" + text(operand) + ")"
                                                         : text(operand));
        continue;
      }
      Expr at = byteOffset(operand.getDefiningOp<BufferOp>());
      int64_t n;
      if (s.unitBytes == 1)
        scalars.push_back(at.text);
      else if (at.isInteger && !StringRef(at.text).getAsInteger(10, n))
        scalars.push_back(std::to_string(n / s.unitBytes));
      else
        scalars.push_back(binary("/", at, integer(s.unitBytes)).text);
    }
    std::string grid = "1";
    if (kernel.parallel) {
      Expr total = launchCount(op, kernel.source, kernel.parallel);
      int64_t n;
      if (total.isInteger && !StringRef(total.text).getAsInteger(10, n))
        grid = std::to_string(
            std::min<int64_t>(65535, (n + kernel.workgroup[0] - 1) / kernel.workgroup[0]));
      else
        usesGroups = true,
        grid = "groups(" + total.text + ", " + std::to_string(kernel.workgroup[0]) + ")";
    } else if (kernel.source->hasAttr("ortc.grid")) {
      SmallVector<std::string> parts;
      for (const Expr& e : launchGrid(op, kernel.source))
        parts.push_back(e.text);
      grid = llvm::join(parts, ", ");
    }
    w.line("run.dispatch(" + std::to_string(index) + " /* " + kernel.name + " */, [" +
           llvm::join(ranges, ", ") + "], [" + llvm::join(scalars, ", ") + "], " + grid + ");");
    return success();
  }
};

} // namespace

LogicalResult printModule(ModuleOp module, const gpu::DeviceModule& device, llvm::raw_ostream& os,
                          const Options& options) {
  std::string program, sizes;
  llvm::raw_string_ostream programStream(program), sizesStream(sizes);
  JsPrinter p(module, device, programStream), q(module, device, sizesStream);
  if (!p.program)
    return module.emitError("there is no program (a function with the attribute ortc.program)");
  bool ok = succeeded(p.printProgram());
  ok &= succeeded(q.printSizes()) && !p.failed() && !q.failed();

  Writer w(os);
  w.comment(fileHeader(module));
  w.line("import { createSession } from " + quoted(options.runtime) + ";");
  w.blank();
  if (p.usesGroups) {
    w.comment("Workgroups for one thread per element; kernels loop, so that the limit of a "
              "dispatch does no harm.");
    w.line("const groups = (elements, threads) => Math.min(65535, Math.ceil(elements / threads));");
    w.blank();
  }
  w.comment("Bytes of the arena, then of each input and each output.");
  std::string dims = q.dimDeclarations(sizes, 2);
  bool usesDims = !dims.empty() || mentions(sizes, "dims");
  w.line(std::string("function sizes(") + (usesDims ? "dims" : "") + ") {");
  os << dims << sizes << "}\n\n";

  auto nameAttr = module->getAttrOfType<StringAttr>("ortc.name");
  w.open("export const model = {");
  w.line("name: " + quoted(nameAttr ? nameAttr.getValue() : "model") + ",");
  for (StringRef key : {"ortc.inputs", "ortc.outputs"}) {
    w.open(key.drop_front(5).str() + ": [");
    if (auto list = module->getAttrOfType<ArrayAttr>(key))
      for (Attribute a : list) {
        auto io = cast<DictionaryAttr>(a);
        auto name = io.getAs<StringAttr>("name");
        auto dtype = io.getAs<IntegerAttr>("dtype");
        DType t = dtypeOf(dtype ? dtype.getInt() : 0);
        if (!t.name) {
          module.emitError() << "cannot print a program in JavaScript: '"
                             << (name ? name.getValue() : "")
                             << "' has a type that this target does not have";
          ok = false;
          continue;
        }
        SmallVector<std::string> shape;
        if (auto d = io.getAs<ArrayAttr>("dims"))
          for (Attribute s : d)
            shape.push_back(isa<IntegerAttr>(s)  ? std::to_string(cast<IntegerAttr>(s).getInt())
                            : isa<StringAttr>(s) ? quoted(cast<StringAttr>(s).getValue())
                                                 : "null");
        w.line("{ name: " + quoted(name ? name.getValue() : "") + ", dtype: '" + t.name +
               "', shape: [" + llvm::join(shape, ", ") + "] },");
      }
    w.close("],");
  }
  w.open("dims: [");
  llvm::StringSet<> seen;
  p.program.walk([&](DimOp dim) {
    if (!seen.insert(dim.getName()).second) return;
    std::string max = dim.getMax() == INT64_MAX ? "" : ", max: " + std::to_string(dim.getMax());
    std::string multiple =
        dim.getMultipleOf() == 1 ? "" : ", multipleOf: " + std::to_string(dim.getMultipleOf());
    w.line("{ name: " + quoted(dim.getName()) + ", min: " + std::to_string(dim.getMin()) + max +
           multiple + " },");
  });
  // Those of inputs that nothing reads.
  if (auto list = module->getAttrOfType<ArrayAttr>("ortc.inputs"))
    for (auto io : list.getAsRange<DictionaryAttr>())
      if (auto dims = io.getAs<ArrayAttr>("dims"))
        for (Attribute d : dims)
          if (auto dim = dyn_cast<StringAttr>(d); dim && seen.insert(dim.getValue()).second)
            w.line("{ name: " + quoted(dim.getValue()) + ", min: 0 },");
  w.close("],");
  w.open("kernels: [");
  for (const gpu::DeviceKernel& k : device.kernels()) {
    SmallVector<std::string> access;
    std::string letters;
    for (const gpu::Binding& b : k.bindings)
      access.push_back(b.written ? "'rw'" : "'r'");
    for (const gpu::DeviceScalar& s : k.scalars)
      letters += s.letter;
    w.line("{ name: '" + k.name + "', file: " + quoted(options.shaders + k.name + ".wgsl") +
           ", access: [" + llvm::join(access, ", ") + "], scalars: '" + letters + "' },");
  }
  w.close("],");
  auto weights = module->getAttrOfType<IntegerAttr>("ortc.weights_bytes");
  uint64_t bytes = weights ? weights.getInt() : 0;
  auto buffers = options.weightBuffers;
  if (buffers.empty() && bytes) buffers.push_back({0, bytes});
  if (bytes) {
    SmallVector<std::string> segments;
    for (auto [offset, size] : buffers)
      segments.push_back("{ offset: " + std::to_string(offset) +
                         ", bytes: " + std::to_string(size) + " }");
    w.line("weights: { file: " + quoted(options.weightsFile) + ", bytes: " + std::to_string(bytes) +
           ", segments: [" + llvm::join(segments, ", ") + "] },");
  }
  w.line("arena: sizes,");
  std::string programDims = p.dimDeclarations(program, 4);
  bool usesBytes = mentions(program, "bytes") || mentions(program, "arena");
  w.open(std::string("async program(run, dims) {"));
  if (usesBytes) w.line("const bytes = sizes(dims);");
  os << programDims;
  auto usesRange = [&](StringRef name) { // as an operand, not as a method of run
    for (StringRef form : {"[", ", "})
      if (StringRef(program).contains((form + name + "]").str()) ||
          StringRef(program).contains((form + name + ", ").str()))
        return true;
    return false;
  };
  if (usesRange("arena")) w.line("const arena = run.arena(0, 0, bytes[0]);");
  for (auto [i, buffer] : llvm::enumerate(buffers))
    if (std::string name = JsPrinter::weightsName(i); usesRange(name))
      w.line("const " + name + " = run.weights(" + std::to_string(i) + ", 0, " +
             std::to_string(buffer.second) + ");");
  os << program;
  w.close("},");
  w.close("};");
  w.blank();
  w.line("export const create = (options) => createSession(model, { base: import.meta.url, "
         "...options });");
  return success(ok);
}

void printTypes(ModuleOp module, llvm::raw_ostream& os, const Options& options) {
  Writer w(os);
  w.comment(fileHeader(module));
  w.line("import type { Model, Options, OutputTensor, Session, Tensor } from " +
         quoted(options.runtime) + ";");
  for (bool isInput : {true, false}) {
    w.blank();
    w.open(isInput ? "export interface Inputs {" : "export interface Outputs {");
    auto list = module->getAttrOfType<ArrayAttr>(isInput ? "ortc.inputs" : "ortc.outputs");
    for (Attribute a : list ? list.getValue() : ArrayRef<Attribute>()) {
      auto io = cast<DictionaryAttr>(a);
      auto name = io.getAs<StringAttr>("name");
      auto dtype = io.getAs<IntegerAttr>("dtype");
      auto dims = io.getAs<ArrayAttr>("dims");
      const char* array = dtypeOf(dtype ? dtype.getInt() : 0).array;
      if (!array) continue; // printModule has said so
      bool isFixed = dims && llvm::all_of(dims, [](Attribute d) { return isa<IntegerAttr>(d); });
      std::string type = std::string(isInput ? "Tensor<" : "OutputTensor<") + array + ">";
      if (isInput && isFixed) type += std::string(" | ") + array;
      w.line(quoted(name ? name.getValue() : "") + ": " + type + ";");
    }
    w.close();
  }
  w.blank();
  w.line("/** What the model is: inputs, outputs, dims, kernels. */");
  w.line("export declare const model: Model;");
  w.line("/** Opens it on a GPU: the browser's, or `options.gpu` in Node. */");
  w.line("export declare function create(options?: Options): Promise<Session<Inputs, Outputs>>;");
}

} // namespace ortc::codegen::js
