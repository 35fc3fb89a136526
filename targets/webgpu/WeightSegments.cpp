// SPDX-License-Identifier: Apache-2.0
#include "targets/webgpu/WeightSegments.h"
#include "compiler/ir/Sizes.h"
#include "compiler/ops/AllOps.h"
using namespace mlir;

namespace ortc::webgpu {

FailureOr<std::vector<WeightSegment>> splitWeights(ModuleOp program, const Weights& weights,
                                                   uint64_t limit) {
  std::vector<WeightSegment> segments;
  for (const Weights::Item& item : weights.items()) {
    uint64_t end = item.offset + item.data.bytes();
    if (segments.empty() || end - segments.back().offset > limit)
      segments.push_back({item.offset, 0});
    segments.back().bytes = end - segments.back().offset;
  }
  if (segments.size() < 2) return segments;
  WalkResult result = program.walk([&](BufferOp buffer) {
    if (buffer.getSegment() != "weights") return WalkResult::advance();
    // A part of a tensor begins within it, wherever that is in this turn of a loop.
    Value offset = buffer.getOffset();
    int64_t least = offset ? indexRange(OpFoldResult(offset)).first : 0;
    if (least < 0)
      return buffer.emitError("lies in a part of the weights that is not known before a run"),
             WalkResult::interrupt();
    auto after = llvm::partition_point(
        segments, [&](const WeightSegment& s) { return s.offset <= static_cast<uint64_t>(least); });
    size_t number = static_cast<size_t>(after - segments.begin()) - 1;
    buffer.setNumber(static_cast<int64_t>(number));
    if (number == 0) return WalkResult::advance();
    OpBuilder b(buffer);
    auto start = static_cast<int64_t>(segments[number].offset);
    OpFoldResult at = OpFoldResult(offset);
    Value moved =
        constantSize(at)
            ? b.create<arith::ConstantIndexOp>(buffer.getLoc(), *constantSize(at) - start)
                  .getResult()
            : b.create<arith::SubIOp>(buffer.getLoc(), offset,
                                      b.create<arith::ConstantIndexOp>(buffer.getLoc(), start))
                  .getResult();
    buffer.getOffsetMutable().assign(moved);
    return WalkResult::advance();
  });
  if (result.wasInterrupted()) return failure();
  return segments;
}

} // namespace ortc::webgpu
