// SPDX-License-Identifier: Apache-2.0
// Calls of catalogue templates. The epilogue region is scalar code for one output; it is printed as
// a struct whose operator() does it for a vector of outputs (m, n) to (m, n + lanes - 1): what
// depends on the accumulator or on n is a vector, loads along n go through load_lanes, everything
// else stays scalar.
#include "codegen/common/TemplateCall.h"
#include "codegen/cxx/CxxPrinter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;

namespace ortc::codegen::cxx {
namespace {

/// More ops than this: the template compiles the epilogue once per kernel, not once per register of
/// its tile.
constexpr unsigned kHeavy = 10;

class EpiloguePrinter : public CxxPrinter {
public:
  EpiloguePrinter(CallTemplateOp call, const Options& options, Needs& needs, llvm::raw_ostream& os)
      : CxxPrinter(os, options, needs), call(call) {}

  /// `outer` spells a value of the kernel. Fills `fields` with (declaration, initial value).
  LogicalResult print(llvm::function_ref<Expr(Value)> outer,
                      llvm::function_ref<Layout(Value)> outerLayout) {
    Region& region = call.getEpilogue();
    for (const char* name : {"acc", "m", "n", "lanes"})
      names.reserve(name);
    w.indent = 2;
    if (region.empty()) {
      w.line("return acc;");
      return success();
    }
    Block& block = region.front();
    if (block.getNumArguments() < 1 || block.getNumArguments() > 3)
      return unsupported(call, "an epilogue takes acc, m and n");
    static const char* const argNames[] = {"acc", "m", "n"};
    for (BlockArgument a : block.getArguments())
      bind(a, {argNames[a.getArgNumber()]});
    sums = block.getArgument(0).getType();
    varying.insert(block.getArgument(0));
    if (block.getNumArguments() > 2) {
      column = block.getArgument(2);
      varying.insert(column);
    }
    // What comes from the kernel is a field; constants are written out.
    region.walk([&](Operation* op) {
      for (Value v : op->getOperands()) {
        if (region.isAncestor(v.getParentRegion()) || exprs.count(v) || layouts.count(v)) continue;
        if (auto type = dyn_cast<MemRefType>(v.getType())) {
          Layout l = outerLayout(v);
          std::string init = address(l, l.offset);
          l.base = names.fresh(roleOf(v)), l.offset = integer(0), l.constant = true;
          fields.push_back(
              {"const " + elementTypeName(type.getElementType()) + "* " + l.base, init});
          for (Expr& stride : l.strides)
            if (!stride.isInteger && !l.identity) {
              std::string name = names.fresh("pitch");
              fields.push_back({"int64_t " + name, stride.text});
              stride = {name};
            }
          layouts[v] = std::move(l);
          continue;
        }
        if (v.getDefiningOp<arith::ConstantOp>()) continue; // printed where it is used
        Expr e = outer(v);
        bool isName = llvm::all_of(e.text, [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
                      !llvm::isDigit(e.text[0]);
        std::string name = names.fresh(isName ? e.text : "value");
        fields.push_back({CPrinter::typeName(v.getType()) + " " + name, e.text});
        bind(v, {name});
      }
    });
    analyze(region);
    for (Operation& op : block) {
      ++opCount;
      bool varies = llvm::any_of(op.getOperands(), [&](Value v) { return varying.contains(v); });
      if (varies)
        for (Value r : op.getResults())
          varying.insert(r);
      LogicalResult r = varies || isa<YieldOp>(op) ? printVarying(&op) : printOp(&op);
      if (mlir::failed(r)) return failure();
    }
    return success();
  }

  std::vector<std::pair<std::string, std::string>> fields;
  unsigned opCount = 0;
  /// What operator() gives: "V" when it is what it takes.
  std::string resultType() {
    Region& region = call.getEpilogue();
    return region.empty() || region.front().getTerminator()->getOperand(0).getType() == sums
               ? "V"
               : "auto";
  }

protected:
  std::string constDecl(Type type, StringRef name, StringRef init) override {
    return "const auto " + name.str() + " = " + init.str() + ";";
  }

private:
  /// What a tensor is for, as far as it shows. (Not its own name: equal epilogues of different
  /// kernels are one struct then, and one instance of the template.)
  StringRef roleOf(Value tensor) {
    Block& block = call.getEpilogue().front();
    auto reads = [&](Value index, unsigned number) {
      if (number >= block.getNumArguments()) return false;
      SetVector<Value> seen;
      seen.insert(index);
      for (size_t i = 0; i < seen.size(); ++i)
        if (Operation* def = seen[i].getDefiningOp())
          seen.insert(def->operand_begin(), def->operand_end());
      return seen.contains(block.getArgument(number));
    };
    bool rows = false, columns = false, added = true, multiplied = true;
    call.getEpilogue().walk([&](memref::LoadOp load) {
      if (load.getMemRef() != tensor) return;
      for (Value i : load.getIndices())
        rows |= reads(i, 1), columns |= reads(i, 2);
      for (Operation* user : load->getUsers())
        added &= isa<arith::AddFOp, arith::AddIOp>(user),
            multiplied &= isa<arith::MulFOp, arith::MulIOp>(user);
    });
    if (rows && columns) return added ? "residual" : "perElement";
    if (columns) return added ? "bias" : multiplied ? "scale" : "perColumn";
    return rows ? "perRow" : "single";
  }
  bool isVarying(Value v) { return varying.contains(v); }
  /// The vector of as many elements as `acc` has.
  std::string vectorOf(Type element) {
    return element == sums ? "V" : "like<" + CPrinter::typeName(element) + ", V>";
  }
  /// As an argument of a function that wants vectors only.
  std::string asVector(Value v) {
    if (isVarying(v)) return expr(v).text;
    return "splat<" + vectorOf(v.getType()) + ">(" + expr(v).text + ")";
  }
  /// The bits of signless integers as unsigned ones.
  std::string asUnsigned(Value v) {
    return "bits_as<like<" + unsignedName(v.getType()) + ", V>>(" + asVector(v) + ")";
  }
  std::string converted(Type to, const std::string& v) {
    return codegen::call("convert<" + CPrinter::typeName(to) + ">", {v}).text;
  }
  bool isMask(Value v) { return v.getType().isInteger(1); }

  /// n + something that does not depend on n: the place of the first lane.
  bool isAlongColumns(Value index) {
    if (index == column) return true;
    if (auto add = index.getDefiningOp<arith::AddIOp>())
      return isVarying(add.getLhs()) != isVarying(add.getRhs()) &&
             isAlongColumns(isVarying(add.getLhs()) ? add.getLhs() : add.getRhs());
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>()) return isAlongColumns(cast.getIn());
    return false;
  }

  LogicalResult printVarying(Operation* op) {
    return llvm::TypeSwitch<Operation*, LogicalResult>(op)
        .Case([&](YieldOp yield) {
          if (yield.getNumOperands() != 1) return unsupported(op, "an epilogue gives one value");
          w.line("return " + asVector(yield.getOperand(0)) + ";");
          return success();
        })
        .Case([&](memref::LoadOp load) {
          const Layout& l = layoutOf(load.getMemRef());
          unsigned last = load.getIndices().size() - 1;
          for (auto [d, i] : llvm::enumerate(load.getIndices()))
            if (isVarying(i) && (d != last || !isAlongColumns(i) || !isInteger(l.strides[d], 1)))
              return unsupported(op, "a load that does not run along n");
          Type element = op->getResult(0).getType();
          if (!element.isF32() && !element.isInteger(8) && !element.isInteger(32))
            return unsupported(op, "only loads of f32, i32 and i8");
          needs.headers.insert("rt/simd.h");
          define(op, codegen::call("load_lanes<" + vectorOf(element) + ">",
                                   {address(l, linearIndex(l, load.getIndices())), "lanes"}));
          return success();
        })
        .Case([&](arith::CmpFOp cmp) {
          // Masks are vectors: & | ~ instead of && || !.
          Expr e = compareFloats(cmp);
          for (auto [from, to] : {std::pair<StringRef, StringRef>("&&", "&"), {"||", "|"}})
            for (size_t at; (at = e.text.find(from.str())) != std::string::npos;)
              e.text.replace(at, 2, to.str());
          if (e.text[0] == '!') e.text[0] = '~';
          if (e.prec == Prec::And || e.prec == Prec::Or) e.prec = Prec::BitOr;
          return define(op, e), success();
        })
        .Case([&](arith::SelectOp select) {
          std::string c = expr(select.getCondition()).text, yes = asVector(select.getTrueValue()),
                      no = asVector(select.getFalseValue());
          if (isVarying(select.getCondition()))
            return define(op, codegen::call("select", {c, yes, no})), success();
          return define(op, conditional({c, Prec::Conditional}, {yes}, {no})), success();
        })
        .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](Operation*) {
          if (!isMask(op->getResult(0))) return unsupported(op, "integers in an epilogue");
          if (isa<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One()))
            return define(op, unary("~", expr(op->getOperand(0)))), success();
          if (!isVarying(op->getOperand(0)) || !isVarying(op->getOperand(1)))
            return unsupported(op, "a condition that is partly scalar");
          StringRef s = isa<arith::AndIOp>(op) ? "&" : isa<arith::OrIOp>(op) ? "|" : "^";
          return define(op, binary(s, expr(op->getOperand(0)), expr(op->getOperand(1)))), success();
        })
        .Case<arith::SIToFPOp, arith::ExtSIOp>([&](Operation*) {
          if (op->getOperand(0) == column) return unsupported(op, "n as a number");
          Type to = op->getResult(0).getType();
          return define(op, {converted(to, expr(op->getOperand(0)).text)}), success();
        })
        .Case<arith::UIToFPOp, arith::ExtUIOp>([&](Operation*) {
          Type to = op->getResult(0).getType();
          return define(op, {converted(to, asUnsigned(op->getOperand(0)))}), success();
        })
        .Case<arith::FPToSIOp>([&](Operation*) {
          needs.headers.insert("rt/ops.h");
          return define(op, codegen::call("cast<" + CPrinter::typeName(op->getResult(0).getType()) +
                                              ">",
                                          {expr(op->getOperand(0)).text})),
                 success();
        })
        .Case<arith::FPToUIOp>([&](Operation*) {
          needs.headers.insert("rt/ops.h");
          Type to = op->getResult(0).getType();
          Expr unsignedOne =
              codegen::call("cast<" + unsignedName(to) + ">", {expr(op->getOperand(0)).text});
          return define(op, codegen::call("bits_as<" + vectorOf(to) + ">", {unsignedOne.text})),
                 success();
        })
        .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>([&](Operation*) {
          Type type = op->getResult(0).getType();
          if (type.isIndex()) return printOp(op);
          if (!type.isInteger(32) || isa<arith::IndexCastOp>(op))
            return unsupported(op, "integers in an epilogue");
          needs.headers.insert("rt/ops.h"); // they wrap
          StringRef f = isa<arith::AddIOp>(op) ? "add" : isa<arith::SubIOp>(op) ? "sub" : "mul";
          return define(op, codegen::call(
                                f, {asVector(op->getOperand(0)), asVector(op->getOperand(1))})),
                 success();
        })
        .Default([&](Operation*) {
          const OpRow* row = findOpRow(op->getName().getStringRef());
          if (!row || language.spelling(*row).empty() || op->getResult(0).getType().isIndex())
            return unsupported(op, "in an epilogue");
          if (*row->header) needs.headers.insert(std::string("rt/") + row->header);
          StringRef s = language.spelling(*row);
          if (!llvm::isAlpha(s[0])) {
            define(op, op->getNumOperands() == 1
                           ? unary(s, expr(op->getOperand(0)))
                           : binary(s, expr(op->getOperand(0)), expr(op->getOperand(1))));
            return success();
          }
          SmallVector<std::string> args;
          bool mixed = s == "maximum" || s == "minimum" || s == "fma";
          for (auto [i, v] : llvm::enumerate(op->getOperands()))
            args.push_back(mixed && i > 0 ? expr(v).text : asVector(v));
          return define(op, codegen::call(s, args)), success();
        });
  }

