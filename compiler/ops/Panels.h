// SPDX-License-Identifier: Apache-2.0
// The inner part of sums of products in the evaluator: a blocked matrix product in f64 (or the
// 64-bit ring). Both operands are packed into panels, so that the innermost loop reads memory in
// order. The sum of each element runs over k from first to last, whatever the blocks: results
// depend neither on threads nor on the vector width.
#pragma once
#include "compiler/ops/Accumulate.h"
#include <vector>

namespace ortc {

constexpr int64_t tileRows = 4, tileColumns = 16;

/// c[4][16] += sum over k of a[k][4] * b[k][16]
void accumulateTile(int64_t k, const double* a, const double* b, double* c);
void accumulateTile(int64_t k, const uint64_t* a, const uint64_t* b, uint64_t* c);

/// Rows of the left matrix in panels [panel][k][4]; rows beyond the end are zeros.
template <typename T> struct LeftPanels {
  int64_t rows, depth;
  std::vector<T> data;
  LeftPanels(int64_t rows, int64_t depth)
      : rows(rows), depth(depth), data((rows + tileRows - 1) / tileRows * tileRows * depth) {}
  int64_t panels() const { return (rows + tileRows - 1) / tileRows; }
  const T* panel(int64_t p) const { return data.data() + p * tileRows * depth; }
  /// `at(row, k)` gives an element.
  template <typename At> void pack(int64_t panel, At at) {
    T* out = data.data() + panel * tileRows * depth;
    for (int64_t r = 0; r < tileRows && panel * tileRows + r < rows; ++r)
      for (int64_t k = 0; k < depth; ++k)
        out[k * tileRows + r] = at(panel * tileRows + r, k);
  }
};

/// The product with up to `blockColumns` columns of the right matrix.
template <typename T> class ColumnBlock {
public:
  static constexpr int64_t blockColumns = 4 * tileColumns, blockDepth = 512;

  /// `packRow(k, out)` writes the elements of the columns in row k; `store(row, values)` takes a
  /// finished row.
  template <typename PackRow, typename Store>
  void run(const LeftPanels<T>& left, int64_t columns, PackRow packRow, Store store) {
    int64_t strips = (columns + tileColumns - 1) / tileColumns;
    tiles.assign(left.panels() * strips * tileRows * tileColumns, 0);
    right.resize(strips * tileColumns * blockDepth);
    T row[blockColumns] = {};
    for (int64_t k0 = 0; k0 < left.depth; k0 += blockDepth) {
      int64_t depth = std::min(blockDepth, left.depth - k0);
      for (int64_t k = 0; k < depth; ++k) {
        packRow(k0 + k, row);
        for (int64_t s = 0; s < strips; ++s)
          std::copy_n(row + s * tileColumns, tileColumns,
                      right.data() + (s * depth + k) * tileColumns);
      }
      for (int64_t p = 0; p < left.panels(); ++p)
        for (int64_t s = 0; s < strips; ++s)
          accumulateTile(depth, left.panel(p) + k0 * tileRows,
                         right.data() + s * depth * tileColumns, tile(p, s, strips));
    }
    for (int64_t r = 0; r < left.rows; ++r) {
      for (int64_t s = 0; s < strips; ++s)
        std::copy_n(tile(r / tileRows, s, strips) + r % tileRows * tileColumns, tileColumns,
                    row + s * tileColumns);
      store(r, static_cast<const T*>(row));
    }
  }

private:
  T* tile(int64_t panel, int64_t strip, int64_t strips) {
    return tiles.data() + (panel * strips + strip) * tileRows * tileColumns;
  }
  std::vector<T> tiles, right;
};

} // namespace ortc
