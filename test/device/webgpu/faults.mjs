// SPDX-License-Identifier: Apache-2.0
// What goes wrong after a device is there: a kernel that does not compile, weights of the wrong length, use of a session
// from two places, kernels that write outside of their buffers.
import assert from 'node:assert/strict';

import { openGpu } from './tools/dawn.mjs';
import { createSession } from './runtime/ortc_webgpu.mjs';
import { create, model } from './net.mjs';

const gpu = await openGpu();
const base = new URL('./net.mjs', import.meta.url).href;
const withKernel = (change) => ({ ...model, kernels: model.kernels.map((k, i) => (i === 1 ? { ...k, ...change } : k)) });
const open = (m, options = {}) => createSession(m, { gpu, base, ...options });
await assert.rejects(open(withKernel({ file: undefined, code: '@compute @workgroup_size(1)\nfn main() { let a: i32 = 1u; }' })),
  (e) => e.code === 'NO_DEVICE' && /kernel 'scale' does not compile here: 2:\d+: /.test(e.message));
await assert.rejects(open(withKernel({ entry: 'nothing' })), (e) => e.code === 'NO_DEVICE' && /kernel 'scale'/.test(e.message));
await assert.rejects(open(withKernel({ file: 'shaders/absent.wgsl' })), { code: 'IO' });
await assert.rejects(open(model, { weights: new Uint8Array(1887) }), /weights of model 'net': 1887 bytes, expected 1888/);
await assert.rejects(open(model, { weights: new Uint8Array(1889) }), /longer than the 1888 bytes/);
await assert.rejects(open(model, { weights: './absent.bin' }), { code: 'IO' });

const inputs = (n) => ({ x: { data: new Float32Array(n * 16).fill(1), dims: [n, 16] }, turns: { data: BigInt64Array.of(1n), dims: [1] } });
const session = await create({ gpu });
const [first, second] = await Promise.allSettled([session.run(inputs(3)), session.run(inputs(3))]);
assert.equal(first.status, 'fulfilled');
assert.equal(second.reason.code, 'BUSY');
const again = await session.run(inputs(3));
assert.deepEqual(again.y.data, first.value.y.data);
const groups = session.groups.size;
await session.run(inputs(3));
assert.equal(session.groups.size, groups); // bind groups are made once for equal sizes

// Two sessions of one model at the same time, from a device of the caller.
const device = await (await gpu.requestAdapter()).requestDevice();
const others = await Promise.all([create({ device }), create({ device })]);
const results = await Promise.all(others.map((other) => other.run(inputs(3))));
for (const result of results) assert.deepEqual(result.y.data, first.value.y.data);
others.forEach((other) => other.destroy());
await assert.rejects(others[0].run(inputs(3)), { code: 'NO_DEVICE', message: 'the session was destroyed' });

// Faults of an emitter: the text comes from here or from Dawn, and the next run is good.
const broken = async (program) => {
  const s = await open({ ...model, program });
  const error = await s.run(inputs(3)).then(() => null, (e) => e);
  s.model = model;
  assert.deepEqual((await s.run(inputs(3))).y.data, first.value.y.data);
  s.destroy();
  return error;
};
let error = await broken(async (run) => run.arena(0, 1 << 20, 16));
assert.match(error.message, /lie outside of 'arena 0'/);
error = await broken(async (run) => run.dispatch(2, [run.arena(1, 0, 4)], [], 70000));
assert.match(error.message, /kernel 'twice' needs 70000 x 1 x 1 workgroups, the device has 65535/);
error = await broken(async (run) => run.dispatch(1, [run.arena(0, 0, 4), run.arena(0, 0, 4)], [1, 2], 1));
assert.equal(error.code, 'RUN_ERROR'); // one range written through two bindings
error = await broken(async () => {});
assert.match(error.message, /never wrote output 'y'/);
session.destroy();
console.log('ok');
process.exit(0);
