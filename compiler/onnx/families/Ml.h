// SPDX-License-Identifier: Apache-2.0
// What the operators of ai.onnx.ml share: transforms of scores, labels, and rows of features.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

enum class PostTransform : uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };
PostTransform postTransform(NodeBuilder& n);
/// Rows of scores [N, C]. A single column is only changed by PROBIT (and by LOGISTIC where `single`
/// says so), as in ONNX Runtime, which the operators' texts leave open.
Tensor transformScores(NodeBuilder& n, Tensor scores, PostTransform post, bool single = false);
/// The score of the second of two classes, [N, 1], as a pair [N, 2]: (1 - s, s), or with `negate`
/// (-s, s); LOGISTIC gives the probabilities of both.
Tensor asPair(NodeBuilder& n, Tensor score, bool negate, PostTransform post = PostTransform::None);

/// Labels of classes, integers or strings; none: the numbers of the classes.
struct Labels {
  Tensor table; ///< [count]
  int64_t count = 0;
};
Labels readLabels(NodeBuilder& n, llvm::StringRef ints, llvm::StringRef strings);
/// labels[index] for index tensor [N] (i64).
Tensor labelsAt(NodeBuilder& n, const Labels& labels, Tensor indices);
/// The first largest of each row of [N, C]: i64 [N].
Tensor argMaxRows(NodeBuilder& n, Tensor scores);

/// X as rows [N, F] of `type`; one vector is one row.
Tensor rows(NodeBuilder& n, Tensor x, DType type);
/// A constant of floats.
Tensor floats(NodeBuilder& n, llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> dims,
              DType type = DType::F32);
std::vector<double> doubles(llvm::ArrayRef<float> values);
Tensor int32s(NodeBuilder& n, llvm::ArrayRef<int64_t> values);

} // namespace ortc::opdef
