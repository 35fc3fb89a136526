// SPDX-License-Identifier: Apache-2.0
// Text as a person would lay it out: indentation, lines of at most 100 columns, parentheses only
// where precedence needs them, and names from models made harmless.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace ortc::codegen {

/// Precedence levels that C++, CUDA and WGSL share, weakest first.
enum class Prec {
  Conditional,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relational,
  Shift,
  Additive,
  Multiplicative,
  Unary,
  Primary
};

/// A piece of an expression and how strongly its outermost operator binds.
struct Expr {
  std::string text;
  Prec prec = Prec::Primary;
  /// For a vector whose lanes are all equal: the scalar. Many operators and functions take it
  /// instead of the vector.
  std::string lane = {};
  /// An integer literal: in a call of a template it may need its type written out.
  bool isInteger = false;
};

/// `lhs op rhs`. Besides what precedence demands, operators of different families (shifts, bits,
/// comparisons, logic) are kept apart by parentheses: compilers warn otherwise, and WGSL's grammar
/// demands it.
Expr binary(llvm::StringRef op, const Expr& lhs, const Expr& rhs);
Expr unary(llvm::StringRef op, const Expr& operand);
Expr conditional(const Expr& condition, const Expr& yes, const Expr& no);
Expr call(llvm::StringRef callee, llvm::ArrayRef<std::string> arguments);
/// The text as an operand of `.`, `[]` or a call: in parentheses unless it is primary.
std::string primary(const Expr& e);

/// x + y, x * y on integers, with the folding that a person does without thinking: x + 0, x * 1, 2
/// * 3, x + -1.
Expr sum(const Expr& a, const Expr& b);
Expr product(const Expr& a, const Expr& b);
Expr integer(int64_t value);
bool isInteger(const Expr& e, int64_t value);

/// Lines with indentation. `line` breaks what is longer than 100 columns at the outermost comma or
/// operator.
class Writer {
public:
  explicit Writer(llvm::raw_ostream& os) : os(os) {}
  void line(llvm::StringRef text);
  void open(llvm::StringRef text) { line(text), ++indent; }             ///< for (...) {
  void middle(llvm::StringRef text) { --indent, line(text), ++indent; } ///< } else {
  void close(llvm::StringRef text = "}") { --indent, line(text); }
  void blank() { os << "\n"; }
  /// Comment lines, filled to 100 columns; later lines are indented by `hang`. The text is escaped.
  void comment(llvm::StringRef text, unsigned hang = 0);
  llvm::raw_ostream& stream() { return os; }
  unsigned indent = 0;

private:
  llvm::raw_ostream& os;
};

constexpr unsigned kColumns = 100;

/// Text of a model that goes into a comment: no newline, no `*/`, no trailing backslash, no control
/// or bidi characters.
std::string escapeForComment(llvm::StringRef text);
/// Text that goes between double quotes, in C++ and in JavaScript.
std::string escapeForString(llvm::StringRef text);

} // namespace ortc::codegen
