// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_DIM
#define ORTC_OPS_DIM
include "compiler/ir/OrtcDialect.td"

def Ortc_DimOp : Ortc_Op<"dim", [Pure]> {
  let summary = "a size that the caller of the model chooses";
  let description = [{
    A named dimension of the model's inputs, with bounds. Equal names are one op, at the start of the function, so that
    equality of sizes is identity of SSA values after CSE. C1: 0 <= min <= max. C2: multipleOf >= 1.

    ```mlir
    %batch = ortc.dim "batch" in [1, 32]
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$min, I64Attr:$max, DefaultValuedAttr<I64Attr, "1">:$multipleOf);
  let results = (outs Index:$size);
  let assemblyFormat = "$name `in` `[` $min `,` $max `]` attr-dict";
  let hasVerifier = 1;
}
#endif
