// SPDX-License-Identifier: Apache-2.0
// What contraction and convolution share: sums of products, on host tensors and as scalar code.
#pragma once
#include "compiler/ir/ElementEmitter.h"
#include "compiler/ir/HostTensor.h"

namespace ortc {

/// result[o] = sum over i of lhs * rhs, in f64 (integers: in the 64-bit ring). `outer`/`inner` are
/// extents; strides are in elements, for lhs, rhs (and result). Runs on all cores; the result does
/// not depend on their number.
void sumOfProducts(const HostTensor& lhs, bool lhsUnsigned, const HostTensor& rhs, bool rhsUnsigned,
                   HostTensor& result, llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> inner,
                   std::array<llvm::SmallVector<int64_t>, 3> outerStrides,
                   std::array<llvm::SmallVector<int64_t>, 2> innerStrides);

/// All elements as doubles / as integers of the 64-bit ring.
void toDoubles(const HostTensor& tensor, double* out);
void toIntegers(const HostTensor& tensor, bool isUnsigned, uint64_t* out);
/// Does a sum of `terms` products of these integers stay exact in f64?
bool exactInDoubles(const HostTensor& a, const HostTensor& b, int64_t terms);

/// `body(begin, end)` over [0, count) on all cores, in contiguous pieces. A body must not call
/// parallelFor.
void parallelFor(int64_t count, llvm::function_ref<void(int64_t begin, int64_t end)> body);

/// Number of threads that parallelFor uses; 0: as many as there are cores.
void setThreadCount(unsigned threads);

/// The type that a sum of type `result` is accumulated in: f32 for f16 and bf16, else itself.
mlir::Type accumulatorType(mlir::Type result);
/// `v` as the accumulator type of `result`.
mlir::Value widen(ElementEmitter& e, mlir::Value v, mlir::Type result, bool isUnsigned);
/// Scalar code: the sum over `extents` of the products that `factors(indices)` gives, as `result`.
mlir::Value accumulateProducts(
    ElementEmitter& e, mlir::Type result, mlir::ValueRange extents,
    llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::ValueRange)> factors);

} // namespace ortc
