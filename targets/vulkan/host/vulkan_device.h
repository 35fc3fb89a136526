// SPDX-License-Identifier: 0BSD
//
// What all contexts of a bundle share on one device: the device itself, its queue, the pipelines
// and the weights.
#ifndef ORTC_VULKAN_DEVICE_H
#define ORTC_VULKAN_DEVICE_H

#include <mutex>
#include <vector>

#include "vulkan_loader.h"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

struct vulkan_buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size = 0;
  void* mapped = nullptr; // when host-visible
};

struct vulkan_pipeline {
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

// A status with the text for the user; device code fills it instead of throwing.
struct vulkan_fault {
  ortc_status status = ORTC_OK;
  char text[512] = "";
  bool set(ortc_status code, const char* format,
           ...); // returns false, so that `return fault.set(...)` reads well
};

class vulkan_shared {
public:
  // One object per model and ordinal while any context uses it. Null on failure, with the fault
  // told.
  static vulkan_shared* acquire(const vulkan_model& model, const void* weights, int32_t ordinal,
                                vulkan_fault& fault);
  void release();

  bool create_buffer(vulkan_buffer& buffer, uint64_t size, bool host_visible, const char* what,
                     vulkan_fault& fault);
  void destroy_buffer(vulkan_buffer& buffer);
  // Queues are not safe to use from two threads: submit under the lock, wait without it.
  VkResult submit(VkCommandBuffer commands, VkFence fence);

  vulkan_api vk = {};
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties = {};
  VkPhysicalDeviceMemoryProperties memory = {};
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  std::vector<vulkan_pipeline> pipelines;
  vulkan_buffer weights;

private:
  vulkan_shared() = default;
  ~vulkan_shared();
  bool open_instance(vulkan_fault& fault);
  bool pick_device(vulkan_fault& fault);
  bool open_device(vulkan_fault& fault);
  bool create_pipelines(vulkan_fault& fault);
  bool upload_weights(const void* data, vulkan_fault& fault);

  const vulkan_model* model_ = nullptr;
  int32_t ordinal_ = -1;
  uint32_t users_ = 0;
  std::mutex queue_lock_;
  vulkan_shared* next_ = nullptr;
};

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif // ORTC_VULKAN_DEVICE_H
