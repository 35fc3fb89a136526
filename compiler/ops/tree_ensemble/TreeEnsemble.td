// SPDX-License-Identifier: Apache-2.0
#ifndef ORTC_OPS_TREE_ENSEMBLE
#define ORTC_OPS_TREE_ENSEMBLE
include "compiler/ir/OrtcDialect.td"

def Ortc_TreeEnsembleOp : Ortc_TensorOp<"tree_ensemble"> {
  let summary = "decision trees: what the leaves that a row reaches add up to, per target";
  let description = [{
    Row n of `input` [N, F] walks each tree from its root. A node compares a feature with a threshold of the input's
    type, and goes on to `yes` or `no`; a child c >= 0 is a node, and c < 0 is leaf -1 - c. Leaf l has the entries
    [leafBegin[l], leafBegin[l + 1]), each a target and a weight. Trees that have entries for target t are
    roots[rootBegin[t]] to roots[rootBegin[t + 1] - 1], in order. Result [n, t] folds the weights for t by `aggregate`
    (sum, min or max; 0, +infinity or -infinity when there are none).

    `modes` says how nodes compare: bits 0 to 2 are 0 <=, 1 <, 2 >=, 3 >, 4 ==, 5 !=; bit 3 sends a NaN to `yes`.
    When all nodes have one mode, `uniformMode` says so, and `modes` is not read. The tables are made by who makes the
    op: children form trees (no cycles), features are less than F, and indices are in range. C1: ranks and element
    types. C2: aggregate is known. C3: rootBegin has one element more than there are targets.
  }];
  let arguments = (ins AnyRankedTensor:$input,
                       1DTensorOf<[I32]>:$features, 1DTensorOf<[AnyFloat]>:$thresholds, 1DTensorOf<[I8]>:$modes,
                       1DTensorOf<[I32]>:$yes, 1DTensorOf<[I32]>:$no,
                       1DTensorOf<[I32]>:$roots, 1DTensorOf<[I32]>:$rootBegin,
                       1DTensorOf<[I32]>:$leafBegin, 1DTensorOf<[I32]>:$targets, 1DTensorOf<[AnyFloat]>:$weights,
                       AnyRankedTensor:$init, DefaultValuedAttr<StrAttr, "\"sum\"">:$aggregate,
                       OptionalAttr<I64Attr>:$uniformMode);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ `(` $input `)` `nodes` `(` $features `,` $thresholds `,` $modes `,` $yes `,` $no `)`
                          `trees` `(` $roots `,` $rootBegin `)` `leaves` `(` $leafBegin `,` $targets `,` $weights `)`
                          `into` $init attr-dict `:` type(operands) `->` type($result) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    enum Mode : int64_t { LessEqual = 0, Less = 1, GreaterEqual = 2, Greater = 3, Equal = 4, NotEqual = 5, NanIsYes = 8 };
  }];
}
#endif
