// SPDX-License-Identifier: Apache-2.0
// The host program in C++: sizes, places of tensors, and calls of kernels in order. What fails returns a status.
#include "codegen/cxx/CxxPrinter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::cxx {
namespace {

class ProgramPrinter : public CxxPrinter {
public:
  ProgramPrinter(func::FuncOp program, const Options& options, Needs& needs, llvm::raw_ostream& os)
      : CxxPrinter(os, options, needs), program(program) {}

  LogicalResult printBody() {
    for (const char* name : {"context", "inputs", "outputs", "dims", "threads", "status"}) names.reserve(name);
    // Dims first: they are pure, and their names should be the model's.
    SmallVector<std::string> table = programDimNames(program->getParentOfType<ModuleOp>());
    program.walk([&](DimOp dim) {
      auto at = llvm::find(table, dim.getName()) - table.begin();
      std::string name;
      for (auto& [other, number] : dimNames)
        if (number == at) name = other;
      if (name.empty()) {
        name = names.fresh(dim.getName());
        dimNames.push_back({name, at});
      }
      bind(dim, {name});
    });
    analyze(program.getBody());
    w.indent = 1;
    return printBlock(program.getBody().front(), {});
  }

  std::string dimDeclarations(StringRef body) {
    std::string text;
    for (auto& [name, number] : dimNames)
      if (mentions(body, name)) text += "  const int64_t " + name + " = dims[" + std::to_string(number) + "];\n";
    if (mentions(body, "threads")) text += "  const executor& threads = context.threads;\n";
    return text;
  }

protected:
  std::string typeName(Type type) override {
    if (isa<StringType>(type)) return "ortc_string";
    return CxxPrinter::typeName(type);
  }

  std::optional<LogicalResult> printSpecial(Operation* op) override {
    return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
        .Case([&](DimOp) { return success(); })
        .Case([&](BufferOp buffer) { return printBuffer(buffer); })
        .Case([&](LaunchOp launch) { return printLaunch(launch); })
        .Case([&](OutputDimsOp dims) { return printOutputDims(dims); })
        .Case([&](RequireArenaOp arena) {
          returnOnFailure("context.need_arena(uint64_t(" + text(arena.getBytes()) + "))");
          return success();
        })
        .Case([&](CheckOp check) {
          w.open("if (" + unary("!", expr(check.getCondition())).text + ") {");
          w.line("context.why() << \"" + escapeForString(check.getMessage()) + "\";");
          w.line("return ORTC_" + check.getStatus().str() + ";");
          w.close();
          return success();
        })
        .Case([&](HostStepOp step) { return printHostStep(step); })
        .Case([&](func::ReturnOp) {
          w.line("return ORTC_OK;");
          return success();
        })
        .Default([&](Operation*) { return CxxPrinter::printSpecial(op); });
  }

private:
  void returnOnFailure(const std::string& call) {
    w.open("if (const ortc_status status = " + call + ") {");
    w.line("return status;");
    w.close();
  }

  std::string uniqueBufferName(BufferOp op) {
    std::string wish = legalIdentifier(op.getName());
    return names.fresh(wish);
  }

  LogicalResult printBuffer(BufferOp op) {
    if (op->use_empty()) return success();
    StringRef segment = op.getSegment();
    auto type = cast<MemRefType>(op.getMemref().getType());
    std::string element = elementTypeName(type.getElementType());
    bool constant = segment == "input" || segment == "weights";
    Expr at = op.getOffset() ? expr(op.getOffset()) : integer(0);
    std::string init, pointee = constant ? "const " + element : element;
    if (segment == "weights" || segment == "arena") {
      std::string offset = at.isInteger ? at.text : "uint64_t(" + at.text + ")";
      init = std::string(segment == "weights" ? "context.params" : "context.memory") + ".at<" + element + ">(" + offset + ")";
    } else if (segment == "input" || segment == "output") {
      std::string data = std::string(segment == "input" ? "inputs" : "outputs") + "[" + std::to_string(op.getNumber()) + "].data";
      if (isInteger(at, 0)) init = "static_cast<" + pointee + "*>(" + data + ")";
      else init = "reinterpret_cast<" + pointee + "*>(static_cast<" + (constant ? "const char" : "char") + "*>(" + data + ") + " + at.text + ")";
    } else {
      return unsupported(op, "segment '" + segment + "'");
    }
    std::string name = uniqueBufferName(op);
    w.line(pointee + "* " + name + " = " + init + ";");
    SmallVector<Expr> unknown(type.getNumDynamicDims());
    Layout l = sourceLayout(type, name, unknown);
    l.constant = constant;
    layouts[op.getMemref()] = std::move(l);
    return success();
  }

