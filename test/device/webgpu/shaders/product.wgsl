// y[row,col] = max(sum over k of x[row,k] * w[k,col] + bias[col], 0)
struct Scalars { rows: u32, cols: u32, depth: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> size: Scalars;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= size.cols || id.y >= size.rows) { return; }
  var sum = bias[id.x];
  for (var k = 0u; k < size.depth; k++) { sum += x[id.y * size.depth + k] * w[k * size.cols + id.x]; }
  y[id.y * size.cols + id.x] = max(sum, 0.0);
}
