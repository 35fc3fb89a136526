// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/CPrinter.h"
#include "codegen/common/Provenance.h"
#include "codegen/wgsl/PrintWgsl.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::wgsl {
namespace {

constexpr Language::Spelling kSpellings[] = {
    {"arith.addf", "+"},           {"arith.subf", "-"},         {"arith.mulf", "*"},
    {"arith.divf", "/"},           {"arith.negf", "-"},         {"arith.maxsi", "max"},
    {"arith.minsi", "min"},        {"math.absf", "abs"},        {"math.ceil", "ceil"},
    {"math.floor", "floor"},       {"math.roundeven", "round"}, {"math.fma", "fma"},
    {"math.exp", "exp"},           {"math.log", "log"},         {"math.sqrt", "sqrt"},
    {"math.rsqrt", "inverseSqrt"},
};
constexpr Language kWgsl = {
    .name = "WGSL",
    .spellings = kSpellings,
    .onlyThese = true,
    .endlessLoop = "loop",
    .casesFallThrough = false,
};

class WgslPrinter : public Printer {
public:
  explicit WgslPrinter(llvm::raw_ostream& os) : Printer(kWgsl, os) {}
  std::string moduleScope; ///< declarations of workgroup memory
  bool usesBits = false;   ///< o_bits
  SetVector<Operation*> calls;

  LogicalResult printEntry(const gpu::DeviceKernel& kernel) {
    func::FuncOp f = kernel.function;
    for (const char* name : {"params", "local", "group", "groups"})
      names.reserve(name);
    // The names of bindings first, then those of parameters.
    for (auto [i, binding] : llvm::enumerate(kernel.bindings)) {
      std::string name = names.fresh(bindingName(binding));
      bindingNames.push_back(name);
      Layout l = sourceLayout(cast<MemRefType>(f.getArgument(i).getType()), name, {Expr{}});
      l.constant = binding.isAtomic; // marks buffers of atomics
      layouts[f.getArgument(i)] = std::move(l);
    }
    Names fields;
    for (unsigned i = kernel.bindings.size(); i < f.getNumArguments(); ++i) {
      auto wish = f.getArgAttrOfType<StringAttr>(i, "ortc.name");
      std::string name = fields.fresh(wish ? wish.getValue() : "n");
      parameterNames.push_back(name);
      bind(f.getArgument(i), {"params." + name});
    }
    analyze(f.getBody());
    w.indent = 1;
    return printBlock(f.getBody().front(), {});
  }

  LogicalResult printFunction(func::FuncOp f) {
    SmallVector<std::string> params;
    for (BlockArgument a : f.getArguments()) {
      auto wish = f.getArgAttrOfType<StringAttr>(a.getArgNumber(), "ortc.name");
      std::string name = names.fresh(wish ? wish.getValue() : "x");
      bind(a, {name});
      params.push_back(name + ": " + typeName(a.getType()));
    }
    analyze(f.getBody());
    w.open("fn " + f.getSymName().str() + "(" + llvm::join(params, ", ") + ") -> " +
           typeName(f.getResultTypes()[0]) + " {");
    LogicalResult r = printBlock(f.getBody().front(), {});
    w.close();
    return r;
  }

  static std::string bindingName(const gpu::Binding& binding) {
    if (binding.segment == "input" || binding.segment == "output")
      return binding.segment + std::to_string(binding.number);
    return binding.segment + "_data" +
           (binding.number ? std::to_string(binding.number + 1) : std::string());
  }
  SmallVector<std::string> bindingNames, parameterNames;

protected:
  std::string typeName(Type type) override {
    if (type.isIndex() || type.isInteger(32)) return "i32";
    if (type.isInteger(1)) return "bool";
    if (type.isF32()) return "f32";
    hasFailed = true;
    return "<<unsupported type>>";
  }
  std::string constDecl(Type type, StringRef name, StringRef init) override {
    return "let " + name.str() + " = " + init.str() + ";";
  }
  std::string varDecl(Type type, StringRef name, StringRef init) override {
    return "var " + name.str() + ": " + typeName(type) +
           (init.empty() ? ";" : " = " + init.str() + ";");
  }
  Expr bits(uint32_t value) {
    usesBits = true;
    return {"o_bits(0x" + llvm::utohexstr(value, true, 8) + "u)"};
  }
  Expr floatLiteral(FloatType type, const APFloat& value) override {
    // WGSL has no infinity and no NaN, and refuses expressions that are known to give one.
    if (value.isInfinity() || value.isNaN() || value.isDenormal())
      return bits(static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue()));
    APFloat positive = value;
    if (value.isNegative()) positive.changeSign();
    // The shortest text of the largest number is a little more than it, which WGSL refuses to
    // round.
    std::string text = positive.isLargest() ? "3.4028234663852886e+38" : shortestDecimal(positive);
    return value.isNegative() ? Expr{"-" + text, Prec::Unary} : Expr{text};
  }
  Expr integerLiteral(Type type, const APInt& value) override {
    if (type.isInteger(1)) return {value.isZero() ? "false" : "true"};
    return integer(value.getSExtValue());
  }
  Expr castTo(Type type, const Expr& e) override { return call(typeName(type), {e.text}); }
  Expr unsignedCast(Type, const Expr& e) override {
    int64_t n;
    if (e.isInteger && !StringRef(e.text).getAsInteger(10, n))
      return {std::to_string(static_cast<uint32_t>(n)) + "u"};
    return call("u32", {e.text});
  }
  Expr bitcastTo(Type type, const Expr& e) override {
    return call("bitcast<" + typeName(type) + ">", {e.text});
  }
  Expr selectExpr(Type, const Expr& c, const Expr& yes, const Expr& no) override {
    return call("select", {no.text, yes.text, c.text});
  }
  bool hasConditionalExpr() const override { return false; }
  std::string forHeader(Type, StringRef name, const Expr& lower, const Expr& upper,
                        const Expr& step) override {
    std::string n = name.str(),
                next = codegen::isInteger(step, 1) ? n + "++" : n + " += " + step.text;
    return "for (var " + n + ": i32 = " + lower.text + "; " + binary("<", {n}, upper).text + "; " +
           next + ") {";
  }
  Expr loadElement(Operation*, const Layout& layout, const Expr& index, Type) override {
    std::string at = layout.base + "[" + index.text + "]";
    return layout.constant ? call("atomicLoad", {"&" + at}) : Expr{at};
  }
  std::string storeElement(Operation*, const Layout& layout, const Expr& index, const Expr& value,
                           Type) override {
    std::string at = layout.base + "[" + index.text + "]";
    return layout.constant ? call("atomicStore", {"&" + at, value.text}).text + ";"
                           : at + " = " + value.text + ";";
  }

