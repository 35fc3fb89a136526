// y[i] = factor * y[i] + shift, the shift from a buffer
struct Scalars { count: u32, factor: f32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read_write> shift: array<i32>;
@group(0) @binding(2) var<uniform> size: Scalars;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < size.count) { y[id.x] = size.factor * y[id.x] + f32(shift[0]); }
}
