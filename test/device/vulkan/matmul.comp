#version 450
// c[m,n] = sum over k of a[m,k] * b[k,n], 16x16 tiles through shared memory with barriers; any sizes.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint M, N, K; };
shared float ta[16][16], tb[16][16];
void main() {
  uint row = gl_GlobalInvocationID.y, col = gl_GlobalInvocationID.x;
  uint ly = gl_LocalInvocationID.y, lx = gl_LocalInvocationID.x;
  float sum = 0.0;
  for (uint k0 = 0; k0 < K; k0 += 16) {
    ta[ly][lx] = row < M && k0 + lx < K ? a[row * K + k0 + lx] : 0.0;
    tb[ly][lx] = col < N && k0 + ly < K ? b[(k0 + ly) * N + col] : 0.0;
    barrier();
    for (uint k = 0; k < 16; ++k) sum += ta[ly][k] * tb[k][lx];
    barrier();
  }
  if (row < M && col < N) c[row * N + col] = sum;
}
