// SPDX-License-Identifier: Apache-2.0
// Host steps that import makes, for the evaluator: work on strings and on lists of maps.
#include "compiler/evaluate/Interpreter.h"
#include "compiler/ops/AllOps.h"
#include "compiler/regex/Regex.h"

using namespace mlir;

namespace ortc {

using Values = FailureOr<SmallVector<HostValue>>;

static Values wrong(HostStepOp op) {
  op.emitError("host step '" + op.getStep() + "' has arguments of the wrong kind");
  return failure();
}

static Attribute keysOf(HostStepOp op) {
  return op.getSettings() ? op.getSettings()->get("keys") : Attribute();
}

static std::vector<std::string> stringsOf(ArrayAttr a) {
  std::vector<std::string> r;
  for (StringAttr s : a.getAsRange<StringAttr>())
    r.push_back(s.getValue().str());
  return r;
}

/// Scores [N, K] and K labels to a list of N maps from label to score.
static Values zipMap(HostStepOp op, ArrayRef<HostValue> in) {
  const HostTensor* scores = in.empty() ? nullptr : in[0].tensor();
  Builder b(op.getContext());
  HostTensor keys;
  if (auto strings = dyn_cast_or_null<ArrayAttr>(keysOf(op))) {
    keys = HostTensor(StringType::get(op.getContext()), {static_cast<int64_t>(strings.size())});
    *keys.strings = stringsOf(strings);
  } else if (auto ints = dyn_cast_or_null<DenseI64ArrayAttr>(keysOf(op))) {
    keys = HostTensor(b.getI64Type(), {ints.size()});
    for (auto [i, v] : llvm::enumerate(ints.asArrayRef()))
      keys.setInt(i, v);
  }
  if (!scores || scores->rank() != 2 || !keys.elementType || scores->dims[1] != keys.size())
    return wrong(op);
  HostList list;
  for (int64_t n = 0; n < scores->dims[0]; ++n) {
    HostTensor values(scores->elementType, {keys.size()});
    for (int64_t k = 0; k < keys.size(); ++k)
      values.setDouble(k, scores->getDouble(n * keys.size() + k));
    list.push_back(HostMap{keys, values});
  }
  return SmallVector<HostValue>{HostValue(std::move(list))};
}

/// The place of each string among sorted keys, or -1.
static Values stringIndex(HostStepOp op, ArrayRef<HostValue> in) {
  const HostTensor* texts = in.empty() ? nullptr : in[0].tensor();
  auto keys = dyn_cast_or_null<ArrayAttr>(keysOf(op));
  auto numbers =
      op.getSettings() ? op.getSettings()->getAs<DenseI64ArrayAttr>("places") : DenseI64ArrayAttr();
  if (!texts || !texts->strings || !keys || !numbers ||
      numbers.size() != static_cast<int64_t>(keys.size()))
    return wrong(op);
  llvm::StringMap<int64_t> places;
  for (auto [k, place] : llvm::zip(stringsOf(keys), numbers.asArrayRef()))
    places.try_emplace(k, place);
  HostTensor r(IntegerType::get(op.getContext(), 64), texts->dims);
  for (int64_t i = 0; i < texts->size(); ++i) {
    auto it = places.find((*texts->strings)[i]);
    r.setInt(i, it == places.end() ? -1 : it->second);
  }
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

/// The tensors as a list.
static Values listOf(HostStepOp, ArrayRef<HostValue> in) {
  return SmallVector<HostValue>{HostValue(HostList(in.begin(), in.end()))};
}

static Attribute settingOf(HostStepOp op, StringRef name) {
  return op.getSettings() ? op.getSettings()->get(name) : Attribute();
}
static int64_t numberOf(HostStepOp op, StringRef name) {
  auto i = dyn_cast_or_null<IntegerAttr>(settingOf(op, name));
  return i ? i.getInt() : 0;
}
static const std::vector<std::string>* textsOf(const HostValue& v) {
  const HostTensor* t = v.tensor();
  return t && t->strings ? t->strings.get() : nullptr;
}
static HostTensor textTensor(HostStepOp op, ArrayRef<int64_t> dims) {
  return HostTensor(StringType::get(op.getContext()), dims);
}

static Values stringEqual(HostStepOp op, ArrayRef<HostValue> in) {
  auto *a = textsOf(in[0]), *b = textsOf(in[1]);
  if (!a || !b || a->size() != b->size()) return wrong(op);
  HostTensor r(IntegerType::get(op.getContext(), 1), {static_cast<int64_t>(a->size())});
  for (size_t i = 0; i < a->size(); ++i)
    r.setInt(i, (*a)[i] == (*b)[i]);
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

static Values stringConcat(HostStepOp op, ArrayRef<HostValue> in) {
  auto *a = textsOf(in[0]), *b = textsOf(in[1]);
  if (!a || !b || a->size() != b->size()) return wrong(op);
  HostTensor r = textTensor(op, {static_cast<int64_t>(a->size())});
  for (size_t i = 0; i < a->size(); ++i)
    (*r.strings)[i] = (*a)[i] + (*b)[i];
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

/// The letters of Latin, Greek and Cyrillic that have both cases in one or two bytes.
static std::string withCase(const std::string& text, bool upper) {
  static const uint32_t uppers[][3] = {{'A', 'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},
                                       {0x391, 0x3A1, 32}, {0x3A3, 0x3A9, 32}, {0x400, 0x40F, 80},
                                       {0x410, 0x42F, 32}};
  auto change = [&](uint32_t c) {
    for (auto& [first, last, apart] : uppers) {
      if (!upper && c >= first && c <= last) return c + apart;
      if (upper && c >= first + apart && c <= last + apart) return c - apart;
    }
    return c;
  };
  std::string r = text;
  for (size_t i = 0; i < r.size(); ++i) {
    auto byte = static_cast<unsigned char>(r[i]);
    if (byte < 0x80) {
      r[i] = static_cast<char>(change(byte));
    } else if (byte >= 0xC0 && byte < 0xE0 && i + 1 < r.size()) {
      uint32_t c = change((byte & 31u) << 6 | (static_cast<unsigned char>(r[i + 1]) & 63u));
      r[i] = static_cast<char>(0xC0 | c >> 6);
      r[++i] = static_cast<char>(0x80 | (c & 63));
    }
  }
  return r;
}

static Values stringNormalize(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  auto stop = dyn_cast_or_null<ArrayAttr>(settingOf(op, "stopwords"));
  auto sensitive = dyn_cast_or_null<BoolAttr>(settingOf(op, "sensitive"));
  if (!texts || !stop || !sensitive) return wrong(op);
  int64_t action = numberOf(op, "action");
  auto plain = [&](const std::string& s) { return sensitive.getValue() ? s : withCase(s, false); };
  HostTensor r = textTensor(op, {std::max<int64_t>(static_cast<int64_t>(texts->size()), 1)});
  int64_t used = 0;
  for (const std::string& t : *texts) {
    bool drop = false;
    for (const std::string& s : stringsOf(stop))
      drop |= plain(t) == plain(s);
    if (!drop) (*r.strings)[used++] = action ? withCase(t, action == 2) : t;
  }
  HostTensor count(IntegerType::get(op.getContext(), 64), {1});
  count.setInt(0, std::max<int64_t>(used, 1));
  return SmallVector<HostValue>{HostValue(std::move(r)), HostValue(std::move(count))};
}

static std::vector<std::string> piecesOf(HostStepOp op, const std::string& text) {
  auto delimiter = cast<StringAttr>(settingOf(op, "delimiter")).getValue();
  int64_t left = numberOf(op, "maxsplit");
  std::vector<std::string> r;
  StringRef rest = text;
  if (delimiter.empty()) {
    const char* space = " \t\n\v\f\r";
    for (rest = rest.trim(space); !rest.empty(); rest = rest.ltrim(space)) {
      StringRef piece =
          left == 0 ? rest : rest.take_until([&](char c) { return StringRef(space).contains(c); });
      r.push_back(piece.str());
      rest = rest.drop_front(piece.size());
      if (left > 0) --left;
    }
    return r;
  }
  while (left != 0 && rest.contains(delimiter)) {
    auto [piece, after] = rest.split(delimiter);
    r.push_back(piece.str());
    rest = after;
    if (left > 0) --left;
  }
  r.push_back(rest.str());
  return r;
}

static Values stringPieces(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  if (!texts) return wrong(op);
  HostTensor r(IntegerType::get(op.getContext(), 64), {static_cast<int64_t>(texts->size())});
  for (auto [i, t] : llvm::enumerate(*texts))
    r.setInt(i, static_cast<int64_t>(piecesOf(op, t).size()));
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

static Values stringSplit(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  const HostTensor* init = in.back().tensor();
  if (!texts || !init || init->rank() != 2) return wrong(op);
  HostTensor r = textTensor(op, init->dims);
  for (auto [i, t] : llvm::enumerate(*texts))
    for (auto [k, piece] : llvm::enumerate(piecesOf(op, t)))
      if (static_cast<int64_t>(k) < init->dims[1]) (*r.strings)[i * init->dims[1] + k] = piece;
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

/// MurmurHash3, 32 bits [Appleby].
static Values murmurHash3(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  if (!texts) return wrong(op);
  HostTensor r(IntegerType::get(op.getContext(), 32), {static_cast<int64_t>(texts->size())});
  auto turn = [](uint32_t v, int by) { return v << by | v >> (32 - by); };
  for (auto [i, t] : llvm::enumerate(*texts)) {
    auto h = static_cast<uint32_t>(numberOf(op, "seed"));
    auto mixed = [&](uint32_t k) { return turn(k * 0xcc9e2d51u, 15) * 0x1b873593u; };
    size_t at = 0;
    auto read = [&](size_t bytes) {
      uint32_t k = 0;
      for (size_t b = bytes; b-- > 0;)
        k = k << 8 | static_cast<unsigned char>(t[at + b]);
      at += bytes;
      return k;
    };
    while (t.size() - at >= 4)
      h = turn(h ^ mixed(read(4)), 13) * 5 + 0xe6546b64u;
    if (at < t.size()) h ^= mixed(read(t.size() - at));
    h ^= static_cast<uint32_t>(t.size());
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    r.setInt(i, h ^ h >> 16);
  }
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

/// The rows of each pattern of a step.
static std::vector<std::vector<regex::Row>> patternsOf(HostStepOp op) {
  std::vector<std::vector<regex::Row>> r;
  if (auto patterns = dyn_cast_or_null<ArrayAttr>(settingOf(op, "pattern")))
    for (DictionaryAttr p : patterns.getAsRange<DictionaryAttr>())
      r.push_back(regex::compile(cast<StringAttr>(p.get("regex")).getValue()).rows);
  return r;
}

static Values regexFullMatch(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  auto patterns = patternsOf(op);
  if (!texts || patterns.size() != 1) return wrong(op);
  HostTensor r(IntegerType::get(op.getContext(), 1), {static_cast<int64_t>(texts->size())});
  for (auto [i, t] : llvm::enumerate(*texts))
    r.setInt(i, regex::matchesAll(patterns[0], t));
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

/// Where the character at `at` ends.
static size_t behindCharacter(StringRef text, size_t at) {
  return at + regex::decode(text, at).bytes;
}

/// What a pattern finds in a text. Behind a match that is too short the search goes on with the
/// next character.
static std::vector<StringRef> matchesIn(StringRef text, const std::vector<regex::Row>& pattern,
                                        size_t least) {
  std::vector<StringRef> r;
  for (size_t at = 0; auto found = regex::search(pattern, text, at);) {
    StringRef match = text.slice(found->begin, found->end);
    at = found->end;
    if (*regex::countCharacters(match) >= least)
      r.push_back(match);
    else if (found->begin == text.size())
      break;
    else
      at = behindCharacter(text, found->begin);
  }
  return r;
}

/// What is left of a text between matches. An empty match takes the character behind it along.
static std::vector<StringRef> restsOf(StringRef text, const std::vector<regex::Row>& separator,
                                      size_t least) {
  std::vector<StringRef> r;
  auto add = [&](StringRef piece) {
    if (*regex::countCharacters(piece) >= least) r.push_back(piece);
  };
  size_t at = 0;
  while (auto found = regex::search(separator, text, at)) {
    add(text.slice(at, found->begin));
    if (found->begin == text.size()) return r;
    at = found->end > found->begin ? found->end : behindCharacter(text, found->begin);
  }
  add(text.substr(at));
  return r;
}

/// The tokens of each text; nothing after an error.
static std::optional<std::vector<std::vector<StringRef>>>
tokensOf(HostStepOp op, const std::vector<std::string>& texts) {
  auto patterns = patternsOf(op);
  auto separators = cast<BoolAttr>(settingOf(op, "separators"));
  auto least = static_cast<size_t>(numberOf(op, "least"));
  std::vector<std::vector<StringRef>> r;
  for (auto [i, t] : llvm::enumerate(texts)) {
    if (!regex::countCharacters(t)) {
      op.emitError() << "text " << i << " is not valid UTF-8, and cannot be cut into tokens";
      return std::nullopt;
    }
    std::vector<StringRef> pieces = {t};
    for (const auto& p : patterns) {
      std::vector<StringRef> next;
      for (StringRef piece : pieces)
        llvm::append_range(next, separators.getValue() ? restsOf(piece, p, least)
                                                       : matchesIn(piece, p, least));
      pieces = std::move(next);
    }
    r.push_back(std::move(pieces));
  }
  return r;
}

static Values tokenCount(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  if (!texts) return wrong(op);
  auto tokens = tokensOf(op, *texts);
  if (!tokens) return failure();
  HostTensor r(IntegerType::get(op.getContext(), 64), {static_cast<int64_t>(texts->size())});
  for (auto [i, t] : llvm::enumerate(*tokens))
    r.setInt(i, static_cast<int64_t>(t.size()));
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

static Values tokenize(HostStepOp op, ArrayRef<HostValue> in) {
  auto* texts = textsOf(in[0]);
  const HostTensor* init = in.back().tensor();
  if (!texts || !init || init->rank() != 2) return wrong(op);
  auto tokens = tokensOf(op, *texts);
  if (!tokens) return failure();
  bool mark = cast<BoolAttr>(settingOf(op, "mark")).getValue();
  StringRef pad = cast<StringAttr>(settingOf(op, "pad")).getValue();
  HostTensor r = textTensor(op, init->dims);
  auto columns = static_cast<size_t>(init->dims[1]);
  for (auto [i, row] : llvm::enumerate(*tokens)) {
    if (mark) row.insert(row.begin(), "\x02"), row.push_back("\x03");
    row.resize(columns, pad);
    for (auto [k, token] : llvm::enumerate(row))
      (*r.strings)[i * columns + k] = token.str();
  }
  return SmallVector<HostValue>{HostValue(std::move(r))};
}

void addBuiltInHostSteps(llvm::StringMap<HostStep>& steps) {
  steps["list_of"] = listOf;
  steps["murmur_hash3"] = murmurHash3;
  steps["regex_full_match"] = regexFullMatch;
  steps["string_concat"] = stringConcat;
  steps["string_equal"] = stringEqual;
  steps["string_normalize"] = stringNormalize;
  steps["string_pieces"] = stringPieces;
  steps["string_split"] = stringSplit;
  steps["token_count"] = tokenCount;
  steps["tokenize"] = tokenize;
  steps["zip_map"] = zipMap;
  steps["string_index"] = stringIndex;
}

} // namespace ortc
