// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_CONTRACT
#define ORTC_OPS_CONTRACT
include "compiler/ir/OrtcDialect.td"

def Ortc_ContractOp : Ortc_TensorOp<"contract"> {
  let summary = "sum of products over shared indices: matmul, gemm, batched matmul, einsum of two operands";
  let description = [{
    Loops are those of the indexing maps (lhs, rhs, result; projected permutations over the same dims). A loop that is
    not in the result map is summed over. The sum starts at zero and is accumulated in f32 for f16 and bf16, else in
    the result's type. C1: three maps with equal numbers of dims, all projected permutations. C2: ranks fit the maps.
    C3: sizes that one loop gives to several operands agree. C4: every loop is in the lhs or rhs map.

    ```mlir
    // y[m, n] = sum_k a[m, k] * b[k, n]
    %y = ortc.contract(%a, %b) into %init {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
         affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]} : ...
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, AnyRankedTensor:$init,
                       AffineMapArrayAttr:$indexing_maps,
                       DefaultValuedAttr<BoolAttr, "false">:$lhsUnsigned,
                       DefaultValuedAttr<BoolAttr, "false">:$rhsUnsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ `(` $lhs `,` $rhs `)` `into` $init attr-dict
                          `:` type($lhs) `,` type($rhs) `->` type($result) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    ::mlir::AffineMap map(unsigned operand) {
      return ::mlir::cast<::mlir::AffineMapAttr>(getIndexingMaps()[operand]).getValue();
    }
    unsigned numLoops() { return map(0).getNumDims(); }
    /// The operand (0 lhs, 1 rhs) and the dim of it that gives the extent of a loop.
    std::pair<unsigned, unsigned> extentOf(unsigned loop);
    /// Loops that the result does not have, in order.
    ::llvm::SmallVector<unsigned> reductionLoops();
  }];
}
#endif
