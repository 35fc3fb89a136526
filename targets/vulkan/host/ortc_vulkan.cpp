// SPDX-License-Identifier: 0BSD
//
// The context: one command buffer, one arena, and a window of host-visible memory through which
// data passes. A run is recorded and submitted; recording costs about a microsecond per dispatch,
// and sizes may differ from run to run.
#include "ortc_vulkan.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

#include "vulkan_device.h"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {
namespace {

constexpr uint32_t sets_per_submit = 512; // dispatches recorded before the command buffer is played
constexpr uint32_t max_downloads = 64;
constexpr uint32_t max_touched = 64;
constexpr uint64_t staging_alignment = 16;

struct Touched {
  vulkan_range range;
  bool written;
};

struct Download {
  void* to;
  uint64_t at, size;
};

bool overlap(const vulkan_range& a, const vulkan_range& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

unsigned long long ull(uint64_t value) {
  return value;
} // for printf

} // namespace

struct vulkan_context::State {
  vulkan_shared* shared = nullptr;
  const vulkan_model* model = nullptr;
  vulkan_buffer arena, staging;
  VkCommandPool command_pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkDescriptorPool descriptor_pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  bool recording = false;
  uint32_t num_sets = 0;
  uint64_t staging_used = 0;
  // Ranges that commands since the last barrier touch: a command that does not overlap them needs
  // no barrier.
  Touched touched[max_touched];
  uint32_t num_touched = 0;
  Download downloads[max_downloads];
  uint32_t num_downloads = 0;

  const vulkan_buffer& buffer(uint32_t index) const { return index == 0 ? arena : shared->weights; }
};

vulkan_context::~vulkan_context() {
  destroy();
}

void vulkan_context::destroy() {
  if (!state_) return;
  if (state_->shared) {
    const vulkan_api& vk = state_->shared->vk;
    const VkDevice device = state_->shared->device;
    // Nothing is in flight: every submit is waited for before the call that made it returns.
    state_->shared->destroy_buffer(state_->arena);
    state_->shared->destroy_buffer(state_->staging);
    if (state_->fence) vk.DestroyFence(device, state_->fence, nullptr);
    if (state_->descriptor_pool) vk.DestroyDescriptorPool(device, state_->descriptor_pool, nullptr);
    if (state_->command_pool) vk.DestroyCommandPool(device, state_->command_pool, nullptr);
    state_->shared->release();
  }
  delete state_;
  state_ = nullptr;
  arena_bytes_ = 0;
}

void vulkan_context::fail(ortc_status status, const char* format, ...) {
  if (status_ != ORTC_OK) return;
  status_ = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error_, sizeof error_, format, arguments);
  va_end(arguments);
}

bool vulkan_context::failed(int result, const char* what) {
  if (result == VK_SUCCESS) return false;
  const bool memory =
      result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
  fail(memory ? ORTC_OUT_OF_MEMORY : ORTC_NO_DEVICE, "%s: %s", what, vulkan_result_name(result));
  return true;
}

const char* vulkan_context::device_name() const {
  return state_ && state_->shared ? state_->shared->properties.deviceName : "";
}

ortc_status vulkan_context::create(const vulkan_model& model, const void* weights,
                                   int32_t ordinal) {
  destroy();
  status_ = ORTC_OK;
  error_[0] = 0;
  state_ = new (std::nothrow) State;
  if (!state_) {
    fail(ORTC_OUT_OF_MEMORY, "out of host memory");
    return status_;
  }
  state_->model = &model;
  vulkan_fault fault;
  state_->shared = vulkan_shared::acquire(model, weights, ordinal, fault);
  if (!state_->shared) {
    fail(fault.status, "%s", fault.text);
    return status_;
  }
  const vulkan_api& vk = state_->shared->vk;
  const VkDevice device = state_->shared->device;
  VkCommandPoolCreateInfo pool_info = {};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool_info.queueFamilyIndex = state_->shared->queue_family;
  if (failed(vk.CreateCommandPool(device, &pool_info, nullptr, &state_->command_pool),
             "command pool"))
    return status_;
  VkCommandBufferAllocateInfo commands_info = {};
  commands_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  commands_info.commandPool = state_->command_pool;
  commands_info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands_info.commandBufferCount = 1;
  if (failed(vk.AllocateCommandBuffers(device, &commands_info, &state_->commands),
             "command buffer"))
    return status_;
  uint32_t most_bindings = 1;
  for (uint32_t i = 0; i < model.num_kernels; ++i)
    if (model.kernels[i].num_bindings > most_bindings)
      most_bindings = model.kernels[i].num_bindings;
  const VkDescriptorPoolSize pool_size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                          sets_per_submit * most_bindings};
  VkDescriptorPoolCreateInfo sets_info = {};
  sets_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  sets_info.maxSets = sets_per_submit;
  sets_info.poolSizeCount = 1;
  sets_info.pPoolSizes = &pool_size;
  if (failed(vk.CreateDescriptorPool(device, &sets_info, nullptr, &state_->descriptor_pool),
             "descriptor pool"))
    return status_;
  VkFenceCreateInfo fence_info = {};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  failed(vk.CreateFence(device, &fence_info, nullptr, &state_->fence), "fence");
  return status_;
}

