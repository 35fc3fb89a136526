// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/CProgram.h"
#include "compiler/ir/Sizes.h"
#include "compiler/regex/Regex.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen {

std::string CProgramPrinter::typeName(Type type) {
  return isa<StringType>(type) ? "ortc_string" : CPrinter::typeName(type);
}

void CProgramPrinter::bindDims() {
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
}

LogicalResult CProgramPrinter::printBody() {
  for (const char* name : {"context", "inputs", "outputs", "dims", "threads", "status", "stream"})
    names.reserve(name);
  // A pointer that has the name of a kernel would hide it.
  for (auto f : program->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    names.reserve(f.getName());
  bindDims();
  analyze(program.getBody());
  w.indent = 1;
  return printBlock(program.getBody().front(), {});
}

std::string CProgramPrinter::dimDeclarations(StringRef body) {
  std::string text;
  for (auto& [name, number] : dimNames)
    if (mentions(body, name))
      text += "  const int64_t " + name + " = dims[" + std::to_string(number) + "];\n";
  return text;
}

LogicalResult CProgramPrinter::printArenaBytes(llvm::raw_ostream& os) {
  names.reserve("dims");
  w.indent = 1;
  bindDims();
  analyze(program.getBody());
  std::string result = arenaBytes(program).text;
  std::string body = dynamic_cast<llvm::raw_string_ostream&>(w.stream()).str();
  std::string dims = dimDeclarations(body + " " + result);
  os << "static uint64_t arena_bytes(const int64_t* " << (dims.empty() ? "/*dims*/" : "dims")
     << ") {\n"
     << dims << body << "  return uint64_t(" << result << ");\n}\n";
  return success(!hasFailed);
}

LogicalResult CProgramPrinter::printComputedBytes(llvm::raw_ostream& os) {
  names.reserve("dims");
  names.reserve("output");
  w.indent = 1;
  bindDims();
  outputBounds(program, [&](int64_t output, const Expr& bytes) {
    w.line("if (output == " + std::to_string(output) + ") return uint64_t(" + bytes.text + ");");
  });
  w.line("return 0;");
  std::string body = dynamic_cast<llvm::raw_string_ostream&>(w.stream()).str();
  std::string dims = dimDeclarations(body);
  os << "// Outputs whose sizes are computed: the most that they take.\n"
     << "static uint64_t computed_bytes(int32_t output, const int64_t* "
     << (dims.empty() ? "/*dims*/" : "dims") << ") {\n"
     << dims << body << "}\n";
  return success(!hasFailed);
}

std::optional<LogicalResult> CProgramPrinter::printSpecial(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
      .Case([&](DimOp) { return success(); })
      .Case([&](BufferOp buffer) { return printBuffer(buffer); })
      .Case([&](LaunchOp launch) { return printLaunch(launch); })
      .Case([&](OutputDimsOp dims) { return printOutputDims(dims); })
      .Case([&](RequireArenaOp arena) { return printRequireArena(arena); })
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
      .Default([&](Operation*) -> std::optional<LogicalResult> { return std::nullopt; });
}

void CProgramPrinter::returnOnFailure(const std::string& call) {
  w.open("if (const ortc_status status = " + call + ") {");
  w.line("return status;");
  w.close();
}

LogicalResult CProgramPrinter::printBuffer(BufferOp op) {
  if (op->use_empty()) return success();
  StringRef segment = op.getSegment();
  auto type = cast<MemRefType>(op.getMemref().getType());
  bool constant = segment == "input" || segment == "weights" || segment == "strings";
  if (!constant && segment != "output" && segment != "arena")
    return unsupported(op, "segment '" + segment + "'");
  std::string element = elementTypeName(type.getElementType());
  Expr at = op.getOffset() ? expr(op.getOffset()) : integer(0);
  std::string init = bufferPointer(op, at, element);
  std::string name = names.fresh(legalIdentifier(op.getName()));
  w.line((constant ? "const " : "") + element + "* " + name + " = " + init + ";");
  SmallVector<Expr> unknown(type.getNumDynamicDims());
  Layout l = sourceLayout(type, name, unknown);
  l.constant = constant;
  layouts[op.getMemref()] = std::move(l);
  return success();
}

LogicalResult CProgramPrinter::launchArguments(LaunchOp op, func::FuncOp kernel,
                                               SmallVectorImpl<std::string>& args) {
  for (const KernelParam& p : analyzeSignature(kernel).params) {
    Value operand = op->getOperand(p.arg);
    if (p.kind == KernelParam::Scalar) {
      args.push_back(text(operand));
      continue;
    }
    const Layout& l = layoutOf(operand);
    if (p.kind == KernelParam::Pointer) {
      args.push_back(address(l, l.offset));
      continue;
    }
    const Expr& e = p.kind == KernelParam::Size ? l.sizes[p.dim] : l.strides[p.dim];
    if (e.text.empty()) return op.emitError("the kernel needs a size of a buffer that has none");
    args.push_back(e.text);
  }
  return success();
}

LogicalResult CProgramPrinter::printOutputDims(OutputDimsOp op) {
  // What follows from the dims was settled when the outputs were checked.
  if (llvm::all_of(op.getSizes(), [](Value v) {
        return v.getDefiningOp<DimOp>() || v.getDefiningOp<arith::ConstantOp>();
      }))
    return success();
  std::string number = std::to_string(op.getNumber());
  std::string name = names.fresh("output" + number + "_dims");
  SmallVector<std::string> sizes;
  for (Value v : op.getSizes())
    sizes.push_back(text(v));
  w.line("const int64_t " + name + "[] = {" + llvm::join(sizes, ", ") + "};");
  returnOnFailure("context.set_output(outputs, " + number + ", " + name + ")");
  return success();
}

/// step(context, settings in the order of their names, arguments, &results): memrefs are pointers.
LogicalResult CProgramPrinter::printHostStep(HostStepOp op) {
  SmallVector<std::string> args = {"context"};
  if (auto settings = op.getSettings())
    for (NamedAttribute s : *settings)
      if (!setting(op, s, args)) return unsupported(op, "setting '" + s.getName().getValue() + "'");
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

/// regex_range, a, b: characters that C++ writes as such, others as numbers.
static std::string rowText(const regex::Row& row) {
  constexpr const char* ops[] = {"begin", "range", "class", "split", "jump", "check", "match"};
  constexpr const char* places[] = {"text_begin", "text_end",  "line_begin",
                                    "line_end",   "word_edge", "no_word_edge"};
  bool isRange = row.op == regex::Op::Range;
  auto number = [&](int32_t v) {
    bool plain = isRange && v > ' ' && v < 0x7F && v != '\'' && v != '\\';
    return plain ? std::string{'\'', static_cast<char>(v), '\''} : std::to_string(v);
  };
  std::string a =
      row.op == regex::Op::Check ? std::string("regex_") + places[row.a] : number(row.a);
  return std::string("{regex_") + ops[static_cast<unsigned>(row.op)] + ", " + a + ", " +
         number(row.b) + "},";
}

bool CProgramPrinter::patterns(HostStepOp op, NamedAttribute s,
                               SmallVectorImpl<std::string>& args) {
  auto& [name, size] = patternTables[{op->getBlock(), s.getValue().getAsOpaquePointer()}];
  headers.insert("rt/regex.h");
  if (name.empty()) {
    name = names.fresh(s.getName().getValue());
    w.open("static const regex_row " + name + "[] = {");
    for (DictionaryAttr d : cast<ArrayAttr>(s.getValue()).getAsRange<DictionaryAttr>()) {
      StringRef pattern = cast<StringAttr>(d.get("regex")).getValue();
      regex::Compiled compiled = regex::compile(pattern);
      if (compiled.error) return false;
      w.line("// " + escapeForComment(quoteName(pattern)));
      for (size_t i = 0; i < compiled.rows.size(); ++i) {
        std::string row = rowText(compiled.rows[i]);
        row.resize(std::max<size_t>(row.size(), 36), ' ');
        w.line(row + "// " + std::to_string(i) + ": " + regex::describe(compiled.rows, i));
      }
      size += compiled.rows.size();
    }
    w.close("};");
  }
  args.append({name, std::to_string(size)});
  return true;
}

bool CProgramPrinter::setting(HostStepOp op, NamedAttribute s, SmallVectorImpl<std::string>& args) {
  auto scalar = [&](Attribute a, std::string& type, std::string& value) {
    if (auto b = dyn_cast<BoolAttr>(a))
      return type = "bool", value = b.getValue() ? "true" : "false", true;
    if (auto i = dyn_cast<IntegerAttr>(a))
      return type = "int64_t", value = "int64_t(" + std::to_string(i.getInt()) + ")", true;
    if (auto f = dyn_cast<FloatAttr>(a))
      return type = "float",
             value = floatLiteral(Float32Type::get(program.getContext()),
                                  APFloat(static_cast<float>(f.getValueAsDouble())))
                         .text,
             true;
    if (auto t = dyn_cast<StringAttr>(a))
      return type = "ortc_string",
             value = "ortc_string{\"" + escapeForString(t.getValue()) + "\", " +
                     std::to_string(t.getValue().size()) + "}",
             true;
    return false;
  };
  std::string type, value;
  if (scalar(s.getValue(), type, value)) return args.push_back(value), true;
  SmallVector<Attribute> elements;
  auto array = dyn_cast<ArrayAttr>(s.getValue());
  if (array && !array.empty() && isa<DictionaryAttr>(array[0])) return patterns(op, s, args);
  if (array)
    elements.assign(array.begin(), array.end());
  else if (auto ints = dyn_cast<DenseI64ArrayAttr>(s.getValue())) {
    for (int64_t i : ints.asArrayRef())
      elements.push_back(IntegerAttr::get(IntegerType::get(program.getContext(), 64), i));
  } else if (auto floats = dyn_cast<DenseF32ArrayAttr>(s.getValue())) {
    for (float f : floats.asArrayRef())
      elements.push_back(FloatAttr::get(Float32Type::get(program.getContext()), f));
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

} // namespace ortc::codegen