  CallTemplateOp call;
  llvm::DenseSet<Value> varying;
  Value column;
  Type sums; // of `acc`
};

} // namespace

LogicalResult CxxPrinter::printCallTemplate(CallTemplateOp op) {
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  EpiloguePrinter epilogue(op, options, needs, bodyStream);
  LogicalResult r =
      epilogue.print([&](Value v) { return expr(v); }, [&](Value v) { return layoutOf(v); });
  if (epilogue.failed()) hasFailed = true;
  headers.insert(epilogue.headers.begin(), epilogue.headers.end());

  // The struct, once for all kernels that need the same.
  std::string text = body;
  for (auto& [declaration, init] : epilogue.fields)
    text = declaration + ";" + text;
  // A tensor of this kernel may have the name of the struct (a node 'Relu'): then the kernel gets
  // one of another name.
  std::string key = text;
  while (!needs.epilogues[key].empty() && !names.isFree(needs.epilogues[key]))
    key += "'";
  std::string& name = needs.epilogues[key];
  if (name.empty()) {
    std::string wish = epilogueName(op.getEpilogue());
    auto taken = [&](StringRef n) {
      return !names.isFree(n) ||
             llvm::any_of(needs.epilogues, [&](auto& e) { return e.second == n; });
    };
    std::string candidate = wish;
    for (unsigned i = 2; taken(candidate); ++i)
      candidate = wish + std::to_string(i);
    name = candidate;
    llvm::raw_string_ostream os(prelude);
    // Files give the same name to other structs: catalogue kernels that are made for one must not
    // be taken for those of another when they are linked.
    bool sharesFile = options.linkage == "static";
    if (!sharesFile) os << "namespace {\n";
    os << "struct " << name << " {\n";
    // Kernels whose sums are integers always finish a tile in memory: they do not ask.
    const bool asks = op.getEpilogue().empty() ||
                      isa<FloatType>(op.getEpilogue().front().getArgument(0).getType());
    if (asks && epilogue.opCount > kHeavy) os << "  static constexpr bool heavy = true;\n";
    for (auto& [declaration, init] : epilogue.fields)
      os << "  " << declaration << ";\n";
    auto parameter = [&](StringRef type, StringRef n) {
      return (type + " " + (mentions(body, n) ? n.str() : "/*" + n.str() + "*/")).str();
    };
    os << "  template <class V> ORTC_INLINE " << epilogue.resultType() << " operator()("
       << parameter("V", "acc") << ", " << parameter("int64_t", "m") << ", "
       << parameter("int64_t", "n") << ", " << parameter("int", "lanes") << ") const {\n"
       << body << "  }\n};\n"
       << (sharesFile ? "\n" : "} // namespace\n\n");
  }

  // The arguments by name, then the call.
  std::string argsType = argsTypeOf(op);
  std::string args = names.fresh("args");
  w.line(argsType + " " + args + ";");
  unsigned k = 0;
  auto fieldName = [&] { return cast<StringAttr>(op.getArgNames()[k++]).str(); };
  for (Value v : op.getBuffers()) {
    const Layout& l = layoutOf(v);
    w.line(args + "." + fieldName() + " = " + address(l, l.offset) + ";");
  }
  for (Value v : op.getSizes())
    w.line(args + "." + fieldName() + " = " + expr(v).text + ";");

  SmallVector<std::string> inits;
  for (auto& [declaration, init] : epilogue.fields)
    inits.push_back(init);
  std::string callee = templateCallee(op);
  if (callee.empty()) return unsupported(op, "a compile-time argument");
  w.line(callee + "(" + args + ", " + name + "{" + llvm::join(inits, ", ") + "}, threads);");
  needs.templates.insert(op.getCallee().str());
  headers.insert("rt/pool.h");
  return r;
}

} // namespace ortc::codegen::cxx