ortc_status vulkan_context::reserve(uint64_t arena_bytes, uint64_t staging_bytes) {
  if (!state_ || !state_->shared) return status_ == ORTC_OK ? ORTC_NO_DEVICE : status_;
  status_ = ORTC_OK;
  error_[0] = 0;
  const struct {
    vulkan_buffer& buffer;
    uint64_t bytes;
    bool host_visible;
    const char* what;
  } wanted[] = {
      {state_->arena, arena_bytes ? arena_bytes : 4, false, "arena"},
      {state_->staging, staging_bytes < 4096 ? 4096 : staging_bytes, true, "staging buffer"}};
  for (const auto& want : wanted) {
    if (want.buffer.size >= want.bytes) continue;
    state_->shared->destroy_buffer(want.buffer);
    vulkan_fault fault;
    if (!state_->shared->create_buffer(want.buffer, want.bytes, want.host_visible, want.what,
                                       fault)) {
      fail(fault.status, "%s", fault.text);
      break;
    }
  }
  arena_bytes_ = state_->arena.size;
  return status_;
}

bool vulkan_context::begin() {
  if (!state_ || !state_->shared || !state_->arena.buffer || !state_->staging.buffer) {
    fail(ORTC_NEED_RESERVE, "the context has no arena; call reserve first");
    return false;
  }
  status_ = ORTC_OK;
  error_[0] = 0;
  state_->num_downloads = 0;
  state_->recording = false;
  return room(0);
}

// Opens the command buffer when it is not, and makes sure that `bytes` of staging are left, by
// playing what is recorded when they are not.
bool vulkan_context::room(uint64_t bytes) {
  if (status_ != ORTC_OK) return false;
  State& s = *state_;
  if (s.recording && (s.staging_used + bytes > s.staging.size || s.num_sets == sets_per_submit)) {
    if (!flush()) return false;
  }
  if (s.recording) return true;
  const vulkan_api& vk = s.shared->vk;
  VkCommandBufferBeginInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (failed(vk.ResetDescriptorPool(s.shared->device, s.descriptor_pool, 0), "descriptor pool"))
    return false;
  if (failed(vk.BeginCommandBuffer(s.commands, &info), "command buffer")) return false;
  s.recording = true;
  s.num_sets = 0;
  s.staging_used = 0;
  s.num_touched = 0;
  return true;
}

// Puts a barrier before the next command when it touches what earlier ones wrote, or writes what
// earlier ones read.
void vulkan_context::order(const vulkan_range* ranges, uint32_t count, uint32_t writes) {
  State& s = *state_;
  bool barrier = s.num_touched + count > max_touched;
  for (uint32_t i = 0; i < count && !barrier; ++i)
    for (uint32_t t = 0; t < s.num_touched && !barrier; ++t)
      barrier =
          (s.touched[t].written || (writes >> i & 1)) && overlap(s.touched[t].range, ranges[i]);
  if (barrier) {
    VkMemoryBarrier memory = {};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                           VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    s.shared->vk.CmdPipelineBarrier(s.commands, stages, stages, 0, 1, &memory, 0, nullptr, 0,
                                    nullptr);
    s.num_touched = 0;
    ++num_barriers_;
  }
  for (uint32_t i = 0; i < count; ++i)
    s.touched[s.num_touched++] = {ranges[i], (writes >> i & 1) != 0};
}

