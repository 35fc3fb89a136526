// SPDX-License-Identifier: Apache-2.0
// node packed-run.mjs FOLDER: runs the bundle of packed.mlir on Dawn and compares with what JavaScript computes.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openGpu } from '../../../targets/webgpu/tools/dawn.mjs';

const gpu = await openGpu();
if (!gpu) {
  console.error('no Vulkan driver that Dawn accepts');
  process.exit(3);
}
const { create } = await import(pathToFileURL(join(process.argv[2], 'net.mjs')));
const session = await create({ gpu });
const n = 131;
const x = Float32Array.from({ length: n }, (_, i) => (i % 2 ? -1 : 1) * (i * 1.37 + 0.01) * (i > 120 ? 100 : 1));
const b = Int8Array.from({ length: n }, (_, i) => (i * 7) % 256);
const out = await session.run({ x: { data: x, dims: [n] }, b: { data: b, dims: [n] } });

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);
function toHalf(value) { // to nearest even; the numbers here are normal or beyond the range
  f32[0] = value;
  const sign = (u32[0] >>> 16) & 0x8000, a = u32[0] & 0x7fffffff;
  if (a >= 0x477ff000) return sign | 0x7c00;
  return sign | ((a - 0x38000000 + 0xfff + ((a >>> 13) & 1)) >>> 13);
}
function fromHalf(h) {
  const e = (h >> 10) & 31, m = h & 1023;
  return (h & 0x8000 ? -1 : 1) * (e === 31 ? Infinity : (1 + m / 1024) * 2 ** (e - 15));
}
const even = (v) => (Math.abs(v % 1) === 0.5 ? 2 * Math.round(v / 2) : Math.round(v));
let wrong = 0;
const expect = (what, i, got, want) => {
  if (got === want) return;
  if (wrong++ < 10) console.error(`${what}[${i}]: got ${got}, expected ${want} (x ${x[i]})`);
};
for (let i = 0; i < n; ++i) {
  const clamped = Math.max(-128, Math.min(127, even(x[i])));
  const sum = ((clamped + b[i] + 128) & 255) - 128;
  expect('positive', i, out.positive.data[i], x[i] > 0 ? 1 : 0);
  expect('rounded', i, out.rounded.data[i], sum);
  expect('half', i, out.half.data[i], toHalf(2 * fromHalf(toHalf(x[i]))));
  expect('wide', i, out.wide.data[i], BigInt(sum));
  f32[0] = x[i];
  expect('brain', i, out.brain.data[i], (u32[0] + 0x7fff + ((u32[0] >>> 16) & 1)) >>> 16);
}
process.exit(wrong ? 1 : 0);
