// SPDX-License-Identifier: Apache-2.0
// Sorting places of elements inside of the code of NodeBuilder::serial: a heap in the result's own
// memory, so that no row needs room of its own, and n elements take n log n steps.
#pragma once
#include "compiler/onnx/families/Common.h"

namespace ortc::opdef {

/// A list of places (i64) in memory, in an order: `before(a, b)` says that place a comes before b.
/// It must be a strict total order; equal elements are told apart by their places.
struct PlaceList {
  NodeBuilder& n;
  llvm::function_ref<Scalar(Scalar k)> load;
  llvm::function_ref<void(Scalar k, Scalar place)> store;
  llvm::function_ref<Scalar(Scalar a, Scalar b)> before;

  /// Orders [0, count) as a heap whose first element is the one that comes last.
  void makeHeap(Scalar count) const;
  /// Puts `place` at the top of a heap of `count` elements, and down to where it belongs.
  void replaceTop(Scalar place, Scalar count) const { sink(place, n.index(0), count); }
  /// Takes the first element off a heap of `count` elements, of which one less are left.
  void removeTop(Scalar count) const { replaceTop(load(count - 1.0), count - 1.0); }
  /// Brings a heap into its order.
  void sortHeap(Scalar count) const;

private:
  void sink(Scalar place, Scalar from, Scalar count) const;
};

/// Fills `out` with 0 .. count - 1 in the order of `before`; indices of `out` besides the place of
/// a row are given by `at`.
void sortPlaces(NodeBuilder& n, Scalar count, llvm::function_ref<Scalar(Scalar)> load,
                llvm::function_ref<void(Scalar, Scalar)> store,
                llvm::function_ref<Scalar(Scalar, Scalar)> before);

/// v > w, where NaN is larger than all numbers.
Scalar isGreater(Scalar v, Scalar w);
/// Equal, or both NaN.
Scalar isSame(Scalar v, Scalar w);

/// A number that a kernel has counted ([1], i64), read back by the host; never more than `bound`,
/// so that what has this size has a bound, too.
Size countedSize(NodeBuilder& n, Tensor count, Size bound);

/// The places of the flat `flags` that are set, in order, and how many there are.
struct Selected {
  Tensor places; ///< i64, as many as flags; the rest holds 0
  Size count;
};
Selected selectedPlaces(NodeBuilder& n, Tensor flags);

} // namespace ortc::opdef
