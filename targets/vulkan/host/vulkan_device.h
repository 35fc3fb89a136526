// SPDX-License-Identifier: 0BSD
//
// What all contexts of a bundle share on one device: the device itself, its queue, the pipelines
// and the weights.
#ifndef ORTC_VULKAN_DEVICE_H
#define ORTC_VULKAN_DEVICE_H

#include <mutex>
#include <vector>

#include "vulkan_loader.h"

namespace ORTC_RT_NS {

struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t size = 0;
  void* mapped = nullptr; // when host-visible
};

struct VulkanPipeline {
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

// A status with the text for the user; device code fills it instead of throwing.
struct VulkanFault {
  ortc_status status = ORTC_OK;
  char text[512] = "";
  bool set(ortc_status code, const char* format,
           ...); // returns false, so that `return fault.set(...)` reads well
};

class VulkanShared {
public:
  // One object per model and ordinal while any context uses it. Null on failure, with the fault
  // told.
  static VulkanShared* acquire(const VulkanModel& model, const void* weights, int32_t ordinal,
                               VulkanFault& fault);
  void release();

  bool createBuffer(VulkanBuffer& buffer, uint64_t size, bool host_visible, const char* what,
                    VulkanFault& fault);
  void destroyBuffer(VulkanBuffer& buffer);
  // Queues are not safe to use from two threads: submit under the lock, wait without it.
  VkResult submit(VkCommandBuffer commands, VkFence fence);

  VulkanApi vk = {};
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties = {};
  VkPhysicalDeviceMemoryProperties memory = {};
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  std::vector<VulkanPipeline> pipelines;
  VulkanBuffer weights;

private:
  VulkanShared() = default;
  ~VulkanShared();
  bool openInstance(VulkanFault& fault);
  bool pickDevice(VulkanFault& fault);
  bool openDevice(VulkanFault& fault);
  bool createPipelines(VulkanFault& fault);
  bool uploadWeights(const void* data, VulkanFault& fault);

  const VulkanModel* model_ = nullptr;
  int32_t ordinal_ = -1;
  uint32_t users_ = 0;
  std::mutex queue_lock_;
  VulkanShared* next_ = nullptr;
};

} // namespace ORTC_RT_NS
#endif // ORTC_VULKAN_DEVICE_H
