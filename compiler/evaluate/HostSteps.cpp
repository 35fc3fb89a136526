// SPDX-License-Identifier: Apache-2.0
// Host steps that import makes, for the evaluator: work on strings and on lists of maps.
#include "compiler/evaluate/Interpreter.h"
#include "compiler/ops/AllOps.h"

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

void addBuiltInHostSteps(llvm::StringMap<HostStep>& steps) {
  steps["list_of"] = listOf;
  steps["murmur_hash3"] = murmurHash3;
  steps["string_concat"] = stringConcat;
  steps["string_equal"] = stringEqual;
  steps["string_normalize"] = stringNormalize;
  steps["string_pieces"] = stringPieces;
  steps["string_split"] = stringSplit;
  steps["zip_map"] = zipMap;
  steps["string_index"] = stringIndex;
}

} // namespace ortc
