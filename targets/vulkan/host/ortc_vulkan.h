// SPDX-License-Identifier: 0BSD
//
// The Vulkan side of a bundle: finds a device, keeps weights and pipelines on it, and plays the
// host program of a run as a list of uploads, dispatches and downloads. An emitted program looks
// like this:
//
//   vulkan_context& vk = ...;
//   if (!vk.begin()) return vk.status();
//   vk.upload(vk_arena(0, 4096), inputs[0].data);
//   const vulkan_range b0[] = {vk_arena(0, 4096), vk_weights(0, 65536), vk_arena(4096, 256)};
//   vk.dispatch(KERNEL_fc1_gemm_relu, b0, 3, &sizes, sizeof sizes, 4, 1, 1);
//   vk.download(outputs[0].data, vk_arena(4096, 256));
//   return vk.finish();
//
// Calls after a failure do nothing: the first failure is kept and finish() returns it. Nothing here
// throws, and between begin() and finish() nothing is taken from the heap by this code (a driver
// may).
//
// The loader (libvulkan) is opened at run time, not linked: a machine without Vulkan gets
// ORTC_NO_DEVICE and a text instead of a program that does not start. Only Vulkan's headers are
// needed to build.
#ifndef ORTC_VULKAN_H
#define ORTC_VULKAN_H

#include <cstddef>
#include <cstdint>

#include "ortc/ortc.h"

// Every bundle compiles its own copy under its own prefix, so that any number of them link into one
// program. These lines say the same as the runtime's config.h, which need not be there.
#ifndef ORTC_RT_PREFIX
#define ORTC_RT_PREFIX unprefixed
#endif
namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

// One compute kernel: a SPIR-V module with one entry point, whose buffers are set 0, bindings
// 0..num_bindings-1, all storage buffers, and whose scalars are one block of push constants.
struct vulkan_kernel {
  const char* name;  // for messages
  const char* entry; // entry point in the module
  const uint32_t* words;
  uint32_t num_words;
  uint32_t num_bindings; // at most VULKAN_MAX_BINDINGS
  uint32_t writes;       // bit i: binding i is written
  uint32_t push_bytes;   // a multiple of 4
};
constexpr uint32_t VULKAN_MAX_BINDINGS = 16;

// Device features beyond Vulkan 1.1's minimum that the kernels use; bits of vulkan_model.features.
enum vulkan_feature : uint32_t {
  VULKAN_INT8 = 1u << 0,    // shaderInt8 and 8-bit storage
  VULKAN_INT16 = 1u << 1,   // shaderInt16 and 16-bit storage
  VULKAN_INT64 = 1u << 2,   // shaderInt64
  VULKAN_FLOAT16 = 1u << 3, // shaderFloat16 and 16-bit storage
  VULKAN_FLOAT64 = 1u << 4  // shaderFloat64
};

// What the emitter knows of a bundle. Lives as a constant of the bundle; its address is its
// identity.
struct vulkan_model {
  const char* name;
  const vulkan_kernel* kernels;
  uint32_t num_kernels;
  uint32_t features;              // vulkan_feature bits
  uint32_t shared_bytes;          // most workgroup memory of any kernel
  uint32_t workgroup_invocations; // most threads of any workgroup
  uint64_t weights_bytes;
};

// A piece of the arena of a context or of the weights, in bytes. Offsets are multiples of 256,
// which suits every device.
struct vulkan_range {
  uint32_t buffer; // 0: arena, 1: weights
  uint64_t offset;
  uint64_t size;
};
inline vulkan_range vk_arena(uint64_t offset, uint64_t size) {
  return {0, offset, size};
}
inline vulkan_range vk_weights(uint64_t offset, uint64_t size) {
  return {1, offset, size};
}

class vulkan_shared; // device, pipelines and weights: one per bundle, device and process

class vulkan_context {
public:
  vulkan_context() = default;
  ~vulkan_context();
  vulkan_context(const vulkan_context&) = delete;
  vulkan_context& operator=(const vulkan_context&) = delete;

  // Finds the device, compiles the pipelines and uploads the weights (once for all contexts of a
  // bundle). `weights` is read during the call only. `ordinal` < 0 takes the best device: discrete,
  // integrated, virtual, then a CPU.
  ortc_status create(const vulkan_model& model, const void* weights, int32_t ordinal);
  // Grows the arena (its content is lost) and the buffer through which data passes to and from the
  // host. Data larger than that passes in several pieces, each of which waits for the device.
  ortc_status reserve(uint64_t arena_bytes, uint64_t staging_bytes);
  void destroy();

  bool begin();
  void upload(const vulkan_range& to, const void* from);
  void dispatch(uint32_t kernel, const vulkan_range* bindings, uint32_t num_bindings,
                const void* push, uint32_t push_bytes, uint32_t groups_x, uint32_t groups_y,
                uint32_t groups_z);
  void copy(const vulkan_range& to, uint64_t from_offset, uint32_t from_buffer = 0);
  void fill(const vulkan_range& range, uint32_t word); // offset and size in multiples of 4
  // The data is there after the next flush() or finish().
  void download(void* to, const vulkan_range& from);
  // Runs what is recorded and waits for it. For read-backs that decide how the program goes on.
  bool flush();
  ortc_status finish();

  // The program itself found a fault (an index out of range, say): finish() will return it.
  void fail(ortc_status status, const char* format, ...);
  ortc_status status() const { return status_; }
  const char* error() const { return error_; }
  const char* device_name() const;
  uint64_t arena_bytes() const { return arena_bytes_; }
  uint64_t num_dispatches() const { return num_dispatches_; } // since create; for tests and reports
  uint64_t num_barriers() const { return num_barriers_; }

private:
  struct State; // Vulkan's handles, kept out of this header
  bool check_range(const vulkan_range& range, const char* what);
  bool room(uint64_t bytes);
  void order(const vulkan_range* ranges, uint32_t count, uint32_t writes);
  bool failed(int result, const char* what);

  State* state_ = nullptr;
  uint64_t arena_bytes_ = 0, num_dispatches_ = 0, num_barriers_ = 0;
  ortc_status status_ = ORTC_OK;
  char error_[512] = "";
};

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif // ORTC_VULKAN_H
