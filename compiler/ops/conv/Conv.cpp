// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/AllOps.h"
#include "compiler/ir/Sizes.h"
#include "compiler/ops/Accumulate.h"
using namespace mlir;
using namespace ortc;

#define GET_OP_CLASSES
#include "compiler/ops/conv/Conv.cpp.inc"

LogicalResult ConvOp::verify() {
  auto x = cast<RankedTensorType>(getInput().getType()), w = cast<RankedTensorType>(getWeights().getType()),
       y = cast<RankedTensorType>(getResult().getType());
  int64_t n = spatialRank();
  if (getLayout() != "nchw" && getLayout() != "nhwc") return emitOpError("unknown layout");
  if (n < 1 || n > 3 || w.getRank() != n + 2 || y.getRank() != n + 2) return emitOpError("ranks do not fit");
  if (static_cast<int64_t>(getStrides().size()) != n || static_cast<int64_t>(getDilations().size()) != n ||
      static_cast<int64_t>(getPads().size()) != 2 * n)
    return emitOpError("needs one stride and dilation and two pads per spatial dim");
  auto positive = [](int64_t v) { return v > 0; };
  if (!llvm::all_of(getStrides(), positive) || !llvm::all_of(getDilations(), positive) ||
      !llvm::all_of(getPads(), [](int64_t v) { return v >= 0; }) || getGroup() < 1)
    return emitOpError("strides, dilations and group must be positive, pads not negative");
  int64_t c = x.getDimSize(channelDim()), oc = w.getDimSize(0), ic = w.getDimSize(1), g = getGroup();
  if (!ShapedType::isDynamic(c) && !ShapedType::isDynamic(ic) && c != ic * g)
    return emitOpError() << "has " << c << " channels where the weights want " << ic << " in each of " << g << " groups";
  if (!ShapedType::isDynamic(oc) && oc % g) return emitOpError("out channels are not divisible by group");
  for (int64_t i = 0; i < n; ++i) {
    int64_t in = x.getDimSize(spatialDim(i)), k = w.getDimSize(i + 2), out = y.getDimSize(spatialDim(i));
    if (ShapedType::isDynamic(in) || ShapedType::isDynamic(k) || ShapedType::isDynamic(out)) continue;
    int64_t span = in + getPads()[i] + getPads()[n + i] - ((k - 1) * getDilations()[i] + 1);
    if (span < 0 || out != span / getStrides()[i] + 1) return emitOpError() << "size of spatial dim " << i << " does not follow from the input";
  }
  return success();
}

