// SPDX-License-Identifier: 0BSD
//
// Opens the Vulkan loader and names Vulkan's result codes.
#include "vulkan_loader.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#include <initializer_list>
#endif

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {

bool load_vulkan(vulkan_api& api) {
  api = vulkan_api();
#if defined(_WIN32)
  HMODULE library = LoadLibraryA("vulkan-1.dll");
  if (!library) return false;
  api.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr")));
#else
  void* library = nullptr;
  for (const char* name :
       {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib", "libMoltenVK.dylib"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  api.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
  if (!api.GetInstanceProcAddr) return false;
#define ORTC_VK_LOAD(name)                                                                         \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(nullptr, "vk" #name));
  ORTC_VK_GLOBAL(ORTC_VK_LOAD)
#undef ORTC_VK_LOAD
  return api.CreateInstance != nullptr;
}

void load_vulkan_instance(vulkan_api& api, VkInstance instance) {
#define ORTC_VK_LOAD(name)                                                                         \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetInstanceProcAddr(instance, "vk" #name));
  ORTC_VK_INSTANCE(ORTC_VK_LOAD)
#undef ORTC_VK_LOAD
}

void load_vulkan_device(vulkan_api& api, VkDevice device) {
#define ORTC_VK_LOAD(name)                                                                         \
  api.name = reinterpret_cast<PFN_vk##name>(api.GetDeviceProcAddr(device, "vk" #name));
  ORTC_VK_DEVICE(ORTC_VK_LOAD)
#undef ORTC_VK_LOAD
}

const char* vulkan_result_name(int result) {
  switch (result) {
  case VK_SUCCESS: return "success";
  case VK_NOT_READY: return "not ready";
  case VK_TIMEOUT: return "timeout";
  case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
  case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
  case VK_ERROR_INITIALIZATION_FAILED: return "initialisation failed";
  case VK_ERROR_DEVICE_LOST: return "device lost";
  case VK_ERROR_MEMORY_MAP_FAILED: return "memory map failed";
  case VK_ERROR_LAYER_NOT_PRESENT: return "layer not present";
  case VK_ERROR_EXTENSION_NOT_PRESENT: return "extension not present";
  case VK_ERROR_FEATURE_NOT_PRESENT: return "feature not present";
  case VK_ERROR_INCOMPATIBLE_DRIVER: return "no compatible driver";
  case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
  case VK_ERROR_FRAGMENTED_POOL: return "fragmented pool";
  case VK_ERROR_OUT_OF_POOL_MEMORY: return "out of pool memory";
  default: return "Vulkan error";
  }
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
