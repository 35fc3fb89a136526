// SPDX-License-Identifier: Apache-2.0
// Text. Strings are compared, joined and taken apart by steps of the host, each on flat tensors;
// what is counted of them (TfIdfVectorizer) is an ordinary kernel on their numbers.
#include "compiler/onnx/families/Strings.h"
#include "compiler/ir/HostTensor.h"
#include "compiler/onnx/families/Sort.h"
#include <cmath>

using namespace mlir;

namespace ortc::opdef {

std::vector<Tensor> stringStep(NodeBuilder& n, StringRef step, ArrayRef<Tensor> arguments,
                               ArrayRef<NodeBuilder::OutType> results,
                               ArrayRef<NamedAttribute> settings) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (const Tensor& t : arguments)
    operands.push_back(t.value);
  for (const NodeBuilder::OutType& r : results) {
    operands.push_back(n.empty(r.shape, n.typeOf(r.dtype)));
    types.push_back(operands.back().getType());
  }
  DictionaryAttr dictionary = settings.empty() ? DictionaryAttr() : n.b.getDictionaryAttr(settings);
  auto op = n.b.create<HostStepOp>(n.loc, types, n.b.getStringAttr(step), operands, dictionary);
  std::vector<Tensor> r;
  for (auto [v, out] : llvm::zip(op.getResults(), results))
    r.push_back({v, out.dtype});
  return r;
}

static Tensor flat(NodeBuilder& n, Tensor x) {
  return n.reshape(x, product(n, n.sizes(x)));
}

Tensor stringIndex(NodeBuilder& n, Tensor x, ArrayRef<std::string> keys) {
  // Sorted, so that each is found by halving; of equal keys the first counts.
  std::vector<std::pair<std::string, int64_t>> sorted;
  for (auto [i, k] : llvm::enumerate(keys))
    sorted.emplace_back(k, static_cast<int64_t>(i));
  llvm::sort(sorted);
  SmallVector<StringRef> texts;
  std::vector<int64_t> places;
  for (auto& [text, place] : sorted) {
    if (!texts.empty() && texts.back() == text) continue;
    texts.push_back(text);
    places.push_back(place);
  }
  Tensor f = flat(n, x);
  NodeBuilder::OutType result{n.sizes(f), DType::I64};
  Tensor r = stringStep(n, "string_index", f, result,
                        {n.b.getNamedAttr("keys", n.b.getStrArrayAttr(texts)),
                         n.b.getNamedAttr("places", n.b.getDenseI64ArrayAttr(places))})[0];
  return n.reshape(r, n.sizes(x));
}

/// A step on pairs of strings that broadcast to each other.
static Tensor pairwise(NodeBuilder& n, StringRef step, Tensor a, Tensor b, DType type) {
  std::vector<Size> shape = n.broadcastShapes({a, b});
  a = flat(n, n.broadcastTo(a, shape)), b = flat(n, n.broadcastTo(b, shape));
  NodeBuilder::OutType result{n.sizes(a), type};
  return n.reshape(stringStep(n, step, {a, b}, result, {})[0], shape);
}

Tensor stringEqual(NodeBuilder& n, Tensor a, Tensor b) {
  return pairwise(n, "string_equal", a, b, DType::Bool);
}

ORTC_ONNX_OP("StringConcat", since(20)) {
  n.output(0, pairwise(n, "string_concat", n.input(0, "X", stringType), n.input(1, "Y", stringType),
                       DType::String));
}

