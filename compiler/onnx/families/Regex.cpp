// SPDX-License-Identifier: Apache-2.0
// Regular expressions are attributes: they are read while compiling, and become tables that steps
// of the host follow (compiler/regex).
#include "compiler/regex/Regex.h"
#include "compiler/onnx/families/Strings.h"
#include "compiler/support/Names.h"

using namespace mlir;

namespace ortc::opdef {

/// What stands around a place of a pattern, and a mark below that place.
static std::vector<Diagnostic::Line> markedPlace(StringRef pattern, size_t at) {
  constexpr size_t around = 40;
  auto isInside = [&](size_t i) { // in the middle of a character
    return i < pattern.size() && (static_cast<unsigned char>(pattern[i]) & 0xC0) == 0x80;
  };
  size_t begin = at > around ? at - around : 0, end = std::min(pattern.size(), at + around);
  while (isInside(begin))
    ++begin;
  while (isInside(end))
    ++end;
  std::string before = (begin ? "..." : "") + escapeControls(pattern.slice(begin, at)),
              after = escapeControls(pattern.slice(at, end)) + (end < pattern.size() ? "..." : "");
  size_t columns = regex::countCharacters(before).value_or(before.size());
  return {{false, before + after}, {false, std::string(columns, ' ') + "^"}};
}

/// A pattern as a setting of a step: {regex = "..."}. One that cannot be read is an error.
static mlir::Attribute patternSetting(NodeBuilder& n, StringRef attribute,
                                      const std::string& pattern) {
  if (auto error = regex::compile(pattern).error)
    n.fail(fmt::format("cannot read the pattern in '{}' at byte {}: {}", attribute.str(), error->at,
                       error->message),
           markedPlace(pattern, error->at));
  return n.b.getDictionaryAttr(n.b.getNamedAttr("regex", n.b.getStringAttr(pattern)));
}

ORTC_ONNX_OP("RegexFullMatch", since(20)) {
  Tensor x = n.input(0, "X", stringType), f = n.reshape(x, product(n, n.sizes(x)));
  mlir::Attribute pattern = patternSetting(n, "pattern", n.stringAttr("pattern"));
  NodeBuilder::OutType result{n.sizes(f), DType::Bool};
  Tensor r = stringStep(n, "regex_full_match", f, result,
                        n.b.getNamedAttr("pattern", n.b.getArrayAttr(pattern)))[0];
  n.output(0, n.reshape(r, n.sizes(x)));
}

// As many columns as the text with the most tokens has, and two for marks; none when no text has a
// token.   [ONNX Runtime, ContribOperators.md; what that leaves open as its kernel does it]
ORTC_ONNX_OP_IN("com.microsoft", "Tokenizer", since(1)) {
  Tensor x = n.input(0, "X", stringType);
  if (x.rank() < 1 || x.rank() > 2)
    n.error("the input is {}; expected [C] or [N,C]", n.typeText(x));
  bool mark = n.intAttr("mark") != 0;
  int64_t least = n.intAttr("mincharnum");
  std::string pad = n.stringAttr("pad_value");
  if (least < 1) n.error("'mincharnum' is {}; expected 1 or more", least);
  bool separators = n.hasAttr("separators");
  if (separators == n.hasAttr("tokenexp"))
    n.error("{} 'separators' and 'tokenexp' is given; expected one of them",
            separators ? "each of" : "neither of");
  StringRef attribute = separators ? "separators" : "tokenexp";
  std::vector<std::string> patterns =
      separators ? n.stringsAttr("separators") : std::vector<std::string>{n.stringAttr("tokenexp")};
  if (patterns.empty()) n.error("'separators' is empty; expected one at least");
  // These two mean any character, also one that ends a line.
  if (patterns == std::vector<std::string>{separators ? "" : "."}) {
    if (least > 1)
      n.error("'mincharnum' is {}, but '{}' makes a token of each character", least,
              attribute.str());
    patterns = {"(?s)."};
    separators = false;
  } else if (!separators && patterns[0].empty()) {
    n.error("'tokenexp' is empty; expected a pattern");
  }
  std::vector<mlir::Attribute> tables;
  for (const std::string& p : patterns)
    tables.push_back(patternSetting(n, attribute, p));
  std::vector<Size> shape = n.sizes(x);
  // Without texts the rank stays: [0] gives [0], and [N,C] gives [N,0].
  if (llvm::any_of(shape, [](Size s) { return s.is(0); })) {
    shape.back() = n.size(0);
    return n.output(0, n.reshape(x, shape));
  }
  std::vector<NamedAttribute> settings = {
      n.b.getNamedAttr("least", n.b.getI64IntegerAttr(least)),
      n.b.getNamedAttr("pattern", n.b.getArrayAttr(tables)),
      n.b.getNamedAttr("separators", n.b.getBoolAttr(separators))};
  Tensor f = n.reshape(x, product(n, shape));
  Size rows = n.size(f, 0);
  NodeBuilder::OutType counts{{rows}, DType::I64};
  Tensor count = stringStep(n, "token_count", f, counts, settings)[0];
  Tensor most = n.reduce(count, 0, false, 0, [](Scalar c, Scalar v) { return max(c, v); });
  if (mark) most = n.map(most, [](Scalar v) { return select(v > 0.0, v + 2.0, 0.0); });
  Size columns = max(n.asSize(most, "counts"), n.size(0));
  settings.push_back(n.b.getNamedAttr("mark", n.b.getBoolAttr(mark)));
  settings.push_back(n.b.getNamedAttr("pad", n.b.getStringAttr(pad)));
  NodeBuilder::OutType tokens{{rows, columns}, DType::String};
  Tensor y = stringStep(n, "tokenize", f, tokens, settings)[0];
  shape.push_back(columns);
  n.output(0, n.reshape(y, shape));
}

} // namespace ortc::opdef
