// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/Weights.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

namespace ortc {

uint64_t Weights::add(const HostTensor& data, llvm::StringRef name) {
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(data.data.get()), data.bytes());
  auto hash = llvm::xxh3_128bits(bytes);
  std::string key(reinterpret_cast<const char*>(&hash), sizeof hash);
  for (size_t i : byHash[key])
    if (list[i].data.bytes() == data.bytes() &&
        !std::memcmp(list[i].data.data.get(), data.data.get(), data.bytes()))
      return list[i].offset;
  uint64_t offset = (total + alignment - 1) / alignment * alignment;
  byHash[key].push_back(list.size());
  list.push_back({name.str(), offset, data});
  total = offset + data.bytes();
  return offset;
}

void Weights::write(llvm::raw_ostream& os) const {
  uint64_t at = 0;
  for (const Item& item : list) {
    os.write_zeros(static_cast<unsigned>(item.offset - at));
    os.write(item.data.data.get(), item.data.bytes());
    at = item.offset + item.data.bytes();
  }
}

} // namespace ortc
