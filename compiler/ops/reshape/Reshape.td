// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_RESHAPE
#define ORTC_OPS_RESHAPE
include "compiler/ir/OrtcDialect.td"

def Ortc_ReshapeOp : Ortc_TensorOp<"reshape"> {
  let summary = "the same row-major elements with other sizes";
  let description = [{
    C1: element types are equal. C2: where all sizes are static, the numbers of elements are equal.
    Free on contiguous buffers: the planner makes it a view.
  }];
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `into` $init attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}
#endif
