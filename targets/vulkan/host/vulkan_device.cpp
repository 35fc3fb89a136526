// SPDX-License-Identifier: 0BSD
//
// Picks a device, checks that it can run the bundle, compiles the pipelines and brings the weights
// over. All of this happens at create, so that what a device lacks is said before the first run,
// with the number it has and the one needed.
#include "vulkan_device.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

namespace ortc_rt {
inline namespace ORTC_RT_PREFIX {
namespace {

std::mutex shared_lock;
vulkan_shared* shared_list = nullptr;

constexpr uint64_t weights_piece = uint64_t(16) << 20; // staging for the upload of weights

int rank(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
  case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
  default: return 0;
  }
}

unsigned long long ull(uint64_t value) {
  return value;
} // for printf

} // namespace

bool vulkan_fault::set(ortc_status code, const char* format, ...) {
  if (status != ORTC_OK) return false;
  status = code;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return false;
}

vulkan_shared* vulkan_shared::acquire(const vulkan_model& model, const void* weights,
                                      int32_t ordinal, vulkan_fault& fault) {
  const std::lock_guard<std::mutex> lock(shared_lock);
  for (vulkan_shared* shared = shared_list; shared; shared = shared->next_)
    if (shared->model_ == &model && shared->ordinal_ == ordinal) {
      ++shared->users_;
      return shared;
    }
  vulkan_shared* shared = new (std::nothrow) vulkan_shared;
  if (!shared) {
    fault.set(ORTC_OUT_OF_MEMORY, "out of host memory");
    return nullptr;
  }
  shared->model_ = &model;
  shared->ordinal_ = ordinal;
  shared->users_ = 1;
  if (!shared->open_instance(fault) || !shared->pick_device(fault) || !shared->open_device(fault) ||
      !shared->create_pipelines(fault) || !shared->upload_weights(weights, fault)) {
    delete shared;
    return nullptr;
  }
  shared->next_ = shared_list;
  shared_list = shared;
  return shared;
}

void vulkan_shared::release() {
  const std::lock_guard<std::mutex> lock(shared_lock);
  if (--users_ != 0) return;
  for (vulkan_shared** link = &shared_list; *link; link = &(*link)->next_)
    if (*link == this) {
      *link = next_;
      break;
    }
  delete this;
}

vulkan_shared::~vulkan_shared() {
  if (device) {
    vk.DeviceWaitIdle(device);
    destroy_buffer(weights);
    for (const vulkan_pipeline& pipeline : pipelines) {
      vk.DestroyPipeline(device, pipeline.pipeline, nullptr);
      vk.DestroyPipelineLayout(device, pipeline.layout, nullptr);
      vk.DestroyDescriptorSetLayout(device, pipeline.set_layout, nullptr);
    }
    vk.DestroyDevice(device, nullptr);
  }
  if (instance) vk.DestroyInstance(instance, nullptr);
}

bool vulkan_shared::open_instance(vulkan_fault& fault) {
  if (!load_vulkan(vk))
    return fault.set(ORTC_NO_DEVICE, "no Vulkan loader (libvulkan) on this machine");
  uint32_t version = VK_API_VERSION_1_0;
  if (vk.EnumerateInstanceVersion) vk.EnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1)
    return fault.set(ORTC_NO_DEVICE, "the Vulkan loader is version 1.0, the bundle needs 1.1");
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = model_->name;
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const VkResult result = vk.CreateInstance(&info, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return fault.set(ORTC_NO_DEVICE, "no Vulkan driver (ICD) on this machine");
  if (result != VK_SUCCESS)
    return fault.set(ORTC_NO_DEVICE, "vkCreateInstance: %s", vulkan_result_name(result));
  load_vulkan_instance(vk, instance);
  return true;
}

bool vulkan_shared::pick_device(vulkan_fault& fault) {
  uint32_t count = 0;
  VkResult result = vk.EnumeratePhysicalDevices(instance, &count, nullptr);
  if (result != VK_SUCCESS || count == 0)
    return fault.set(ORTC_NO_DEVICE, "there is a Vulkan driver, but it offers no device");
  std::vector<VkPhysicalDevice> devices(count);
  result = vk.EnumeratePhysicalDevices(instance, &count, devices.data());
  if (result < 0)
    return fault.set(ORTC_NO_DEVICE, "vkEnumeratePhysicalDevices: %s", vulkan_result_name(result));
  if (ordinal_ >= 0) {
    if (uint32_t(ordinal_) >= count)
      return fault.set(ORTC_NO_DEVICE, "device %d was asked for, but there are %u", int(ordinal_),
                       count);
    physical = devices[size_t(ordinal_)];
  } else {
    int best = -1;
    for (VkPhysicalDevice candidate : devices) {
      VkPhysicalDeviceProperties found;
      vk.GetPhysicalDeviceProperties(candidate, &found);
      if (found.apiVersion >= VK_API_VERSION_1_1 && rank(found.deviceType) > best) {
        best = rank(found.deviceType);
        physical = candidate;
      }
    }
    if (!physical) return fault.set(ORTC_NO_DEVICE, "no device speaks Vulkan 1.1");
  }
  vk.GetPhysicalDeviceProperties(physical, &properties);
  vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
  if (properties.apiVersion < VK_API_VERSION_1_1)
    return fault.set(ORTC_NO_DEVICE, "device '%s' speaks Vulkan 1.0, the bundle needs 1.1",
                     properties.deviceName);

  const VkPhysicalDeviceLimits& limits = properties.limits;
  struct {
    const char* what;
    uint64_t has, needs;
  } checks[] = {
      {"bytes of workgroup memory", limits.maxComputeSharedMemorySize, model_->shared_bytes},
      {"threads in a workgroup", limits.maxComputeWorkGroupInvocations,
       model_->workgroup_invocations},
      {"bytes of push constants", limits.maxPushConstantsSize, 0},
      {"storage buffers in a kernel", limits.maxPerStageDescriptorStorageBuffers, 0},
  };
  for (uint32_t i = 0; i < model_->num_kernels; ++i) {
    const vulkan_kernel& kernel = model_->kernels[i];
    if (kernel.push_bytes > checks[2].needs) checks[2].needs = kernel.push_bytes;
    if (kernel.num_bindings > checks[3].needs) checks[3].needs = kernel.num_bindings;
  }
  for (const auto& check : checks)
    if (check.has < check.needs)
      return fault.set(ORTC_NO_DEVICE, "device '%s' has %llu %s, the bundle needs %llu",
                       properties.deviceName, ull(check.has), check.what, ull(check.needs));
  return true;
}

bool vulkan_shared::open_device(vulkan_fault& fault) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  queue_family = count;
  for (uint32_t i = count; i-- > 0;)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) queue_family = i;
  if (queue_family == count)
    return fault.set(ORTC_NO_DEVICE, "device '%s' has no compute queue", properties.deviceName);

  // Ask the device for the few features that kernels may use, then switch on those that this bundle
  // does use.
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  VkPhysicalDevice8BitStorageFeatures storage8 = {};
  storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  VkPhysicalDeviceShaderFloat16Int8Features small = {};
  small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  VkPhysicalDeviceFeatures2 features = {};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &storage16;

  const uint32_t wanted = model_->features;
  std::vector<const char*> extensions;
  if (wanted & (VULKAN_INT8 | VULKAN_FLOAT16)) {
    uint32_t num_extensions = 0;
    vk.EnumerateDeviceExtensionProperties(physical, nullptr, &num_extensions, nullptr);
    std::vector<VkExtensionProperties> offered(num_extensions);
    vk.EnumerateDeviceExtensionProperties(physical, nullptr, &num_extensions, offered.data());
    const auto use = [&](const char* name) {
      for (const VkExtensionProperties& extension : offered)
        if (std::strcmp(extension.extensionName, name) == 0) {
          extensions.push_back(name);
          return true;
        }
      return fault.set(ORTC_NO_DEVICE, "device '%s' lacks %s, which the bundle needs",
                       properties.deviceName, name);
    };
    if (!use(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) return false;
    if ((wanted & VULKAN_INT8) && !use(VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) return false;
    storage16.pNext = &small;
    if (wanted & VULKAN_INT8) small.pNext = &storage8;
  }
  vk.GetPhysicalDeviceFeatures2(physical, &features);

  const struct {
    uint32_t bit;
    const char* what;
    bool present;
  } checks[] = {
      {VULKAN_INT8, "8-bit integers", small.shaderInt8 && storage8.storageBuffer8BitAccess},
      {VULKAN_INT16, "16-bit integers",
       features.features.shaderInt16 && storage16.storageBuffer16BitAccess},
      {VULKAN_INT64, "64-bit integers", features.features.shaderInt64 != 0},
      {VULKAN_FLOAT16, "16-bit floats", small.shaderFloat16 && storage16.storageBuffer16BitAccess},
      {VULKAN_FLOAT64, "64-bit floats", features.features.shaderFloat64 != 0},
  };
  for (const auto& check : checks)
    if ((wanted & check.bit) && !check.present)
      return fault.set(ORTC_NO_DEVICE, "device '%s' has no %s, which the bundle needs",
                       properties.deviceName, check.what);
  const VkBool32 int16 = (wanted & VULKAN_INT16) != 0, half = (wanted & VULKAN_FLOAT16) != 0;
  features.features = {};
  features.features.shaderInt16 = int16;
  features.features.shaderInt64 = (wanted & VULKAN_INT64) != 0;
  features.features.shaderFloat64 = (wanted & VULKAN_FLOAT64) != 0;
  storage16.storageBuffer16BitAccess = int16 | half;
  storage16.uniformAndStorageBuffer16BitAccess = storage16.storagePushConstant16 = 0;
  storage16.storageInputOutput16 = 0;
  small.shaderInt8 = (wanted & VULKAN_INT8) != 0;
  small.shaderFloat16 = half;
  storage8.storageBuffer8BitAccess = (wanted & VULKAN_INT8) != 0;
  storage8.uniformAndStorageBuffer8BitAccess = storage8.storagePushConstant8 = 0;

  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info = {};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = queue_family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.enabledExtensionCount = uint32_t(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result = vk.CreateDevice(physical, &info, nullptr, &device);
  if (result != VK_SUCCESS) {
    device = VK_NULL_HANDLE;
    return fault.set(ORTC_NO_DEVICE, "device '%s': vkCreateDevice: %s", properties.deviceName,
                     vulkan_result_name(result));
  }
  load_vulkan_device(vk, device);
  vk.GetDeviceQueue(device, queue_family, 0, &queue);
  return true;
}

bool vulkan_shared::create_pipelines(vulkan_fault& fault) {
  pipelines.resize(model_->num_kernels);
  for (uint32_t i = 0; i < model_->num_kernels; ++i) {
    const vulkan_kernel& kernel = model_->kernels[i];
    vulkan_pipeline& pipeline = pipelines[i];
    if (kernel.num_bindings > VULKAN_MAX_BINDINGS)
      return fault.set(ORTC_INVALID_ARGUMENT, "kernel '%s' has %u buffers, the host side takes %u",
                       kernel.name, kernel.num_bindings, VULKAN_MAX_BINDINGS);
    const auto ok = [&](VkResult result, const char* what) {
      if (result == VK_SUCCESS) return true;
      return fault.set(result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                               result == VK_ERROR_OUT_OF_HOST_MEMORY
                           ? ORTC_OUT_OF_MEMORY
                           : ORTC_NO_DEVICE,
                       "kernel '%s': %s: %s", kernel.name, what, vulkan_result_name(result));
    };
    VkDescriptorSetLayoutBinding bindings[VULKAN_MAX_BINDINGS] = {};
    for (uint32_t b = 0; b < kernel.num_bindings; ++b) {
      bindings[b].binding = b;
      bindings[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      bindings[b].descriptorCount = 1;
      bindings[b].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo set_info = {};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = kernel.num_bindings;
    set_info.pBindings = bindings;
    if (!ok(vk.CreateDescriptorSetLayout(device, &set_info, nullptr, &pipeline.set_layout),
            "descriptor layout"))
      return false;

    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel.push_bytes};
    VkPipelineLayoutCreateInfo layout_info = {};
    layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &pipeline.set_layout;
    layout_info.pushConstantRangeCount = kernel.push_bytes ? 1 : 0;
    layout_info.pPushConstantRanges = &push;
    if (!ok(vk.CreatePipelineLayout(device, &layout_info, nullptr, &pipeline.layout),
            "pipeline layout"))
      return false;

    VkShaderModuleCreateInfo module_info = {};
    module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module_info.codeSize = size_t(kernel.num_words) * 4;
    module_info.pCode = kernel.words;
    VkShaderModule module = VK_NULL_HANDLE;
    if (!ok(vk.CreateShaderModule(device, &module_info, nullptr, &module), "shader module"))
      return false;
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = kernel.entry;
    info.layout = pipeline.layout;
    const VkResult result =
        vk.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline.pipeline);
    vk.DestroyShaderModule(device, module, nullptr);
    if (!ok(result, "pipeline")) return false;
  }
  return true;
}

bool vulkan_shared::create_buffer(vulkan_buffer& buffer, uint64_t size, bool host_visible,
                                  const char* what, vulkan_fault& fault) {
  const auto lacking = [&](const char* why) {
    destroy_buffer(buffer);
    return fault.set(ORTC_OUT_OF_MEMORY, "device '%s': %llu bytes for the %s: %s",
                     properties.deviceName, ull(size), what, why);
  };
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = (size + 3) / 4 * 4; // vkCmdFillBuffer counts in words
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkResult result = vk.CreateBuffer(device, &info, nullptr, &buffer.buffer);
  if (result != VK_SUCCESS) return lacking(vulkan_result_name(result));
  VkMemoryRequirements needs;
  vk.GetBufferMemoryRequirements(device, buffer.buffer, &needs);
  const VkMemoryPropertyFlags wanted =
      host_visible ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                   : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  VkMemoryAllocateInfo allocation = {};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needs.size;
  result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  // The spec orders memory types so that the first fitting one is the best; a full heap leaves the
  // next.
  for (uint32_t i = 0; i < memory.memoryTypeCount && result != VK_SUCCESS; ++i) {
    const VkMemoryType& type = memory.memoryTypes[i];
    if (!(needs.memoryTypeBits >> i & 1) || (type.propertyFlags & wanted) != wanted ||
        memory.memoryHeaps[type.heapIndex].size < needs.size)
      continue;
    allocation.memoryTypeIndex = i;
    result = vk.AllocateMemory(device, &allocation, nullptr, &buffer.memory);
  }
  if (result == VK_SUCCESS) result = vk.BindBufferMemory(device, buffer.buffer, buffer.memory, 0);
  if (result == VK_SUCCESS && host_visible)
    result = vk.MapMemory(device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.mapped);
  if (result != VK_SUCCESS) return lacking(vulkan_result_name(result));
  buffer.size = size;
  return true;
}

void vulkan_shared::destroy_buffer(vulkan_buffer& buffer) {
  if (buffer.buffer) vk.DestroyBuffer(device, buffer.buffer, nullptr);
  if (buffer.memory) vk.FreeMemory(device, buffer.memory, nullptr); // unmaps
  buffer = vulkan_buffer();
}

VkResult vulkan_shared::submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::lock_guard<std::mutex> lock(queue_lock_);
  return vk.QueueSubmit(queue, 1, &info, fence);
}

bool vulkan_shared::upload_weights(const void* data, vulkan_fault& fault) {
  const uint64_t bytes = model_->weights_bytes;
  if (bytes == 0) return true;
  if (!create_buffer(weights, bytes, false, "weights", fault)) return false;
  vulkan_buffer staging;
  if (!create_buffer(staging, bytes < weights_piece ? bytes : weights_piece, true,
                     "upload of the weights", fault))
    return false;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkCommandPoolCreateInfo pool_info = {};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool_info.queueFamilyIndex = queue_family;
  VkFenceCreateInfo fence_info = {};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkResult result = vk.CreateCommandPool(device, &pool_info, nullptr, &pool);
  if (result == VK_SUCCESS) result = vk.CreateFence(device, &fence_info, nullptr, &fence);
  if (result == VK_SUCCESS) {
    VkCommandBufferAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    result = vk.AllocateCommandBuffers(device, &info, &commands);
  }
  for (uint64_t at = 0; at < bytes && result == VK_SUCCESS; at += staging.size) {
    const uint64_t piece = bytes - at < staging.size ? bytes - at : staging.size;
    std::memcpy(staging.mapped, static_cast<const char*>(data) + at, size_t(piece));
    VkCommandBufferBeginInfo begin = {};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    result = vk.BeginCommandBuffer(commands, &begin);
    if (result != VK_SUCCESS) break;
    const VkBufferCopy region = {0, at, piece};
    vk.CmdCopyBuffer(commands, staging.buffer, weights.buffer, 1, &region);
    // The fence does not make the copy visible to later shaders; this does.
    VkMemoryBarrier barrier = {};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
    vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                          nullptr);
    result = vk.EndCommandBuffer(commands);
    if (result == VK_SUCCESS) result = submit(commands, fence);
    if (result == VK_SUCCESS) result = vk.WaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
    if (result == VK_SUCCESS) result = vk.ResetFences(device, 1, &fence);
  }
  if (fence) vk.DestroyFence(device, fence, nullptr);
  if (pool) vk.DestroyCommandPool(device, pool, nullptr);
  destroy_buffer(staging);
  return result == VK_SUCCESS ||
         fault.set(ORTC_NO_DEVICE, "upload of the weights: %s", vulkan_result_name(result));
}

} // namespace ORTC_RT_PREFIX
} // namespace ortc_rt
