// turns[0] = 2 * turns[0]: no scalars
@group(0) @binding(0) var<storage, read_write> turns: array<i32>;
@compute @workgroup_size(1)
fn main() { turns[0] = 2 * turns[0]; }
