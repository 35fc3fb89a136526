// SPDX-License-Identifier: Apache-2.0
// A dense tensor in the memory of the compiler: what `evaluate` reads and writes, and what
// constants are made from.
#pragma once
#include "compiler/ir/Cells.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>
#include <vector>

namespace ortc {

/// Row-major, one element after the other, in the host's byte order. Element sizes: `storageBytes`;
/// bool is one byte; 4-bit types take a whole byte here; `index` is 8 bytes; strings are kept
/// beside the bytes.
struct HostTensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> dims;
  std::shared_ptr<char>
      data; ///< null for strings and for tensors of no elements; may point into a mapping
  std::shared_ptr<std::vector<std::string>> strings;

  HostTensor() = default;
  /// Allocates zeroed storage.
  HostTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> dims);
  /// Refers to `bytes`, which `owner` keeps alive (null: they outlive everything).
  static HostTensor view(mlir::Type elementType, llvm::ArrayRef<int64_t> dims, const void* bytes,
                         std::shared_ptr<void> owner = nullptr);

  int64_t size() const; ///< number of elements
  uint64_t bytes() const;
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  template <typename T> T* as() { return reinterpret_cast<T*>(data.get()); }
  template <typename T> const T* as() const { return reinterpret_cast<const T*>(data.get()); }

  /// Element `i` (row-major) as a double / a 64-bit integer, from whatever type is stored. Integers
  /// are read as signed unless `isUnsigned`. Storing rounds to nearest even and wraps integers.
  double getDouble(int64_t i) const;
  void setDouble(int64_t i, double value);
  int64_t getInt(int64_t i, bool isUnsigned = false) const;
  void setInt(int64_t i, int64_t value);
};

/// Bytes that one element takes in memory, in HostTensor, in bundles and in weights (0 for
/// strings).
unsigned storageBytes(mlir::Type elementType);

/// How elements of this type are kept and computed with (compiler/ir/Cells.h); kind none for
/// complex and other types that have no cells.
CellType cellType(mlir::Type elementType);

/// A copy of a constant attribute (dense, splat or resource) without copying where possible.
HostTensor toHostTensor(mlir::ElementsAttr attr);
/// The other way. Small tensors become dense attributes, which folders see; large ones resources,
/// which cost no copy.
mlir::TypedAttr toAttribute(const HostTensor& tensor, llvm::StringRef name = "weights");

} // namespace ortc