  Expr integerOp(Operation* op) override {
    if (isScalarBool(op->getResult(0).getType())) return Printer::integerOp(op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    Expr a = expr(lhs), b = expr(rhs);
    Type type = op->getResult(0).getType();
    bool plain = isNonNegative(lhs) && isNonNegative(rhs);
    auto asUnsigned = [&](StringRef o) {
      if (plain) return binary(o, a, b);
      return castTo(type, binary(o, unsignedCast(type, a), unsignedCast(type, b)));
    };
    return llvm::TypeSwitch<Operation*, Expr>(op)
        .Case<arith::DivUIOp>([&](Operation*) { return asUnsigned("/"); })
        .Case<arith::RemUIOp>([&](Operation*) { return asUnsigned("%"); })
        .Case<arith::MaxUIOp, arith::MinUIOp>([&](Operation*) {
          Expr e = call(isa<arith::MaxUIOp>(op) ? "max" : "min",
                        {unsignedCast(type, a).text, unsignedCast(type, b).text});
          return castTo(type, e);
        })
        .Case<arith::ShLIOp>([&](Operation*) { return binary("<<", a, unsignedCast(type, b)); })
        .Case<arith::ShRSIOp>([&](Operation*) { return binary(">>", a, unsignedCast(type, b)); })
        .Case<arith::ShRUIOp>([&](Operation*) {
          return castTo(type, binary(">>", unsignedCast(type, a), unsignedCast(type, b)));
        })
        .Case<arith::DivSIOp>([&](Operation*) { return binary("/", a, b); })
        .Case<arith::FloorDivSIOp, arith::CeilDivSIOp>([&](Operation*) { return Expr{""}; })
        .Default([&](Operation*) { return Printer::integerOp(op); });
  }
  Expr castOp(Operation* op) override {
    if (auto cast = dyn_cast<arith::BitcastOp>(op)) {
      // A constant NaN or infinity must not be seen as one.
      APInt c;
      if (cast.getType().isF32() && matchPattern(cast.getIn(), m_ConstantInt(&c)))
        return bits(static_cast<uint32_t>(c.getZExtValue()));
    }
    return Printer::castOp(op);
  }

  LogicalResult printAlloca(Operation* op, MemRefType type) override {
    std::string hint = hintFor(op->getResult(0));
    auto space = dyn_cast_or_null<mlir::gpu::AddressSpaceAttr>(type.getMemorySpace());
    auto number = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
    bool shared = (space && space.getValue() == mlir::gpu::AddressSpace::Workgroup) ||
                  (number && number.getInt() == 3);
    std::string name = names.fresh(hint.empty() ? (shared ? "tile" : "scratch") : hint);
    std::string decl = ": array<" + typeName(type.getElementType()) + ", " +
                       std::to_string(std::max<int64_t>(1, type.getNumElements())) + ">;";
    if (shared)
      moduleScope += "var<workgroup> " + name + decl + "\n";
    else
      w.line("var " + name + decl);
    layouts[op->getResult(0)] = sourceLayout(type, name, {});
    return success();
  }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    auto id = [&](const char* variable, mlir::gpu::Dimension d) -> std::optional<LogicalResult> {
      static const char* const letters[] = {"x", "y", "z"};
      return define(op,
                    {"i32(" + std::string(variable) + "." + letters[static_cast<int>(d)] + ")"}),
             success();
    };
    return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
        .Case([&](mlir::gpu::ThreadIdOp o) { return id("local", o.getDimension()); })
        .Case([&](mlir::gpu::BlockIdOp o) { return id("group", o.getDimension()); })
        .Case([&](mlir::gpu::GridDimOp o) { return id("groups", o.getDimension()); })
        .Case([&](mlir::gpu::BarrierOp) -> std::optional<LogicalResult> {
          return w.line("workgroupBarrier();"), success();
        })
        .Case([&](memref::AtomicRMWOp a) -> std::optional<LogicalResult> {
          StringRef f = a.getKind() == arith::AtomicRMWKind::andi  ? "atomicAnd"
                        : a.getKind() == arith::AtomicRMWKind::ori ? "atomicOr"
                                                                   : "";
          if (f.empty()) return unsupported(op, "this atomic operation");
          const Layout& l = layoutOf(a.getMemref());
          w.line(call(f, {"&" + l.base + "[" + linearIndex(l, a.getIndices()).text + "]",
                          text(a.getValue())})
                     .text +
                 ";");
          return success();
        })
        .Case([&](func::CallOp c) -> std::optional<LogicalResult> {
          if (c->use_empty()) return success();
          calls.insert(SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(c, c.getCalleeAttr()));
          SmallVector<std::string> args;
          for (Value v : c.getOperands())
            args.push_back(text(v));
          return define(op, call(c.getCallee(), args)), success();
        })
        .Case([&](func::ReturnOp r) -> std::optional<LogicalResult> {
          if (r.getNumOperands()) w.line("return " + text(r.getOperand(0)) + ";");
          return success();
        })
        .Default([&](Operation*) -> std::optional<LogicalResult> { return std::nullopt; });
  }
};

} // namespace

