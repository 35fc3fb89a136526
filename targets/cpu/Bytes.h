// SPDX-License-Identifier: Apache-2.0
// What the families of kernels on 8-bit numbers share: tiles, names, and the arguments that all of
// their templates take.
#pragma once
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Families.h"

namespace ortc::cpu {

/// MR rows by NV vectors; `group` numbers are multiplied at once (kernels/gemm8/tile8.h).
struct ByteTile {
  int MR, NV, bytes, group;
  int NR() const { return NV * bytes / 4; }
  /// Does the kernel multiply with A + 128?
  bool flips(bool isUnsigned) const { return group == 4 && !isUnsigned; }
};

/// kernels/gemm8/README.md, the measured tiles. M < 0: not known.
ByteTile chooseByteTile(const Processor& processor, int64_t M, int64_t N);
/// That of the kernel's choice.
ByteTile byteTileOf(KernelOp kernel);

/// A row for a product of so many rows, columns and inner numbers.
Candidate byteCandidate(mlir::MLIRContext* context, const Processor& processor,
                        llvm::StringRef family, bool isUnsigned, ByteTile tile, double M, double N,
                        double K);

/// Numbers that a row of A may have at most (kernels/gemm8/tile8.h).
bool bytesFit(ByteTile tile, int64_t K);

/// The args struct for what the kernel gives: Gemm8Args<float>.
std::string byteArgs(llvm::StringRef name, KernelOp kernel);
void byteParameters(catalogue::TemplateCall& call, ByteTile tile, bool isUnsigned);

} // namespace ortc::cpu
