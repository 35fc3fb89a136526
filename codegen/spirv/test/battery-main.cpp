// SPDX-License-Identifier: Apache-2.0
// battery-main KERNEL.spv RESULTS: runs the kernel of battery.py on a Vulkan device and writes its results.
#include "targets/vulkan/host/ortc_vulkan.h"
#include "battery.h"
#include <cstdio>
#include <vector>
using namespace ortc_rt;

int main(int, char** argv) {
  std::FILE* f = std::fopen(argv[1], "rb");
  if (!f) return 2;
  std::vector<uint32_t> words(1 << 20);
  words.resize(std::fread(words.data(), 4, words.size(), f));
  std::fclose(f);
  const vulkan_kernel kernel = {"battery", "battery", words.data(), uint32_t(words.size()), 6, 0x30, 7 * 4};
  const vulkan_model model = {"battery", &kernel, 1, 0, 0, 64, 0};
  vulkan_context vk;
  const uint64_t step = 65536;
  if (vk.create(model, nullptr, -1) || vk.reserve(6 * step, 6 * step)) {
    std::fprintf(stderr, "%s\n", vk.error());
    return 3;
  }
  if (!vk.begin()) return 4;
  vulkan_range ranges[6];
  for (uint64_t i = 0; i < 6; ++i) ranges[i] = vk_arena(i * step, step);
  const uint64_t size = uint64_t(n) * 4;
  vk.upload(vk_arena(0, size), xf_bits);
  vk.upload(vk_arena(step, size), yf_bits);
  vk.upload(vk_arena(2 * step, size), xi);
  vk.upload(vk_arena(3 * step, size), yi);
  const int32_t scalars[] = {0, 0, 0, 0, 0, 0, n};
  vk.dispatch(0, ranges, 6, scalars, sizeof scalars, 1, 1, 1);
  std::vector<char> of(size_t(floats) * size), oi(size_t(ints) * size);
  vk.download(of.data(), vk_arena(4 * step, of.size()));
  vk.download(oi.data(), vk_arena(5 * step, oi.size()));
  if (vk.finish()) {
    std::fprintf(stderr, "%s\n", vk.error());
    return 5;
  }
  f = std::fopen(argv[2], "wb");
  if (!f) return 2;
  std::fwrite(of.data(), 1, of.size(), f);
  std::fwrite(oi.data(), 1, oi.size(), f);
  return std::fclose(f);
}
