// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/Sizes.h"
#include "compiler/ops/Accumulate.h"
#include "compiler/ops/AllOps.h"
#include "compiler/ops/Panels.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/conv/Conv.cpp.inc"

LogicalResult ConvOp::verify() {
  auto x = cast<RankedTensorType>(getInput().getType()),
       w = cast<RankedTensorType>(getWeights().getType()),
       y = cast<RankedTensorType>(getResult().getType());
  int64_t n = spatialRank();
  if (getLayout() != "nchw" && getLayout() != "nhwc") return emitOpError("unknown layout");
  if (n < 1 || n > 3 || w.getRank() != n + 2 || y.getRank() != n + 2)
    return emitOpError("ranks do not fit");
  if (static_cast<int64_t>(getStrides().size()) != n ||
      static_cast<int64_t>(getDilations().size()) != n ||
      static_cast<int64_t>(getPads().size()) != 2 * n)
    return emitOpError("needs one stride and dilation and two pads per spatial dim");
  auto positive = [](int64_t v) { return v > 0; };
  if (!llvm::all_of(getStrides(), positive) || !llvm::all_of(getDilations(), positive) ||
      !llvm::all_of(getPads(), [](int64_t v) { return v >= 0; }) || getGroup() < 1)
    return emitOpError("strides, dilations and group must be positive, pads not negative");
  int64_t c = x.getDimSize(channelDim()), oc = w.getDimSize(0), ic = w.getDimSize(1),
          g = getGroup();
  if (!ShapedType::isDynamic(c) && !ShapedType::isDynamic(ic) && c != ic * g)
    return emitOpError() << "has " << c << " channels where the weights want " << ic
                         << " in each of " << g << " groups";
  if (!ShapedType::isDynamic(oc) && oc % g)
    return emitOpError("out channels are not divisible by group");
  if (Value p = getPadding()) {
    auto type = cast<RankedTensorType>(p.getType());
    if (type.getRank() || type.getElementType() != x.getElementType())
      return emitOpError("padding is not one element of the input's type");
  }
  for (int64_t i = 0; i < n; ++i) {
    int64_t in = x.getDimSize(spatialDim(i)), k = w.getDimSize(i + 2),
            out = y.getDimSize(spatialDim(i));
    if (ShapedType::isDynamic(in) || ShapedType::isDynamic(k) || ShapedType::isDynamic(out))
      continue;
    int64_t span = in + getPads()[i] + getPads()[n + i] - ((k - 1) * getDilations()[i] + 1);
    if (span < 0 || out != span / getStrides()[i] + 1)
      return emitOpError() << "size of spatial dim " << i << " does not follow from the input";
  }
  return success();
}

