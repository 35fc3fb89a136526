// SPDX-License-Identifier: Apache-2.0
// What the families of kernels on 8-bit numbers share: tiles, names, and the arguments that all of
// their templates take.
#pragma once
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Families.h"
#include "targets/cpu/kernels/gemm8/pack.h"

namespace ortc::cpu {

/// MR rows by NV vectors; `group` numbers are multiplied at once (kernels/gemm8/tile8.h).
struct ByteTile {
  int MR, NV, bytes, group;
  int NR() const { return NV * bytes / 4; }
  PanelLayout panels(bool isUnsigned, bool offsets) const {
    return {NR(), group, group == 4 && !isUnsigned, offsets};
  }
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

/// Are weights s8, or i16 that are s8 and an offset for each output channel? Channels start
/// `channelStride` elements apart, their numbers lie `stride` apart.
bool areByteWeights(const HostTensor& weights, int64_t channels, int64_t channelStride,
                    int64_t stride);
/// The numbers of weights of s8 or i16.
std::vector<int16_t> numbersOf(const HostTensor& weights);

/// The args struct for what the kernel gives: Gemm8Args<float>.
std::string byteArgs(llvm::StringRef name, KernelOp kernel);
void byteParameters(catalogue::TemplateCall& call, ByteTile tile, const PanelLayout& layout,
                    bool isUnsigned);

} // namespace ortc::cpu
