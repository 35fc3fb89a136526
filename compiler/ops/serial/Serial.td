// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_SERIAL
#define ORTC_OPS_SERIAL
include "compiler/ir/OrtcDialect.td"

def Ortc_SerialOp : Ortc_Op<"serial", [Pure, SingleBlock, AttrSizedOperandSegments, DestinationStyleOpInterface]> {
  let summary = "scalar code that writes its results at places that it computes: scans, scatters, sorts";
  let description = [{
    What no element can say of itself: the region runs once for each index of the space `extents`, in no order and maybe
    at the same time, and stores elements of the results one after the other. Its arguments are those indices, then a
    memref for each result, which holds nothing to begin with. It reads other tensors with `tensor.extract`, and may load
    what it has stored itself. Each element of a result is written by exactly one index of the space, and no index loads
    what another one writes. C1: the region takes an index for each extent, and a memref of the type of each result.
    C2: the region ends with a yield of nothing.

    ```mlir
    // running sums of the rows of x
    %y = ortc.serial for (%rows) into (%init : tensor<?x8xf32>) {
    ^bb0(%r: index, %out: memref<?x8xf32>):
      %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%carried = %zero) -> f32 {
        %v = tensor.extract %x[%r, %i] : tensor<?x8xf32>
        %next = arith.addf %carried, %v : f32
        memref.store %next, %out[%r, %i] : memref<?x8xf32>
        scf.yield %next : f32
      }
      ortc.yield
    } : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, Variadic<AnyRankedTensor>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `for` `(` $extents `)` `into` `(` $inits `:` type($inits) `)` attr-dict-with-keyword
                          $body `:` type($results) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    ::mlir::Block& block() { return getBody().front(); }
    /// The region's argument for result i.
    ::mlir::BlockArgument out(unsigned i) {
      return block().getArgument(static_cast<unsigned>(getExtents().size()) + i);
    }
  }];
}
#endif