  LogicalResult printLaunch(LaunchOp op) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getKernelAttr());
    if (!kernel) return unsupported(op, "there is no kernel of this name");
    KernelSignature signature = analyzeSignature(kernel);
    SmallVector<std::string> args;
    if (signature.usesThreads) args.push_back("threads"), headers.insert("rt/pool.h");
    for (const KernelParam& p : signature.params) {
      Value operand = op->getOperand(p.arg);
      switch (p.kind) {
      case KernelParam::Pointer: {
        const Layout& l = layoutOf(operand);
        args.push_back(address(l, l.offset));
        break;
      }
      case KernelParam::Scalar: args.push_back(text(operand)); break;
      case KernelParam::Size:
      case KernelParam::Stride: {
        const Layout& l = layoutOf(operand);
        const Expr& e = p.kind == KernelParam::Size ? l.sizes[p.dim] : l.strides[p.dim];
        if (e.text.empty()) return unsupported(op, "the kernel needs a size of a buffer that has none");
        args.push_back(e.text);
        break;
      }
      }
    }
    w.line(kernelName(kernel) + "(" + llvm::join(args, ", ") + ");");
    return success();
  }

  LogicalResult printOutputDims(OutputDimsOp op) {
    // What follows from the dims was settled when the outputs were checked.
    if (llvm::all_of(op.getSizes(), [](Value v) { return v.getDefiningOp<DimOp>() || v.getDefiningOp<arith::ConstantOp>(); })) return success();
    std::string number = std::to_string(op.getNumber());
    std::string name = names.fresh("output" + number + "_dims");
    SmallVector<std::string> sizes;
    for (Value v : op.getSizes()) sizes.push_back(text(v));
    w.line("const int64_t " + name + "[] = {" + llvm::join(sizes, ", ") + "};");
    returnOnFailure("context.set_output(outputs, " + number + ", " + name + ")");
    return success();
  }

  /// step(context, settings in the order of their names, arguments, &results): memrefs are pointers.
  LogicalResult printHostStep(HostStepOp op) {
    SmallVector<std::string> args = {"context"};
    if (auto settings = op.getSettings())
      for (NamedAttribute s : *settings)
        if (!setting(s, args)) return unsupported(op, "setting '" + s.getName().getValue() + "'");
    for (Value v : op.getArguments()) {
      if (isa<MemRefType>(v.getType())) {
        const Layout& l = layoutOf(v);
        args.push_back(address(l, l.offset));
      } else {
        args.push_back(argument(v));
      }
    }
    for (Value r : op.getResults()) {
      std::string name = freshName(r, "result");
      w.line(varDecl(r.getType(), name, r.getType().isIndex() ? "0" : typeName(r.getType()) + "{}"));
      bind(r, {name});
      args.push_back("&" + name);
    }
    headers.insert("rt/steps.h");
    returnOnFailure(legalIdentifier(op.getStep()) + "(" + llvm::join(args, ", ") + ")");
    return success();
  }

  bool setting(NamedAttribute s, SmallVector<std::string>& args) {
    auto scalar = [&](Attribute a, std::string& type, std::string& value) {
      if (auto b = dyn_cast<BoolAttr>(a)) return type = "bool", value = b.getValue() ? "true" : "false", true;
      if (auto i = dyn_cast<IntegerAttr>(a)) return type = "int64_t", value = "int64_t(" + std::to_string(i.getInt()) + ")", true;
      if (auto f = dyn_cast<FloatAttr>(a)) return type = "float", value = floatLiteral(Float32Type::get(op_context()), APFloat(static_cast<float>(f.getValueAsDouble()))).text, true;
      if (auto t = dyn_cast<StringAttr>(a)) return type = "ortc_string", value = "ortc_string{\"" + escapeForString(t.getValue()) + "\", " + std::to_string(t.getValue().size()) + "}", true;
      return false;
    };
    std::string type, value;
    if (scalar(s.getValue(), type, value)) return args.push_back(value), true;
    SmallVector<Attribute> elements;
    if (auto array = dyn_cast<ArrayAttr>(s.getValue())) elements.assign(array.begin(), array.end());
    else if (auto ints = dyn_cast<DenseI64ArrayAttr>(s.getValue())) {
      for (int64_t i : ints.asArrayRef()) elements.push_back(IntegerAttr::get(IntegerType::get(op_context(), 64), i));
    } else if (auto floats = dyn_cast<DenseF32ArrayAttr>(s.getValue())) {
      for (float f : floats.asArrayRef()) elements.push_back(FloatAttr::get(Float32Type::get(op_context()), f));
    } else {
      return false;
    }
    SmallVector<std::string> values;
    for (Attribute a : elements) {
      if (!scalar(a, type, value)) return false;
      values.push_back(value);
    }
    if (values.empty()) return args.append({"nullptr", "0"}), true;
    std::string name = names.fresh(s.getName().getValue());
    w.line("static const " + type + " " + name + "[] = {" + llvm::join(values, ", ") + "};");
    args.append({name, std::to_string(values.size())});
    return true;
  }

  MLIRContext* op_context() { return program.getContext(); }

  func::FuncOp program;
  std::vector<std::pair<std::string, int64_t>> dimNames;
};

} // namespace

LogicalResult printProgram(func::FuncOp program, llvm::raw_ostream& os, Needs& needs, const Options& options) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  ProgramPrinter printer(program, options, needs, bodyStream);
  LogicalResult r = printer.printBody();
  body = printer.dimDeclarations(body) + body;
  Writer w(os);
  auto parameter = [&](StringRef type, StringRef name) {
    return (type + (mentions(body, name) ? name.str() : "/*" + name.str() + "*/")).str();
  };
  w.line("static ortc_status run(" + parameter(options.contextType + "& ", "context") + ", " + parameter("const ortc_tensor* ", "inputs") +
         ", " + parameter("ortc_tensor* ", "outputs") + ", " + parameter("const int64_t* ", "dims") + ") {");
  os << body << "}\n";
  needs.headers.insert(printer.headers.begin(), printer.headers.end());
  needs.headers.insert("rt/context.h");
  return success(succeeded(r) && !printer.failed());
}

} // namespace ortc::codegen::cxx