ORTC_ONNX_OP("StringNormalizer", since(10)) {
  Tensor x = n.input(0, "X", stringType);
  std::string action = n.stringAttr("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    n.error("'case_change_action' is '{}'; expected NONE, LOWER or UPPER", action);
  bool sensitive = n.flagAttr("is_case_sensitive", false), matrix = x.rank() == 2;
  auto stop = n.stringsAttr("stopwords", std::vector<std::string>{});
  if (x.rank() < 1 || x.rank() > 2 || (matrix && n.size(x, 0).constant() && !n.size(x, 0).is(1)))
    n.error("the input is {}; expected [C] or [1,C]", n.typeText(x));
  Tensor f = flat(n, x);
  SmallVector<StringRef> words(stop.begin(), stop.end());
  Size most = max(n.size(f, 0), n.size(1));
  NodeBuilder::OutType kept{{most}, DType::String}, one{{n.size(1)}, DType::I64};
  std::vector<Tensor> r =
      stringStep(n, "string_normalize", f, {kept, one},
                 {n.b.getNamedAttr("action", n.b.getI64IntegerAttr(action == "LOWER"   ? 1
                                                                   : action == "UPPER" ? 2
                                                                                       : 0)),
                  n.b.getNamedAttr("sensitive", n.b.getBoolAttr(sensitive)),
                  n.b.getNamedAttr("stopwords", n.b.getStrArrayAttr(words))});
  Size count = stop.empty() ? most : max(countedSize(n, r[1], most), n.size(1));
  Tensor y = n.slice(r[0], n.size(0), count);
  n.output(0, matrix ? n.reshape(y, {n.size(1), count}) : y);
}

// As many columns as the text with the most pieces has; others end with empty strings.
ORTC_ONNX_OP("StringSplit", since(20)) {
  Tensor x = n.input(0, "X", stringType), f = flat(n, x);
  NamedAttribute settings[] = {
      n.b.getNamedAttr("delimiter", n.b.getStringAttr(n.stringAttr("delimiter", ""))),
      n.b.getNamedAttr("maxsplit", n.b.getI64IntegerAttr(n.intAttr("maxsplit", -1)))};
  Size rows = n.size(f, 0);
  NodeBuilder::OutType counts{{rows}, DType::I64};
  Tensor count = stringStep(n, "string_pieces", f, counts, settings)[0];
  Tensor most = n.reduce(count, 0, false, 0, [](Scalar c, Scalar v) { return max(c, v); });
  Size columns = nonNegative(n.asSize(most, "counts"));
  NodeBuilder::OutType pieces{{rows, columns}, DType::String};
  Tensor y = stringStep(n, "string_split", f, pieces, settings)[0];
  std::vector<Size> shape = n.sizes(x);
  n.output(1, n.reshape(count, shape));
  shape.push_back(columns);
  n.output(0, n.reshape(y, shape));
}

/// MurmurHash3 (x86, 32 bits) of the bytes of a number, the lowest first; u32.
static Scalar hashOf(NodeBuilder& n, Scalar v, unsigned width, double seed) {
  Type u32 = n.b.getI32Type();
  auto unsignedOf = [&](Scalar s) { return Scalar{&n, s.v, true}; };
  auto constant = [&](double c) { return n.literal(c, u32, /*isUnsigned=*/true); };
  auto rotated = [&](Scalar s, int left) {
    return bitOr(s * constant(std::ldexp(1.0, left)), s / constant(std::ldexp(1.0, 32 - left)));
  };
  auto mixed = [&](Scalar h, int right, double factor) {
    h = bitXor(h, h / constant(std::ldexp(1.0, right)));
    return factor == 0 ? h : h * constant(factor);
  };
  if (isa<FloatType>(v.type()))
    v = {&n, n.b.create<arith::BitcastOp>(n.loc, n.b.getIntegerType(width), v.v), true};
  v = unsignedOf(v);
  std::vector<Scalar> words{n.cast(v, DType::U32)};
  if (width == 64) words.push_back(n.cast(v / n.literal(4294967296.0, v), DType::U32));
  Scalar h = constant(seed);
  for (Scalar k : words) {
    k = rotated(k * constant(0xcc9e2d51), 15) * constant(0x1b873593);
    h = rotated(bitXor(h, k), 13) * constant(5) + constant(0xe6546b64);
  }
  h = bitXor(h, constant(width / 8));
  return mixed(mixed(mixed(h, 16, 0x85ebca6b), 13, 0xc2b2ae35), 16, 0);
}

ORTC_ONNX_OP_IN("com.microsoft", "MurmurHash3", since(1)) {
  static const TypeSet numbers =
      oneOf({DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64});
  Tensor x = n.input(0, "X",
                     {stringType.bits | numbers.bits, "string, int32, int64, uint32, uint64, "
                                                      "float or double"});
  if (x.dtype != DType::String) {
    auto seed = static_cast<double>(static_cast<uint32_t>(n.intAttr("seed", 0)));
    DType to = n.intAttr("positive", 1) ? DType::U32 : DType::I32;
    return n.output(0,
                    n.map(x, to, [&](Scalar v) { return hashOf(n, v, bitWidth(x.dtype), seed); }));
  }
  Tensor f = flat(n, x);
  NodeBuilder::OutType result{n.sizes(f), n.intAttr("positive", 1) ? DType::U32 : DType::I32};
  Tensor r = stringStep(n, "murmur_hash3", f, result,
                        n.b.getNamedAttr("seed", n.b.getI64IntegerAttr(n.intAttr("seed", 0))))[0];
  n.output(0, n.reshape(r, n.sizes(x)));
}

// How often each n-gram of a pool comes in a row: its items may stand up to max_skip_count items
// apart.
ORTC_ONNX_OP("TfIdfVectorizer", since(9)) {
  Tensor x = n.input(0, "X", oneOf({DType::String, DType::I32, DType::I64}));
  std::string mode = n.stringAttr("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    n.error("'mode' is '{}'; expected TF, IDF or TFIDF", mode);
  int64_t shortest = n.intAttr("min_gram_length"), longest = n.intAttr("max_gram_length"),
          skips = n.intAttr("max_skip_count");
  std::vector<int64_t> starts = n.intsAttr("ngram_counts"), columns = n.intsAttr("ngram_indexes");
  auto texts = n.stringsAttr("pool_strings", std::vector<std::string>{});
  auto pool = n.intsAttr("pool_int64s", std::vector<int64_t>{});
  auto weights = n.floatsAttr("weights", std::vector<float>{});
  if (shortest < 1 || longest < shortest || skips < 0 ||
      static_cast<int64_t>(starts.size()) < longest)
    n.error("n-grams of {} to {} items with {} skips, but 'ngram_counts' has {} values", shortest,
            longest, skips, starts.size());
  if (texts.empty() == pool.empty()) n.error("needs either 'pool_strings' or 'pool_int64s'");
  if (texts.empty() == (x.dtype == DType::String))
    n.error("the input is {}, and the pool is not", dtypeName(x.dtype));
  if (!weights.empty() && weights.size() != columns.size())
    n.error("'weights' has {} values; expected {}", weights.size(), columns.size());
  if (x.rank() < 1 || x.rank() > 2) n.error("the input has rank {}; expected 1 or 2", x.rank());
  // Strings become the places where they first stand in the pool.
  if (!texts.empty()) {
    llvm::StringMap<int64_t> first;
    for (auto [i, t] : llvm::enumerate(texts))
      pool.push_back(first.try_emplace(t, static_cast<int64_t>(i)).first->second);
    x = stringIndex(n, x, texts);
  }
  x = n.castTo(x, DType::I64);
  int64_t width = 0;
  for (int64_t c : columns) {
    if (c < 0) n.error("'ngram_indexes' holds {}", c);
    width = std::max(width, c + 1);
  }
  bool vector = x.rank() == 1;
  if (vector) x = n.reshape(x, {n.size(1), n.size(x, 0)});
  Size rows = n.size(x, 0), length = n.size(x, 1);
  Tensor grams = n.ints(pool), column = n.ints(columns);
  NodeBuilder::OutType result{{rows, n.size(width)}, DType::F32};
  auto count = [&](ArrayRef<Scalar> row, ArrayRef<Out> out) {
    Scalar r = row[0], zero = n.literal(0, n.b.getF32Type());
    n.repeat(n.index(0), n.index(width), [&](Scalar c) { out[0].store({r, c}, zero); });
    int64_t firstGram = 0; // number of the first n-gram of this length
    for (int64_t g = 1; g <= longest; ++g) {
      int64_t from = starts[g - 1],
              to = g < static_cast<int64_t>(starts.size()) ? starts[g]
                                                           : static_cast<int64_t>(pool.size()),
              many = std::max<int64_t>(to - from, 0) / g;
      if (from < 0 || to > static_cast<int64_t>(pool.size()) ||
          firstGram + many > static_cast<int64_t>(columns.size()))
        n.error("'ngram_counts' does not fit the pool of {} items and {} n-grams", pool.size(),
                columns.size());
      for (int64_t apart = 1; g >= shortest && many && apart <= (g == 1 ? 1 : skips + 1); ++apart) {
        Scalar last = n.index(length) - static_cast<double>((g - 1) * apart);
        n.repeat(n.index(0), last, [&](Scalar at) {
          n.repeat(n.index(0), n.index(many), [&](Scalar k) {
            Scalar hit;
            for (int64_t i = 0; i < g; ++i) {
              Scalar item = n.at(x, {r, at + static_cast<double>(i * apart)});
              Scalar wanted =
                  n.at(grams, k * static_cast<double>(g) + static_cast<double>(from + i));
              Scalar same = equal(item, wanted);
              hit = hit.v ? bitAnd(hit, same) : same;
            }
            n.ifThen(hit, [&] {
              Scalar c = n.toIndex(n.at(column, k + static_cast<double>(firstGram)));
              out[0].store({r, c}, out[0].load({r, c}) + 1.0);
            });
          });
        });
      }
      firstGram += many;
    }
  };
  Tensor y = n.serial(rows, result, count)[0];
  if (mode != "TF") {
    HostTensor w(n.typeOf(DType::F32), {width});
    for (int64_t i = 0; i < width; ++i)
      w.setDouble(i, 1);
    for (size_t i = 0; i < weights.size(); ++i)
      w.setDouble(columns[i], weights[i]);
    bool truncated = mode == "IDF";
    y = n.map(y, n.constant(w, DType::F32), [&](Scalar v, Scalar weight) {
      return truncated ? select(v > 0.0, weight, 0.0) : v * weight;
    });
  }
  n.output(0, vector ? n.reshape(y, n.size(width)) : y);
}

} // namespace ortc::opdef
