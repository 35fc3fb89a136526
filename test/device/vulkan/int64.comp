#version 450
#extension GL_ARB_gpu_shader_int64 : require
// y[i] = x[i] * x[i] on 64-bit integers: a kernel that needs a device feature.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { int64_t x[]; };
layout(set = 0, binding = 1) buffer Y { int64_t y[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  y[i] = x[i] * x[i];
}
