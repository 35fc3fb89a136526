// SPDX-License-Identifier: 0BSD
//
// Vulkan's functions, fetched from the loader at run time (see ortc_vulkan.h why). One table per
// bundle and process.
#ifndef ORTC_VULKAN_LOADER_H
#define ORTC_VULKAN_LOADER_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "ortc_vulkan.h"

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

// clang-format off
#define ORTC_VK_GLOBAL(X) X(CreateInstance) X(EnumerateInstanceVersion)
#define ORTC_VK_INSTANCE(X)                                                                       \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties)                   \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties)                              \
  X(GetPhysicalDeviceQueueFamilyProperties) X(EnumerateDeviceExtensionProperties)                 \
  X(CreateDevice) X(GetDeviceProcAddr)
#define ORTC_VK_DEVICE(X)                                                                         \
  X(DestroyDevice) X(GetDeviceQueue) X(CreateBuffer) X(DestroyBuffer)                             \
  X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory)              \
  X(MapMemory) X(UnmapMemory) X(CreateShaderModule) X(DestroyShaderModule)                        \
  X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout)              \
  X(DestroyPipelineLayout) X(CreateComputePipelines) X(DestroyPipeline) X(CreateDescriptorPool)   \
  X(DestroyDescriptorPool) X(ResetDescriptorPool) X(AllocateDescriptorSets)                       \
  X(UpdateDescriptorSets) X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers)    \
  X(BeginCommandBuffer) X(EndCommandBuffer) X(CreateFence) X(DestroyFence) X(ResetFences)         \
  X(WaitForFences) X(QueueSubmit) X(DeviceWaitIdle) X(CmdBindPipeline) X(CmdBindDescriptorSets)   \
  X(CmdPushConstants) X(CmdDispatch) X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CmdFillBuffer)
// clang-format on

struct vulkan_api {
#define ORTC_VK_MEMBER(name) PFN_vk##name name;
  ORTC_VK_GLOBAL(ORTC_VK_MEMBER)
  ORTC_VK_INSTANCE(ORTC_VK_MEMBER)
  ORTC_VK_DEVICE(ORTC_VK_MEMBER)
#undef ORTC_VK_MEMBER
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
};

// Fills GetInstanceProcAddr and the global functions; false when there is no loader. The library
// stays open: drivers do not survive being unloaded and loaded again.
bool load_vulkan(vulkan_api& api);
void load_vulkan_instance(vulkan_api& api, VkInstance instance);
void load_vulkan_device(vulkan_api& api, VkDevice device);
const char* vulkan_result_name(int result);

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
#endif // ORTC_VULKAN_LOADER_H
