// SPDX-License-Identifier: Apache-2.0
#include "compiler/onnx/families/GrowingLoop.h"
#include "compiler/onnx/families/Common.h"

using namespace mlir;

namespace ortc::opdef {

LoopResult buildGrowingLoop(NodeBuilder& n, const LoopLimits& limits, ArrayRef<Tensor> inits,
                            ArrayRef<LoopShapeError::Growth> growth,
                            llvm::function_ref<Turn(Size, ArrayRef<Tensor>)> body) {
  std::vector<const LoopShapeError::Growth*> growthOf(inits.size());
  std::vector<Tensor> whole(inits);
  for (const LoopShapeError::Growth& g : growth) {
    if (growthOf[g.carried])
      throw LoopShapeError{fmt::format("carried value {} grows on two dims", g.carried)};
    growthOf[g.carried] = &g;
    std::vector<Size> none(inits[g.carried].rank(), n.size(0)), more = none;
    more[g.dim] = *limits.turns * n.size(g.step);
    whole[g.carried] = padded(n, inits[g.carried], none, more, 0);
  }
  // How large the growing dim is when `turns` have been made.
  auto extent = [&](const LoopShapeError::Growth& g, Size turns) {
    return n.size(inits[g.carried], g.dim) + turns * n.size(g.step);
  };
  auto part = [&](const LoopShapeError::Growth& g, Tensor all, Size turns) {
    std::vector<Size> starts(all.rank(), n.size(0)), sizes = n.sizes(all);
    sizes[g.dim] = extent(g, turns);
    return n.slice(all, starts, sizes);
  };
  auto turnOfParts = [&](Size i, ArrayRef<Tensor> all) {
    // The limit is a bound for the planner, too.
    Size done = min(i, *limits.turns - n.size(1));
    std::vector<Tensor> seen(all);
    for (size_t k = 0; k < seen.size(); ++k)
      if (growthOf[k]) seen[k] = part(*growthOf[k], all[k], done);
    Turn t = body(i, seen);
    for (size_t k = 0; k < std::min(seen.size(), t.carried.size()); ++k) {
      if (!growthOf[k]) continue;
      const auto& g = *growthOf[k];
      Tensor& next = t.carried[k];
      if (!next.isTensor() || next.rank() != seen[k].rank() || next.dtype != seen[k].dtype)
        throw LoopShapeError{fmt::format("carried value {} becomes another type", k)};
      std::vector<Size> s = n.sizes(seen[k]), u = n.sizes(next);
      for (int64_t d = 0; d < next.rank(); ++d)
        if (difference(u[d], s[d]) != (d == g.dim ? g.step : 0))
          throw LoopShapeError{
              fmt::format("carried value {} grows by other than {} elements a turn", k, g.step)};
      // What is put behind the old value is all that is written.
      if (auto concat = next.value.getDefiningOp<ConcatOp>();
          concat && concat.getAxis() == static_cast<uint64_t>(g.dim) &&
          concat.getSources().size() > 1 && concat.getSources()[0] == seen[k].value) {
        SmallVector<Tensor> rest;
        for (Value v : concat.getSources().drop_front())
          rest.push_back({v, next.dtype});
        next = insertedAt(n, rest.size() == 1 ? rest[0] : n.concat(rest, g.dim), all[k], g.dim,
                          s[g.dim]);
      } else {
        next = insertedAt(n, next, all[k], g.dim, n.size(0));
      }
    }
    return t;
  };
  LoopResult r = buildLoop(n, limits, whole, turnOfParts);
  for (size_t k = 0; k < r.carried.size(); ++k)
    if (growthOf[k]) r.carried[k] = part(*growthOf[k], r.carried[k], *r.turns);
  return r;
}

} // namespace ortc::opdef