bool vulkan_context::check_range(const vulkan_range& range, const char* what) {
  if (status_ != ORTC_OK) return false;
  const uint64_t size = range.buffer > 1 ? 0 : state_->buffer(range.buffer).size;
  if (range.offset <= size && range.size <= size - range.offset) return true;
  fail(ORTC_INVALID_ARGUMENT, "%s: bytes %llu to %llu lie outside the %s of %llu", what,
       ull(range.offset), ull(range.offset + range.size), range.buffer == 0 ? "arena" : "weights",
       ull(size));
  return false;
}

void vulkan_context::upload(const vulkan_range& to, const void* from) {
  if (!check_range(to, "upload")) return;
  State& s = *state_;
  for (uint64_t done = 0; done < to.size;) {
    const uint64_t left = to.size - done;
    const uint64_t piece = left < s.staging.size ? left : s.staging.size;
    if (!room(piece)) return;
    std::memcpy(static_cast<char*>(s.staging.mapped) + s.staging_used,
                static_cast<const char*>(from) + done, size_t(piece));
    const vulkan_range part = {to.buffer, to.offset + done, piece};
    order(&part, 1, 1);
    const VkBufferCopy region = {s.staging_used, part.offset, piece};
    s.shared->vk.CmdCopyBuffer(s.commands, s.staging.buffer, s.buffer(to.buffer).buffer, 1,
                               &region);
    s.staging_used += (piece + staging_alignment - 1) / staging_alignment * staging_alignment;
    done += piece;
  }
}

void vulkan_context::download(void* to, const vulkan_range& from) {
  if (!check_range(from, "download")) return;
  State& s = *state_;
  for (uint64_t done = 0; done < from.size;) {
    const uint64_t left = from.size - done;
    const uint64_t piece = left < s.staging.size ? left : s.staging.size;
    if (s.num_downloads == max_downloads && !flush()) return;
    if (!room(piece)) return;
    const vulkan_range part = {from.buffer, from.offset + done, piece};
    order(&part, 1, 0);
    const VkBufferCopy region = {part.offset, s.staging_used, piece};
    s.shared->vk.CmdCopyBuffer(s.commands, s.buffer(from.buffer).buffer, s.staging.buffer, 1,
                               &region);
    s.downloads[s.num_downloads++] = {static_cast<char*>(to) + done, s.staging_used, piece};
    s.staging_used += (piece + staging_alignment - 1) / staging_alignment * staging_alignment;
    done += piece;
  }
}

void vulkan_context::copy(const vulkan_range& to, uint64_t from_offset, uint32_t from_buffer) {
  const vulkan_range ranges[] = {{from_buffer, from_offset, to.size}, to};
  if (!check_range(to, "copy") || !check_range(ranges[0], "copy") || to.size == 0 || !room(0))
    return;
  order(ranges, 2, 2);
  const VkBufferCopy region = {from_offset, to.offset, to.size};
  state_->shared->vk.CmdCopyBuffer(state_->commands, state_->buffer(from_buffer).buffer,
                                   state_->buffer(to.buffer).buffer, 1, &region);
}

void vulkan_context::fill(const vulkan_range& range, uint32_t word) {
  if (!check_range(range, "fill") || range.size == 0 || !room(0)) return;
  order(&range, 1, 1);
  state_->shared->vk.CmdFillBuffer(state_->commands, state_->buffer(range.buffer).buffer,
                                   range.offset, range.size, word);
}

