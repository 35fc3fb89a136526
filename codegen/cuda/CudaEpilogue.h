// SPDX-License-Identifier: Apache-2.0
// The epilogue of a catalogue template as the body of a function of one output.
#pragma once
#include "codegen/common/Printer.h"
#include "codegen/common/Text.h"
#include "compiler/ops/AllOps.h"

namespace ortc::codegen::cuda {

inline constexpr Language::Spelling kSpellings[] = {{"math.cbrt", "cbrt"}};
inline constexpr Language kCuda = {.name = "CUDA", .spellings = kSpellings};

struct EpilogueText {
  std::string body; // of operator()(float acc, int64_t m, int64_t n)
  /// What it needs of its kernel: a field's declaration ("const float* bias"), and its value there.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// `outer` spells a value of the kernel, `layout` tells where a memref of the kernel lies.
mlir::FailureOr<EpilogueText> printEpilogue(CallTemplateOp call,
                                            llvm::function_ref<Expr(mlir::Value)> outer,
                                            llvm::function_ref<Layout(mlir::Value)> layout);

} // namespace ortc::codegen::cuda
