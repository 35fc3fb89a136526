// SPDX-License-Identifier: Apache-2.0
// What of the WebGPU host side needs no GPU: conversions, checked on every 16-bit float, and what is refused.
import assert from 'node:assert/strict';

import { createSession } from './runtime/ortc_webgpu.mjs';
import { neededLimits } from './runtime/device.mjs';
import { arrayLength, bindInputs, fromHalf, fromStorage, toHalf, toStorage } from './runtime/tensors.mjs';

for (let half = 0; half < 65536; ++half) {
  const value = fromHalf(half);
  if (Number.isNaN(value)) assert.equal(toHalf(value) & 0x7e00, 0x7e00);
  else assert.equal(toHalf(value), half);
  if (Number.isNaN(value) || !Number.isFinite(value) || (half & 0x7fff) >= 0x7bff) continue;
  // Halfway to the next goes to the even one; just past it to the next.
  const next = fromHalf(half + 1);
  const middle = (value + next) / 2;
  assert.equal(toHalf(middle), half & 1 ? half + 1 : half, `middle above ${half}`);
  assert.equal(toHalf(Math.fround(middle + (next - value) * 1e-3)), half + 1);
}
assert.equal(toHalf(65519.99), 0x7bff);
assert.equal(toHalf(65520), 0x7c00);
assert.equal(toHalf(-1e-9), 0x8000);

const bf16 = { name: 'b', dtype: 'bfloat16', storage: 'float32' };
const values = Uint16Array.of(0x3f80, 0xc000, 0x7f80, 0x0001, 0x7fc0);
assert.deepEqual(fromStorage(bf16, toStorage(bf16, values)), values);
assert.deepEqual(fromStorage(bf16, Float32Array.of(1.00390625, 1.01171875, 3.4e38)), Uint16Array.of(0x3f80, 0x3f82, 0x7f80));
const i64 = { name: 'i', dtype: 'int64', storage: 'int32' };
assert.deepEqual(toStorage(i64, BigInt64Array.of(-5n, 2n ** 31n - 1n)), Int32Array.of(-5, 2 ** 31 - 1));
assert.throws(() => toStorage(i64, BigInt64Array.of(2n ** 31n)), { code: 'RUN_ERROR' });
assert.deepEqual(fromStorage(i64, Int32Array.of(-5)), BigInt64Array.of(-5n));
assert.equal(arrayLength('int4', [3, 5]), 8);
assert.throws(() => arrayLength('string', [1]), { code: 'UNSUPPORTED' });

const model = {
  name: 'm', kernels: [{ name: 'k', access: Array(9).fill('rw') }],
  inputs: [{ name: 'a', dtype: 'float32', shape: ['n', 2] }, { name: 'b', dtype: 'float32', shape: ['n'] }],
  outputs: [], dims: [{ name: 'n', min: 2, max: 8, multipleOf: 2 }],
  weights: { segments: [{ offset: 0, bytes: 200 << 20 }] }, arena: () => [300 << 20],
};
const tensor = (...dims) => ({ data: new Float32Array(dims.reduce((x, y) => x * y, 1)), dims });
assert.deepEqual({ ...bindInputs(model, { a: tensor(4, 2), b: tensor(4) }).dims }, { n: 4 });
assert.throws(() => bindInputs(model, { a: tensor(4, 2), b: tensor(2) }), /shape \[2\], where 'n' is 4/);
assert.throws(() => bindInputs(model, { a: tensor(3, 2), b: tensor(3) }), /dimension 'n' is 3, expected 2 to 8, a multiple of 2/);
assert.throws(() => bindInputs(model, { a: tensor(10, 2), b: tensor(10) }), /dimension 'n' is 10/);
assert.throws(() => bindInputs(model, { a: new Float64Array(8), b: tensor(4) }), /a Float64Array, not a Float32Array/);
assert.throws(() => bindInputs(model, { a: { data: new Float32Array(7), dims: [4, 2] }, b: tensor(4) }), /7 elements/);
assert.deepEqual(neededLimits(model, model.arena()), {
  maxStorageBufferBindingSize: 300 << 20, maxBufferSize: 300 << 20, maxStorageBuffersPerShaderStage: 9,
});

// Machines that lack something. The GPU is a stand-in: what is tested is the text.
const features = new Set();
const limits = { maxStorageBufferBindingSize: 128 << 20, maxBufferSize: 1 << 30, maxStorageBuffersPerShaderStage: 16 };
const gpu = { requestAdapter: async () => ({ features, limits }) };
await assert.rejects(createSession(model, {}), { code: 'NO_DEVICE', message: 'there is no WebGPU here (navigator.gpu is missing)' });
await assert.rejects(createSession(model, { gpu: { requestAdapter: async () => null } }), /offers no adapter/);
await assert.rejects(createSession(model, { gpu }), /the adapter has maxStorageBufferBindingSize 134217728, model 'm' needs 314572800/);
const half = { ...model, weights: undefined, needs: { features: ['shader-f16'] } };
await assert.rejects(createSession(half, { gpu }), /the adapter has no 'shader-f16', which model 'm' needs/);
console.log('ok');