void vulkan_context::dispatch(uint32_t kernel, const vulkan_range* bindings, uint32_t num_bindings,
                              const void* push, uint32_t push_bytes, uint32_t groups_x,
                              uint32_t groups_y, uint32_t groups_z) {
  if (status_ != ORTC_OK || groups_x == 0 || groups_y == 0 || groups_z == 0) return;
  State& s = *state_;
  if (kernel >= s.model->num_kernels) {
    fail(ORTC_INVALID_ARGUMENT, "there is no kernel %u", kernel);
    return;
  }
  const vulkan_kernel& k = s.model->kernels[kernel];
  const VkPhysicalDeviceLimits& limits = s.shared->properties.limits;
  if (num_bindings != k.num_bindings || push_bytes != k.push_bytes) {
    fail(ORTC_INVALID_ARGUMENT,
         "kernel '%s' takes %u buffers and %u bytes of scalars, not %u and %u", k.name,
         k.num_bindings, k.push_bytes, num_bindings, push_bytes);
    return;
  }
  const uint32_t groups[] = {groups_x, groups_y, groups_z};
  for (int i = 0; i < 3; ++i)
    if (groups[i] > limits.maxComputeWorkGroupCount[i]) {
      fail(ORTC_RUN_ERROR, "kernel '%s' needs %u workgroups along %c, device '%s' has %u", k.name,
           groups[i], "xyz"[i], s.shared->properties.deviceName,
           limits.maxComputeWorkGroupCount[i]);
      return;
    }
  VkDescriptorBufferInfo buffers[VULKAN_MAX_BINDINGS];
  for (uint32_t i = 0; i < num_bindings; ++i) {
    const vulkan_range& range = bindings[i];
    if (!check_range(range, k.name)) return;
    if (range.size > limits.maxStorageBufferRange || range.size == 0 ||
        range.offset % limits.minStorageBufferOffsetAlignment != 0) {
      fail(ORTC_RUN_ERROR,
           "kernel '%s': buffer %u of %llu bytes at %llu; device '%s' takes 1 to %u bytes at a "
           "multiple of %llu",
           k.name, i, ull(range.size), ull(range.offset), s.shared->properties.deviceName,
           limits.maxStorageBufferRange, ull(limits.minStorageBufferOffsetAlignment));
      return;
    }
    buffers[i] = {s.buffer(range.buffer).buffer, range.offset, range.size};
  }
  if (!room(0)) return;

  const vulkan_api& vk = s.shared->vk;
  const vulkan_pipeline& pipeline = s.shared->pipelines[kernel];
  VkDescriptorSet set = VK_NULL_HANDLE;
  VkDescriptorSetAllocateInfo set_info = {};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  set_info.descriptorPool = s.descriptor_pool;
  set_info.descriptorSetCount = 1;
  set_info.pSetLayouts = &pipeline.set_layout;
  if (failed(vk.AllocateDescriptorSets(s.shared->device, &set_info, &set), k.name)) return;
  ++s.num_sets;
  VkWriteDescriptorSet writes[VULKAN_MAX_BINDINGS] = {};
  for (uint32_t i = 0; i < num_bindings; ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &buffers[i];
  }
  vk.UpdateDescriptorSets(s.shared->device, num_bindings, writes, 0, nullptr);
  order(bindings, num_bindings, k.writes);
  vk.CmdBindPipeline(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  vk.CmdBindDescriptorSets(s.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set,
                           0, nullptr);
  if (push_bytes)
    vk.CmdPushConstants(s.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes,
                        push);
  vk.CmdDispatch(s.commands, groups_x, groups_y, groups_z);
  ++num_dispatches_;
}

bool vulkan_context::flush() {
  if (status_ != ORTC_OK) return false;
  State& s = *state_;
  if (!s.recording) return true;
  const vulkan_api& vk = s.shared->vk;
  // What shaders and copies wrote becomes visible to the host and to the next submit.
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT |
                          VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                          VK_ACCESS_TRANSFER_WRITE_BIT;
  const VkPipelineStageFlags stages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  vk.CmdPipelineBarrier(s.commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                        nullptr, 0, nullptr);
  s.recording = false;
  if (failed(vk.EndCommandBuffer(s.commands), "command buffer")) return false;
  if (failed(s.shared->submit(s.commands, s.fence), "submit")) return false;
  if (failed(vk.WaitForFences(s.shared->device, 1, &s.fence, VK_TRUE, UINT64_MAX),
             "waiting for the device"))
    return false;
  if (failed(vk.ResetFences(s.shared->device, 1, &s.fence), "fence")) return false;
  for (uint32_t i = 0; i < s.num_downloads; ++i)
    std::memcpy(s.downloads[i].to, static_cast<const char*>(s.staging.mapped) + s.downloads[i].at,
                size_t(s.downloads[i].size));
  s.num_downloads = 0;
  return true;
}

ortc_status vulkan_context::finish() {
  flush();
  if (state_ && state_->recording) {
    // A failed run leaves commands behind; drop them.
    state_->shared->vk.EndCommandBuffer(state_->commands);
    state_->recording = false;
  }
  return status_;
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
