// SPDX-License-Identifier: Apache-2.0
#include "codegen/common/Text.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"

namespace ortc::codegen {
namespace {

Prec precedenceOf(llvm::StringRef op) {
  if (op == "*" || op == "/" || op == "%") return Prec::Multiplicative;
  if (op == "+" || op == "-") return Prec::Additive;
  if (op == "<<" || op == ">>") return Prec::Shift;
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return Prec::Relational;
  if (op == "==" || op == "!=") return Prec::Equality;
  if (op == "&") return Prec::BitAnd;
  if (op == "^") return Prec::BitXor;
  if (op == "|") return Prec::BitOr;
  if (op == "&&") return Prec::And;
  return Prec::Or;
}
bool isArithmetic(Prec p) {
  return p == Prec::Additive || p == Prec::Multiplicative;
}
bool isComparison(Prec p) {
  return p == Prec::Equality || p == Prec::Relational;
}

std::string operand(const Expr& child, Prec parent, bool isRight) {
  bool bare;
  if (child.prec >= Prec::Unary)
    bare = true;
  else if (isArithmetic(parent))
    bare = child.prec > parent || (child.prec == parent && !isRight);
  else if (isComparison(parent))
    bare = isArithmetic(child.prec);
  else if (parent == Prec::And || parent == Prec::Or)
    bare = isComparison(child.prec) || (child.prec == parent && !isRight);
  else
    bare = parent != Prec::Shift && child.prec == parent && !isRight;
  // `a % b * c`, `a / b * c` are right but make a reader stop.
  if (isArithmetic(parent) && child.prec == parent && parent == Prec::Multiplicative &&
      child.text.find(" * ") == std::string::npos)
    bare = false;
  return bare ? child.text : "(" + child.text + ")";
}

/// Where a long line may be broken: after ", ", or before a binary operator that stands between
/// blanks.
bool isBreak(llvm::StringRef text, size_t i) {
  if (text[i] != ' ' || i == 0) return false;
  if (text[i - 1] == ',' || text[i - 1] == ';') return true;
  llvm::StringRef rest = text.substr(i + 1);
  for (llvm::StringRef op : {"+ ", "- ", "* ", "/ ", "? ", ": ", "&& ", "|| ", "& ", "| "})
    if (rest.starts_with(op)) return true;
  return text.substr(0, i).ends_with(" =") || text.substr(0, i).ends_with("return");
}

} // namespace

Expr binary(llvm::StringRef op, const Expr& lhs, const Expr& rhs) {
  Prec p = precedenceOf(op);
  return {operand(lhs, p, false) + " " + op.str() + " " + operand(rhs, p, true), p};
}

Expr unary(llvm::StringRef op, const Expr& e) {
  bool bare = e.prec == Prec::Primary && !llvm::StringRef(e.text).starts_with("-");
  return {op.str() + (bare ? e.text : "(" + e.text + ")"), Prec::Unary};
}

Expr conditional(const Expr& c, const Expr& yes, const Expr& no) {
  auto arm = [](const Expr& e) {
    return e.prec == Prec::Conditional ? "(" + e.text + ")" : e.text;
  };
  return {arm(c) + " ? " + arm(yes) + " : " + no.text, Prec::Conditional};
}

Expr call(llvm::StringRef callee, llvm::ArrayRef<std::string> arguments) {
  return {callee.str() + "(" + llvm::join(arguments, ", ") + ")"};
}

std::string primary(const Expr& e) {
  return e.prec == Prec::Primary ? e.text : "(" + e.text + ")";
}

Expr integer(int64_t value) {
  return {std::to_string(value), value < 0 ? Prec::Unary : Prec::Primary, {}, true};
}

static bool asInteger(const Expr& e, int64_t& value) {
  return e.isInteger && !llvm::StringRef(e.text).getAsInteger(10, value);
}
bool isInteger(const Expr& e, int64_t value) {
  int64_t v;
  return asInteger(e, v) && v == value;
}

Expr sum(const Expr& a, const Expr& b) {
  int64_t x, y;
  bool ca = asInteger(a, x), cb = asInteger(b, y);
  if (ca && cb) return integer(x + y);
  if (ca && x == 0) return b;
  if (cb && y == 0) return a;
  if (ca) return sum(b, a); // constants last
  if (cb && y < 0 && y != INT64_MIN) return binary("-", a, integer(-y));
  return binary("+", a, b);
}

Expr product(const Expr& a, const Expr& b) {
  int64_t x, y;
  bool ca = asInteger(a, x), cb = asInteger(b, y);
  if (ca && cb) return integer(x * y);
  if (ca && x == 1) return b;
  if (cb && y == 1) return a;
  if ((ca && x == 0) || (cb && y == 0)) return integer(0);
  return binary("*", a, b);
}

void Writer::line(llvm::StringRef text) {
  if (text.empty()) {
    os << "\n";
    return;
  }
  unsigned column = indent * 2;
  while (column + text.size() > kColumns) {
    // Among the breaks that fit, the outermost one wins; among those, the last.
    size_t best = 0;
    int bestDepth = 1000, depth = 0;
    char quote = 0; // of the string that this character is in: JavaScript's are single
    size_t limit = kColumns > column ? kColumns - column : 0;
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (quote) {
        if (c == '\\')
          ++i;
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') {
        quote = c;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (i > limit) break;
      if (i > 8 && isBreak(text, i) && depth <= bestDepth) best = i, bestDepth = depth;
    }
    if (!best) break; // one long word: leave it
    os.indent(column) << text.substr(0, best) << "\n";
    text = text.substr(best + 1);
    column = indent * 2 + 4;
  }
  os.indent(column) << text << "\n";
}

void Writer::comment(llvm::StringRef raw, unsigned hang) {
  std::string text = escapeForComment(raw);
  llvm::StringRef rest = text;
  bool first = true;
  while (!rest.empty()) {
    size_t room = kColumns - indent * 2 - 3 - (first ? 0 : hang);
    size_t n = rest.size();
    if (n > room) {
      n = rest.rfind(' ', room + 1);
      if (n == llvm::StringRef::npos || n == 0) n = rest.find(' ');
      if (n == llvm::StringRef::npos) n = rest.size();
    }
    os.indent(indent * 2) << "// ";
    if (!first) os.indent(hang);
    os << rest.substr(0, n).rtrim() << "\n";
    rest = rest.substr(n).ltrim();
    first = false;
  }
}

/// Calls f(code point, bytes) for each character; -1 for a byte that is no UTF-8.
template <class F> static void forEachCharacter(llvm::StringRef text, F f) {
  const auto* p = reinterpret_cast<const llvm::UTF8*>(text.begin());
  const auto* end = reinterpret_cast<const llvm::UTF8*>(text.end());
  while (p < end) {
    const auto* start = p;
    llvm::UTF32 c;
    if (llvm::convertUTF8Sequence(&p, end, &c, llvm::strictConversion) == llvm::conversionOK) {
      f(static_cast<int64_t>(c), llvm::StringRef(reinterpret_cast<const char*>(start), p - start));
    } else {
      p = start + 1;
      f(-1, llvm::StringRef(reinterpret_cast<const char*>(start), 1));
    }
  }
}

/// Characters that change how the text around them is shown or read.
static bool isTreacherous(int64_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c < 0xe0080);
}

