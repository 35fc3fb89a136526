// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_CONV
#define ORTC_OPS_CONV
include "compiler/ir/OrtcDialect.td"

def Ortc_ConvOp : Ortc_TensorOp<"conv"> {
  let summary = "convolution over 1 to 3 spatial dims, with strides, dilations, zero padding and groups";
  let description = [{
    `layout` is "nchw" (batch, channels, spatial...) or "nhwc" (batch, spatial..., channels), for the input and the
    result alike. The weights are always (out channels, in channels / group, kernel...). Padding is `pads` = begins,
    then ends; it holds zeros, or the one element of `padding` (the zero point of quantised numbers). Accumulated as
    ortc.contract is. C1: ranks agree and have 1 to 3 spatial dims. C2: strides, dilations and group are positive, pads
    not negative, all of the right length. C3: channels are divisible by group and fit the weights. C4: static sizes of
    the result are (in + pads - ((k - 1) * dilation + 1)) / stride + 1. C5: `padding` has rank 0 and the input's element
    type. [ONNX Conv-1, Conv-11, Conv-22]
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weights, AnyRankedTensor:$init,
                       Optional<AnyRankedTensor>:$padding,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads,
                       DefaultValuedAttr<I64Attr, "1">:$group, DefaultValuedAttr<StrAttr, "\"nchw\"">:$layout,
                       DefaultValuedAttr<BoolAttr, "false">:$inputUnsigned,
                       DefaultValuedAttr<BoolAttr, "false">:$weightsUnsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ `(` $input `,` $weights `)` `into` $init (`padding` $padding^)? attr-dict
                          `:` type($input) `,` type($weights) (`,` type($padding)^)? `->` type($result) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    int64_t spatialRank() { return ::mlir::cast<::mlir::RankedTensorType>(getInput().getType()).getRank() - 2; }
    bool isChannelsLast() { return getLayout() == "nhwc"; }
    int64_t channelDim() { return isChannelsLast() ? spatialRank() + 1 : 1; }
    int64_t spatialDim(int64_t i) { return isChannelsLast() ? i + 1 : i + 2; }
  }];
}
#endif