LogicalResult ConvOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor>& results) {
  const HostTensor &x = operands[0], &w = operands[1];
  int64_t n = spatialRank(), g = getGroup();
  HostTensor y(cast<RankedTensorType>(getResult().getType()).getElementType(), operands[2].dims);
  bool isFloat = isa<FloatType>(y.elementType);
  int64_t cd = channelDim(), C = x.dims[cd], OC = w.dims[0], IC = w.dims[1];
  auto strideOf = [](const HostTensor& t) {
    SmallVector<int64_t> s(t.dims.size(), 1);
    for (size_t d = t.dims.size() - 1; d-- > 0;) s[d] = s[d + 1] * t.dims[d + 1];
    return s;
  };
  SmallVector<int64_t> xs = strideOf(x), ws = strideOf(w), ys = strideOf(y);
  // Three spatial dims; the missing ones have size 1.
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, k[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dil[3] = {1, 1, 1}, pad[3] = {};
  int64_t sx[3] = {}, sy[3] = {}, sw[3] = {};
  for (int64_t i = 0; i < n; ++i) {
    in[i] = x.dims[spatialDim(i)], out[i] = y.dims[spatialDim(i)], k[i] = w.dims[i + 2];
    stride[i] = getStrides()[i], dil[i] = getDilations()[i], pad[i] = getPads()[i];
    sx[i] = xs[spatialDim(i)], sy[i] = ys[spatialDim(i)], sw[i] = ws[i + 2];
  }
  if (C != IC * g) return emitError() << "convolution of " << C << " channels with weights for " << IC * g;
  auto loops = [&](auto zero, auto wx, auto ww, auto store) {
    using Acc = decltype(zero);
    parallelFor(x.dims[0] * OC, [&](int64_t begin, int64_t end) {
      for (int64_t no = begin; no < end; ++no) {
        int64_t b = no / OC, oc = no % OC, c0 = oc / (OC / g) * IC;
        for (int64_t o0 = 0; o0 < out[0]; ++o0)
          for (int64_t o1 = 0; o1 < out[1]; ++o1)
            for (int64_t o2 = 0; o2 < out[2]; ++o2) {
              Acc sum = 0;
              for (int64_t k0 = 0; k0 < k[0]; ++k0) {
                int64_t i0 = o0 * stride[0] + k0 * dil[0] - pad[0];
                if (i0 < 0 || i0 >= in[0]) continue;
                for (int64_t k1 = 0; k1 < k[1]; ++k1) {
                  int64_t i1 = o1 * stride[1] + k1 * dil[1] - pad[1];
                  if (i1 < 0 || i1 >= in[1]) continue;
                  for (int64_t k2 = 0; k2 < k[2]; ++k2) {
                    int64_t i2 = o2 * stride[2] + k2 * dil[2] - pad[2];
                    if (i2 < 0 || i2 >= in[2]) continue;
                    const auto* px = wx + b * xs[0] + c0 * xs[cd] + i0 * sx[0] + i1 * sx[1] + i2 * sx[2];
                    const auto* pw = ww + oc * ws[0] + k0 * sw[0] + k1 * sw[1] + k2 * sw[2];
                    for (int64_t c = 0; c < IC; ++c) sum += px[c * xs[cd]] * pw[c * ws[1]];
                  }
                }
              }
              store(b * ys[0] + oc * ys[cd] + o0 * sy[0] + o1 * sy[1] + o2 * sy[2], sum);
            }
      }
    });
  };
  if (isFloat) {
    std::vector<double> wx(x.size()), ww(w.size());
    parallelFor(x.size(), [&](int64_t b, int64_t e) { for (int64_t i = b; i < e; ++i) wx[i] = x.getDouble(i); });
    parallelFor(w.size(), [&](int64_t b, int64_t e) { for (int64_t i = b; i < e; ++i) ww[i] = w.getDouble(i); });
    loops(0.0, wx.data(), ww.data(), [&](int64_t i, double v) { y.setDouble(i, v); });
  } else {
    std::vector<uint64_t> wx(x.size()), ww(w.size());
    for (int64_t i = 0; i < x.size(); ++i) wx[i] = x.getInt(i, getInputUnsigned());
    for (int64_t i = 0; i < w.size(); ++i) ww[i] = w.getInt(i, getWeightsUnsigned());
    loops(uint64_t(0), wx.data(), ww.data(), [&](int64_t i, uint64_t v) { y.setInt(i, static_cast<int64_t>(v)); });
  }
  results.push_back(std::move(y));
  return success();
}

Value ConvOp::elementAt(ElementEmitter& e, unsigned, ValueRange indices) {
  OpBuilder& b = e.builder();
  int64_t n = spatialRank();
  Type result = cast<RankedTensorType>(getResult().getType()).getElementType(), acc = accumulatorType(result);
  Value oc = indices[channelDim()], ic = e.size(getWeights(), 1);
  Value firstChannel = e.index(0);
  if (getGroup() > 1) {
    Value perGroup = e.div(e.size(getWeights(), 0), e.index(getGroup()));
    firstChannel = e.mul(e.div(oc, perGroup), ic);
  }
  // Channels innermost where they are contiguous.
  SmallVector<Value> extents;
  if (!isChannelsLast()) extents.push_back(ic);
  for (int64_t i = 0; i < n; ++i) extents.push_back(e.size(getWeights(), i + 2));
  if (isChannelsLast()) extents.push_back(ic);
  return accumulateProducts(e, result, extents, [&](ValueRange k) {
    Value c = isChannelsLast() ? k.back() : k.front();
    ValueRange taps = isChannelsLast() ? k.drop_back() : k.drop_front();
    SmallVector<Value> at(n + 2), wat{oc, c};
    at[0] = indices[0];
    at[channelDim()] = e.add(firstChannel, c);
    Value inside;
    for (int64_t i = 0; i < n; ++i) {
      Value p = e.add(e.mul(indices[spatialDim(i)], e.index(getStrides()[i])), e.mul(taps[i], e.index(getDilations()[i])));
      if (getPads()[i] || getPads()[n + i]) {
        p = e.sub(p, e.index(getPads()[i]));
        // One unsigned comparison tells both ends.
        Value ok = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::ult, p, e.size(getInput(), spatialDim(i)));
        inside = inside ? b.create<arith::AndIOp>(e.loc, inside, ok).getResult() : ok;
      }
      at[spatialDim(i)] = p;
      wat.push_back(taps[i]);
    }
    auto readInput = [&] { return widen(e, e.read(getInput(), at), result, getInputUnsigned()); };
    Value x = !inside ? readInput() : e.guarded(inside, readInput, [&]() -> Value { return b.create<arith::ConstantOp>(e.loc, b.getZeroAttr(acc)); });
    return std::pair(x, widen(e, e.read(getWeights(), wat), result, getWeightsUnsigned()));
  });
}
