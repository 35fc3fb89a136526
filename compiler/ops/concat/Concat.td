// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_CONCAT
#define ORTC_OPS_CONCAT
include "compiler/ir/OrtcDialect.td"

def Ortc_ConcatOp : Ortc_TensorOp<"concat"> {
  let summary = "tensors one after the other along an axis";
  let description = [{
    C1: at least one source, all of the result's rank and element type. C2: 0 <= axis < rank. C3: static sizes agree on
    all other axes. The planner lets the sources be written in place where it can.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$sources, AnyRankedTensor:$init, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`axis` $axis `(` $sources `)` `into` $init attr-dict `:` type($sources) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}
#endif