std::string escapeForComment(llvm::StringRef text) {
  std::string r;
  forEachCharacter(text, [&](int64_t c, llvm::StringRef bytes) {
    if (c < 0)
      r += llvm::formatv("<{0}>", llvm::utohexstr(static_cast<uint8_t>(bytes[0]), true)).str();
    else if (isTreacherous(c))
      r += "<U+" + llvm::utohexstr(c, false, 4) + ">";
    else
      r += bytes;
  });
  for (llvm::StringRef bad : {"*/", "/*",
                              "?"
                              "?/"}) // the last is a backslash to old compilers
    for (size_t at; (at = r.find(bad)) != std::string::npos;)
      r.insert(at + 1, " ");
  while (!r.empty() && (r.back() == '\\' || r.back() == ' '))
    r.back() == '\\' ? void(r += '.') : r.pop_back();
  return r;
}

std::string escapeForString(llvm::StringRef text) {
  std::string r;
  forEachCharacter(text, [&](int64_t c, llvm::StringRef bytes) {
    if (c == '"' || c == '\\')
      r += "\\" + bytes.str();
    else if (c == '?')
      r += "?\"\""; // no trigraphs
    else if (c < 0 || isTreacherous(c))
      for (uint8_t b : bytes.bytes())
        r += llvm::formatv("\\{0}{1}{2}", b >> 6, (b >> 3) & 7, b & 7)
                 .str(); // octal: ends after three
    else
      r += bytes;
  });
  // `?""` was only needed where another `?` follows.
  std::string clean;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.compare(i, 3, "?\"\"") == 0) {
      bool twice = r.compare(i + 3, 3, "?\"\"") == 0;
      clean += twice ? "?\"\"" : "?";
      i += 2;
      continue;
    }
    clean += r[i];
  }
  return clean;
}

} // namespace ortc::codegen
