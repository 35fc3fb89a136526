// SPDX-License-Identifier: Apache-2.0
// The weights of a bundle: one aligned blob of constants, in the order in which kernels need them.
#pragma once
#include "compiler/ir/HostTensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace ortc {

class Weights {
public:
  struct Item {
    std::string name;
    uint64_t offset;
    HostTensor data;
  };
  explicit Weights(uint64_t alignment = 64) : alignment(alignment) {}

  /// The offset of these bytes; equal contents are stored once.
  uint64_t add(const HostTensor& data, llvm::StringRef name);
  uint64_t bytes() const { return total; }
  const std::vector<Item>& items() const { return list; }
  void write(llvm::raw_ostream& os) const;

private:
  uint64_t alignment, total = 0;
  std::vector<Item> list;
  llvm::StringMap<std::vector<size_t>> byHash;
};

} // namespace ortc