// As a matrix product: out channels of a group times (channel, tap), by taps times output
// positions. The right matrix is never stored: its rows are written where they are used, padding
// included.
LogicalResult ConvOp::evaluate(ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor>& results) {
  const HostTensor &x = operands[0], &w = operands[1];
  int64_t n = spatialRank(), groups = getGroup();
  HostTensor y(cast<RankedTensorType>(getResult().getType()).getElementType(), operands[2].dims);
  int64_t cd = channelDim(), C = x.dims[cd], OC = w.dims[0], IC = w.dims[1];
  if (C != IC * groups)
    return emitError() << "convolution of " << C << " channels with weights for " << IC * groups;
  auto strideOf = [](const HostTensor& t) {
    SmallVector<int64_t> s(t.dims.size(), 1);
    for (size_t d = t.dims.size() - 1; d-- > 0;)
      s[d] = s[d + 1] * t.dims[d + 1];
    return s;
  };
  SmallVector<int64_t> xs = strideOf(x), ys = strideOf(y);
  // Three spatial dims, aligned to the right; the missing ones have size 1.
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          dilation[3] = {1, 1, 1}, pad[3] = {}, sx[3] = {};
  for (int64_t i = 0; i < n; ++i) {
    int64_t s = 3 - n + i;
    in[s] = x.dims[spatialDim(i)], out[s] = y.dims[spatialDim(i)], kernel[s] = w.dims[i + 2];
    stride[s] = getStrides()[i], dilation[s] = getDilations()[i], pad[s] = getPads()[i];
    sx[s] = xs[spatialDim(i)];
  }
  int64_t perGroup = OC / groups, taps = kernel[0] * kernel[1] * kernel[2], depth = IC * taps;
  int64_t positions = out[0] * out[1] * out[2];
  CellType cell = cellType(y.elementType);
  if (y.size() == 0) {
    results.push_back(std::move(y));
    return success();
  }

  auto run = [&](auto padding, const auto* px, const auto* pw) {
    using T = decltype(padding);
    constexpr int64_t width = ColumnBlock<T>::blockColumns;
    int64_t blocks = (positions + width - 1) / width;
    std::vector<LeftPanels<T>> left(groups, LeftPanels<T>(perGroup, depth));
    parallelFor(groups * left[0].panels(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t g = i / left[0].panels();
        left[g].pack(i % left[0].panels(), [&](int64_t r, int64_t k) {
          return static_cast<T>(pw[(g * perGroup + r) * depth + k]);
        });
      }
    });
    parallelFor(x.dims[0] * groups * blocks, [&](int64_t begin, int64_t end) {
      ColumnBlock<T> work;
      struct Run { // output positions of one row
        int64_t column, count, at0, at1, at2;
      };
      SmallVector<Run> runs;
      for (int64_t task = begin; task < end; ++task) {
        int64_t batch = task / (groups * blocks), g = task / blocks % groups;
        int64_t first = task % blocks * width, count = std::min(width, positions - first);
        runs.clear();
        for (int64_t c = 0; c < count;) {
          int64_t o2 = (first + c) % out[2], row = (first + c) / out[2];
          int64_t length = std::min(count - c, out[2] - o2);
          runs.push_back({c, length, row / out[1] * stride[0] - pad[0],
                          row % out[1] * stride[1] - pad[1], o2 * stride[2] - pad[2]});
          c += length;
        }
        auto packRow = [&](int64_t k, T* row) {
          int64_t tap = k % taps;
          int64_t d0 = tap / (kernel[1] * kernel[2]) * dilation[0],
                  d1 = tap / kernel[2] % kernel[1] * dilation[1],
                  d2 = tap % kernel[2] * dilation[2];
          const auto* channel = px + batch * xs[0] + (g * IC + k / taps) * xs[cd];
          for (const Run& r : runs) {
            int64_t i0 = r.at0 + d0, i1 = r.at1 + d1, i2 = r.at2 + d2;
            T* to = row + r.column;
            if (i0 < 0 || i0 >= in[0] || i1 < 0 || i1 >= in[1]) {
              std::fill_n(to, r.count, padding);
              continue;
            }
            const auto* from = channel + i0 * sx[0] + i1 * sx[1];
            for (int64_t i = 0; i < r.count; ++i, i2 += stride[2])
              to[i] = i2 >= 0 && i2 < in[2] ? static_cast<T>(from[i2 * sx[2]]) : padding;
          }
        };
        int64_t step = isChannelsLast() ? ys[n] : 1;
        auto store = [&](int64_t r, const T* values) {
          int64_t to = batch * ys[0] + (g * perGroup + r) * ys[cd] + first * step;
          if constexpr (std::is_same_v<T, double>)
            if (cell.isFloat()) return storeDoubles(cell, y.data.get(), to, step, count, values);
          int64_t whole[width];
          for (int64_t i = 0; i < count; ++i)
            whole[i] = static_cast<int64_t>(values[i]);
          storeIntegers(cell, y.data.get(), to, step, count, whole);
        };
        work.run(left[g], count, packRow, store);
      }
    });
  };
  const bool pads = operands.size() > 3;
  if (cell.isFloat()) {
    const double padding = pads ? operands[3].getDouble(0) : 0;
    if (x.elementType.isF32() && w.elementType.isF32())
      run(padding, x.as<float>(), w.as<float>());
    else {
      std::vector<double> wx(x.size()), ww(w.size());
      toDoubles(x, wx.data());
      toDoubles(w, ww.data());
      run(padding, wx.data(), ww.data());
    }
  } else {
    const int64_t padding = pads ? operands[3].getInt(0, getInputUnsigned()) : 0;
    std::vector<uint64_t> wx(x.size()), ww(w.size());
    toIntegers(x, getInputUnsigned(), wx.data());
    toIntegers(w, getWeightsUnsigned(), ww.data());
    if (exactInDoubles(x, w, depth))
      run(static_cast<double>(padding), reinterpret_cast<const int64_t*>(wx.data()),
          reinterpret_cast<const int64_t*>(ww.data()));
    else
      run(static_cast<uint64_t>(padding), wx.data(), ww.data());
  }
  results.push_back(std::move(y));
  return success();
}

Value ConvOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  OpBuilder& b = e.builder();
  int64_t n = spatialRank();
  Type result = cast<RankedTensorType>(getResult().getType()).getElementType(),
       acc = accumulatorType(result);
  Value oc = indices[channelDim()], ic = e.size(getWeights(), 1);
  Value firstChannel = e.index(0);
  if (getGroup() > 1) {
    Value perGroup = e.div(e.size(getWeights(), 0), e.index(getGroup()));
    firstChannel = e.mul(e.div(oc, perGroup), ic);
  }
  // Channels innermost where they are contiguous.
  SmallVector<Value> extents;
  if (!isChannelsLast()) extents.push_back(ic);
  for (int64_t i = 0; i < n; ++i)
    extents.push_back(e.size(getWeights(), i + 2));
  if (isChannelsLast()) extents.push_back(ic);
  return accumulateProducts(e, result, extents, [&](ValueRange k) {
    Value c = isChannelsLast() ? k.back() : k.front();
    ValueRange taps = isChannelsLast() ? k.drop_back() : k.drop_front();
    SmallVector<Value> at(n + 2), wat{oc, c};
    at[0] = indices[0];
    at[channelDim()] = e.add(firstChannel, c);
    Value inside;
    for (int64_t i = 0; i < n; ++i) {
      Value p = e.add(e.mul(indices[spatialDim(i)], e.index(getStrides()[i])),
                      e.mul(taps[i], e.index(getDilations()[i])));
      if (getPads()[i] || getPads()[n + i]) {
        p = e.sub(p, e.index(getPads()[i]));
        // One unsigned comparison tells both ends.
        Value ok = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::ult, p,
                                           e.size(getInput(), spatialDim(i)));
        inside = inside ? b.create<arith::AndIOp>(e.loc, inside, ok).getResult() : ok;
      }
      at[spatialDim(i)] = p;
      wat.push_back(taps[i]);
    }
    auto readInput = [&] { return widen(e, e.read(getInput(), at), result, getInputUnsigned()); };
    Value x = !inside ? readInput() : e.guarded(inside, readInput, [&]() -> Value {
      if (Value p = getPadding()) return widen(e, e.read(p, {}), result, getInputUnsigned());
      return b.create<arith::ConstantOp>(e.loc, b.getZeroAttr(acc));
    });
    return std::pair(x, widen(e, e.read(getWeights(), wat), result, getWeightsUnsigned()));
  });
}
