// SPDX-License-Identifier: Apache-2.0
// Contractions of 8-bit numbers as matrix products: kernels/gemm8.
#include "targets/common/catalogue/Contraction.h"
#include "targets/common/catalogue/TemplateCall.h"
#include "targets/cpu/Bytes.h"
#include "targets/cpu/Families.h"

using namespace mlir;

namespace ortc::cpu {
using namespace catalogue;
namespace {

/// The contraction of a kernel that can be a product with constant columns.
ContractOp contractOf(KernelOp kernel) {
  auto op = dyn_cast_or_null<ContractOp>(heavyByteOp(kernel));
  if (!op || op.getRhsUnsigned() || !constantOf(op.getRhs()) || !columnsComeLast(op)) return {};
  bool hasEpilogue = kernel.yielded()[0] != op.getResult();
  return hasEpilogue && !batchComesFirst(op) ? ContractOp() : op;
}

void candidates(KernelOp kernel, const Machine& machine, std::vector<Candidate>& rows) {
  ContractOp op = contractOf(kernel);
  if (!op) return;
  OpBuilder b(kernel);
  auto p = matrixProduct(op, b, /*packed=*/true, denseStrides(b, op.getLhs()),
                         denseStrides(b, op.getRhs()), denseStrides(b, op.getInit()));
  // A constant that is repeated over a batch axis would be packed for each.
  if (!p || !p->batch.empty()) return;
  const auto N = constantSize(p->columns[0].extent), K = constantSize(p->inner[0].extent);
  if (!N || !K) return;
  const int64_t M = constantSize(p->rows.back().extent).value_or(-1);
  const ByteTile t = chooseByteTile(machine.processor, M, *N);
  const double rowCount = static_cast<double>(constantSize(extentOf(b, p->rows)).value_or(32));
  HostTensor matrix = rhsMatrix(op, *constantOf(op.getRhs()));
  if (!bytesFit(t, *K) || !areByteWeights(matrix, *N, 1, *N)) return;
  rows.push_back(byteCandidate(kernel.getContext(), machine.processor, "gemm8", op.getLhsUnsigned(),
                               t, rowCount, static_cast<double>(*N), static_cast<double>(*K)));
}

FailureOr<LoweredKernel> write(KernelOp kernel, ModuleOp module, StridesOf strides) {
  ContractOp op = contractOf(kernel);
  OpBuilder ob(kernel);
  auto p = matrixProduct(op, ob, /*packed=*/true, strides(op.getLhs()),
                         denseStrides(ob, op.getRhs()), strides(kernel.getResult(0)));
  if (!p) return LoweredKernel();
  const ByteTile t = byteTileOf(kernel);
  HostTensor matrix = rhsMatrix(op, *constantOf(op.getRhs()));
  const int64_t K = matrix.dims[0], N = matrix.dims[1];
  const PanelLayout layout = t.panels(op.getLhsUnsigned(), matrix.elementType.isInteger(16));
  HostTensor out(ob.getI8Type(), {packedGemm8Bytes(K, N, layout)});
  packGemm8(numbersOf(matrix).data(), K, N, N, 1, layout, out.as<int8_t>());
  // Stands in the function beside the original, which is left without use.
  Value packed = ob.create<arith::ConstantOp>(op.getRhs().getLoc(), toAttribute(out, "packed"));

  KernelWriter writer(kernel, module, [&](Value v) {
    return v == packed ? Sizes{ob.getIndexAttr(1)} : strides(v);
  });
  TemplateCall call(writer, "gemm8", byteArgs("Gemm8Args", kernel));
  byteParameters(call, t, layout, op.getLhsUnsigned());
  const MatrixLoop &m = p->rows.back(), &n = p->columns[0], &k = p->inner[0];
  call.buffer("a", writer.place(op.getLhs()).buffer);
  call.buffer("b", writer.place(packed).buffer);
  call.buffer("c", writer.result(0).buffer);
  call.size("lda", m.a);
  call.size("ldc", m.c);
  call.size("M", m.extent);
  call.size("N", n.extent);
  call.size("K", k.extent);
  const char* names[] = {"outer", "inner"};
  const size_t batches = p->rows.size() - 1;
  for (size_t i = 0; i < batches; ++i) {
    std::string name = names[batches == 1 ? 1 : i];
    call.size(name + ".count", p->rows[i].extent);
    call.size(name + ".a", p->rows[i].a);
    call.size(name + ".c", p->rows[i].c);
  }
  call.finish(kernel, op.getResult(), rowDims(op));
  return writer.finish();
}

[[maybe_unused]] const bool registered =
    Families::add({.kernels = {"gemm8_"}, .candidates = candidates, .write = write});

} // namespace
} // namespace ortc::cpu
