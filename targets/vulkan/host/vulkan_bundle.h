// SPDX-License-Identifier: 0BSD
// What Vulkan bundles add to ortc_rt::context: the device, and how a run passes through it. An
// emitted bundle looks like this:
//
//   struct net_context : ortc_rt::vulkan_bundle {
//     vulkan_range places[2]; // for `io`
//   };
//   ortc_status run(net_context& context, ortc_tensor* outputs, const int64_t* dims) {
//     context.launch(kernel_fc1, {context.input(0, 0), context.weights(0, 65536),
//                                 context.arena(0, 4096)}, {context.size(dims[0])}, dims[0] * 128);
//     ...
//     return context.vk.status();
//   }
//
// Inputs and outputs lie behind the arena, in the same Vulkan buffer.
#ifndef ORTC_RT_VULKAN_BUNDLE_H
#define ORTC_RT_VULKAN_BUNDLE_H

#include "context.h"

#include <initializer_list>

#include "ortc_vulkan.h"

ORTC_RT_BEGIN

struct vulkan_bundle : context {
  vulkan_context vk;
  const vulkan_model* shaders = nullptr;
  vulkan_range* io = nullptr; // places of inputs, then outputs, of this run

  // Context, then device, pipelines and weights, so that `params` must be there before:
  // options->device is NULL for the best one, else its number in Vulkan's list, counted from 1,
  // cast to a pointer.
  ortc_status open_vulkan(const ortc_model& m, const ortc_options* options, const vulkan_model& v);
  // At least `arena_bytes`, and room for inputs and outputs of these sizes.
  ortc_status reserve_vulkan(uint64_t arena_bytes, const int64_t* dims);
  void close();

  // Pieces of memory, in bytes.
  static vulkan_range arena(int64_t at, int64_t bytes) {
    return vk_arena(uint64_t(at), uint64_t(bytes));
  }
  static vulkan_range weights(int64_t at, int64_t bytes) {
    return vk_weights(uint64_t(at), uint64_t(bytes));
  }
  vulkan_range input(int i, int64_t at, int64_t bytes = -1) const { return part(io[i], at, bytes); }
  vulkan_range output(int i, int64_t at, int64_t bytes = -1) const {
    return part(io[model->num_inputs + i], at, bytes);
  }

  // One thread per element; nothing is launched for none. Words are the scalars of the kernel.
  void launch(uint32_t kernel, std::initializer_list<vulkan_range> buffers,
              std::initializer_list<uint32_t> words, int64_t threads);
  // A size as kernels know it: 32 bits.
  uint32_t size(int64_t value);
  // A value that the host decides by: waits for the device.
  ortc_status read_back(void* to, const vulkan_range& from);

  // Checks, copies in, `program()`, copies out, waits.
  template <class ArenaBytes, class Program>
  ortc_status run_host(const ortc_tensor* in, ortc_tensor* out, int64_t* dims,
                       ArenaBytes arena_bytes, Program program) {
    const run_scope scope(*this);
    if (scope.busy) return ORTC_BUSY;
    if (const ortc_status s = check_inputs(in, dims)) return s;
    if (const ortc_status s = check_outputs(out, dims)) return s;
    if (const ortc_status s = stage(in, out, arena_bytes(dims))) return s;
    const ortc_status status = program();
    if (status != ORTC_OK) vk.fail(status, "%s", message[0] ? message : "the program failed");
    return fetch(out);
  }

private:
  static vulkan_range part(const vulkan_range& whole, int64_t at, int64_t bytes);
  uint64_t io_bytes(const int64_t* dims) const;
  ortc_status stage(const ortc_tensor* in, const ortc_tensor* out, uint64_t arena_bytes);
  ortc_status fetch(ortc_tensor* out);
  ortc_status told(ortc_status status); // with the device's text
};

// Threads of a workgroup, and the multiple at which every descriptor begins.
constexpr int64_t vulkan_threads = 64, vulkan_alignment = 256;

// How many elements behind its descriptor's offset a tensor begins.
inline uint32_t vk_start(int64_t at, int64_t element_bytes) {
  return uint32_t(at % vulkan_alignment / element_bytes);
}

// Scalars as words of push constants.
inline uint32_t vk_word(int32_t value) {
  return uint32_t(value);
}
inline uint32_t vk_word(bool value) {
  return value ? 1 : 0;
}
inline uint32_t vk_word(float value) {
  uint32_t word;
  __builtin_memcpy(&word, &value, sizeof word);
  return word;
}
inline uint32_t vk_low(int64_t value) {
  return uint32_t(uint64_t(value));
}
inline uint32_t vk_high(int64_t value) {
  return uint32_t(uint64_t(value) >> 32);
}
inline uint32_t vk_low(double value) {
  int64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return vk_low(bits);
}
inline uint32_t vk_high(double value) {
  int64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return vk_high(bits);
}

ORTC_RT_END
#endif