LogicalResult printKernel(const gpu::DeviceKernel& kernel, llvm::raw_ostream& os) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  WgslPrinter printer(bodyStream);
  LogicalResult result = printer.printEntry(kernel);
  bool ok = succeeded(result) && !printer.failed(), usesBits = printer.usesBits;

  // The functions that it calls, and those that they call, callees first.
  SetVector<Operation*> functions;
  std::vector<std::string> texts;
  llvm::DenseSet<Operation*> done;
  std::function<void(Operation*)> add = [&](Operation* f) {
    if (!done.insert(f).second) return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    WgslPrinter inner(stream);
    ok &= succeeded(inner.printFunction(cast<func::FuncOp>(f))) && !inner.failed();
    usesBits |= inner.usesBits;
    for (Operation* callee : inner.calls)
      add(callee);
    texts.push_back(text);
  };
  for (Operation* f : printer.calls)
    add(f);

  Writer w(os);
  printProvenance(kernel.function, w);
  if (printer.parameterNames.size()) {
    w.open("struct Params {");
    for (auto [name, scalar] : llvm::zip(printer.parameterNames, kernel.scalars))
      w.line(name + ": " + (scalar.letter == 'f' ? "f32" : "i32") + ",");
    w.close();
  }
  for (auto [i, binding, name] : llvm::enumerate(kernel.bindings, printer.bindingNames)) {
    std::string element = binding.isAtomic ? "atomic<i32>" : binding.isFloat ? "f32" : "i32";
    w.line("@group(0) @binding(" + std::to_string(i) + ") var<storage, " +
           (binding.written ? "read_write" : "read") + "> " + name + ": array<" + element + ">;");
  }
  if (printer.parameterNames.size())
    w.line("@group(0) @binding(" + std::to_string(kernel.bindings.size()) +
           ") var<uniform> params: Params;");
  os << printer.moduleScope << "\n";
  if (usesBits) {
    w.comment("Infinities and NaN, which WGSL does not let one write.");
    w.open("fn o_bits(bits: u32) -> f32 {");
    w.line("return bitcast<f32>(bits);");
    w.close();
    w.blank();
  }
  for (const std::string& text : texts)
    os << text << "\n";
  std::string size = std::to_string(kernel.workgroup[0]);
  if (kernel.workgroup[1] != 1 || kernel.workgroup[2] != 1)
    size += ", " + std::to_string(kernel.workgroup[1]);
  if (kernel.workgroup[2] != 1) size += ", " + std::to_string(kernel.workgroup[2]);
  w.line("@compute @workgroup_size(" + size + ")");
  SmallVector<std::string> builtins;
  if (mentions(body, "local")) builtins.push_back("@builtin(local_invocation_id) local: vec3<u32>");
  if (mentions(body, "group")) builtins.push_back("@builtin(workgroup_id) group: vec3<u32>");
  if (mentions(body, "groups")) builtins.push_back("@builtin(num_workgroups) groups: vec3<u32>");
  w.line("fn main(" + llvm::join(builtins, ", ") + ") {");
  os << body << "}\n";
  return success(ok);
}

} // namespace ortc::codegen::wgsl
