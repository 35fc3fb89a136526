// SPDX-License-Identifier: Apache-2.0
// Runs the kernel of battery.py as SPIR-V on the machine's Vulkan device and writes its results to
// the file given.
#include "battery.h"
#include "ortc_vulkan.h"
#include <cstdio>
#include <vector>

using namespace ortc_rt;

int main(int, char** argv) {
  std::vector<uint32_t> words;
  FILE* shader = std::fopen(argv[1], "rb");
  if (!shader) return 2;
  for (uint32_t w; std::fread(&w, 4, 1, shader) == 1;)
    words.push_back(w);
  std::fclose(shader);
  const vulkan_kernel kernel = {"battery", "battery", words.data(), uint32_t(words.size()), 6,
                                0x30,      4};
  const vulkan_model model = {"battery", &kernel, 1, 0, 0, 64, 0};
  vulkan_context vk;
  const uint64_t in = 256,
                 sizes[] = {in, in, in, in, uint64_t(floats) * n * 4, uint64_t(ints) * n * 4};
  vulkan_range ranges[6];
  uint64_t at = 0;
  for (int i = 0; i < 6; ++i) {
    ranges[i] = vk_arena(at, i < 4 ? uint64_t(n) * 4 : sizes[i]);
    at += (sizes[i] + 255) / 256 * 256;
  }
  if (vk.create(model, nullptr, -1) || vk.reserve(at, at)) return std::puts(vk.error()), 3;
  std::vector<float> of(size_t(floats) * n);
  std::vector<int32_t> oi(size_t(ints) * n);
  const void* inputs[] = {xf_bits, yf_bits, xi, yi};
  vk.begin();
  for (int i = 0; i < 4; ++i)
    vk.upload(ranges[i], inputs[i]);
  const int32_t count = n;
  vk.dispatch(0, ranges, 6, &count, 4, 1, 1, 1);
  vk.download(of.data(), ranges[4]);
  vk.download(oi.data(), ranges[5]);
  if (vk.finish()) return std::puts(vk.error()), 4;
  FILE* f = std::fopen(argv[2], "wb");
  if (!f) return 2;
  std::fwrite(of.data(), 4, of.size(), f);
  std::fwrite(oi.data(), 4, oi.size(), f);
  return std::fclose(f);
}
