// SPDX-License-Identifier: 0BSD
#include "vulkan_bundle.h"

ORTC_RT_BEGIN
namespace {

constexpr uint64_t largest_staging = 64u << 20; // more passes in pieces

uint64_t aligned(uint64_t bytes) {
  return (bytes + uint64_t(vulkan_alignment) - 1) / uint64_t(vulkan_alignment) *
         uint64_t(vulkan_alignment);
}

} // namespace

ortc_status vulkan_bundle::told(ortc_status status) {
  if (status != ORTC_OK) why() << vk.error();
  return status;
}

ortc_status vulkan_bundle::open_vulkan(const ortc_model& m, const ortc_options* options,
                                       const vulkan_model& v) {
  if (const ortc_status s = open(m, options, 0)) return s;
  shaders = &v;
  const intptr_t number = options ? reinterpret_cast<intptr_t>(options->device) : 0;
  return told(vk.create(v, params.data, int32_t(number) - 1));
}

void vulkan_bundle::close() {
  vk.destroy();
  context::close();
}

uint64_t vulkan_bundle::io_bytes(const int64_t* dims) const {
  uint64_t total = 0;
  for (int i = 0; i < model->num_inputs + model->num_outputs; ++i) {
    const bool is_input = i < model->num_inputs;
    const ortc_io& t = is_input ? model->inputs[i] : model->outputs[i - model->num_inputs];
    uint64_t bytes = 0;
    int64_t sizes[16];
    bool known = t.rank <= 16;
    for (int d = 0; known && d < t.rank; ++d) {
      sizes[d] = t.shape[d] >= 0               ? t.shape[d]
                 : t.shape[d] == ORTC_COMPUTED ? -1
                                               : dims[~t.shape[d]];
      known = sizes[d] >= 0;
    }
    if (known && !tensor_bytes(t.dtype, sizes, t.rank, &bytes)) bytes = UINT64_MAX / 64;
    if (!known && !is_input && model->output_bound)
      bytes = model->output_bound(i - model->num_inputs, dims);
    total += aligned(bytes);
  }
  return total;
}

ortc_status vulkan_bundle::reserve_vulkan(uint64_t arena_bytes, const int64_t* dims) {
  const uint64_t outside = io_bytes(dims);
  const uint64_t staging = outside < largest_staging ? outside : largest_staging;
  // A descriptor is never empty, also where a tensor at the very end is.
  return told(vk.reserve(aligned(arena_bytes) + outside + uint64_t(vulkan_alignment), staging));
}

ortc_status vulkan_bundle::stage(const ortc_tensor* in, const ortc_tensor* out,
                                 uint64_t arena_bytes) {
  uint64_t at = aligned(arena_bytes);
  const int count = model->num_inputs + model->num_outputs;
  bool computed = false;
  for (int i = 0; i < count; ++i) {
    const bool is_input = i < model->num_inputs;
    const ortc_tensor& t = is_input ? in[i] : out[i - model->num_inputs];
    uint64_t bytes = 0;
    if (!tensor_bytes(t.dtype, t.dims, t.rank, &bytes)) {
      // A size that the run computes: as much as the caller has room for.
      bytes = t.capacity;
      computed = true;
    }
    io[i] = vk_arena(at, bytes);
    at += aligned(bytes);
  }
  // Only a run knows the room for such outputs, so that this is where memory for them is asked for.
  if (at > vk.arena_bytes() && computed)
    if (const ortc_status s = told(vk.reserve(at + uint64_t(vulkan_alignment), 0))) return s;
  if (at > vk.arena_bytes())
    return why() << "these sizes need " << at << " bytes of arena, inputs and outputs, and "
                 << vk.arena_bytes() << " are reserved: call reserve with them",
           ORTC_NEED_RESERVE;
  if (!vk.begin()) return told(vk.status());
  for (int i = 0; i < model->num_inputs; ++i)
    if (in[i].data && io[i].size) vk.upload(io[i], in[i].data);
  return ORTC_OK;
}

ortc_status vulkan_bundle::fetch(ortc_tensor* out) {
  for (int i = 0; i < model->num_outputs; ++i) {
    uint64_t bytes = 0;
    if (vk.status() != ORTC_OK) break;
    if (!out[i].data || !tensor_bytes(out[i].dtype, out[i].dims, out[i].rank, &bytes) || bytes == 0)
      continue;
    vk.download(out[i].data, output(i, 0, int64_t(bytes)));
  }
  return told(vk.finish());
}

vulkan_range vulkan_bundle::part(const vulkan_range& whole, int64_t at, int64_t bytes) {
  const uint64_t from = uint64_t(at) < whole.size ? uint64_t(at) : whole.size;
  const uint64_t left = whole.size - from;
  return {whole.buffer, whole.offset + from,
          bytes >= 0 && uint64_t(bytes) < left ? uint64_t(bytes) : left};
}

uint32_t vulkan_bundle::size(int64_t value) {
  if (value > INT32_MAX || value < INT32_MIN)
    vk.fail(ORTC_INVALID_ARGUMENT, "a size of %lld: kernels count with 32 bits",
            static_cast<long long>(value));
  return uint32_t(uint64_t(value));
}

void vulkan_bundle::launch(uint32_t kernel, std::initializer_list<vulkan_range> buffers,
                           std::initializer_list<uint32_t> words, int64_t threads) {
  if (threads <= 0 || vk.status() != ORTC_OK) return;
  constexpr int64_t most_groups = 65535; // of every device; a thread does more elements then
  if (threads > INT32_MAX - most_groups * vulkan_threads) {
    vk.fail(ORTC_INVALID_ARGUMENT, "kernel '%s' has %lld elements: kernels count with 32 bits",
            shaders->kernels[kernel].name, static_cast<long long>(threads));
    return;
  }
  vulkan_range bound[VULKAN_MAX_BINDINGS];
  uint32_t count = 0;
  for (vulkan_range r : buffers) {
    if (count == VULKAN_MAX_BINDINGS) break;
    // Descriptors begin at multiples; the kernel knows how far behind them a tensor begins.
    const uint64_t before = r.offset % uint64_t(vulkan_alignment);
    r.offset -= before;
    r.size += before;
    if (r.size == 0) r = vk_arena(0, uint64_t(vulkan_alignment)); // an empty tensor: never read
    bound[count++] = r;
  }
  const int64_t groups = (threads + vulkan_threads - 1) / vulkan_threads;
  vk.dispatch(kernel, bound, count, words.begin(), uint32_t(words.size() * sizeof(uint32_t)),
              uint32_t(groups < most_groups ? groups : most_groups), 1, 1);
}

ortc_status vulkan_bundle::read_back(void* to, const vulkan_range& from) {
  vk.download(to, from);
  vk.flush();
  return vk.status();
}

ORTC_RT_END
