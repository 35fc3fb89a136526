// SPDX-License-Identifier: Apache-2.0
//
// A bundle by hand, in the shape of an emitted one: y = relu(x w + b), then 2 * turns times y = y / 2 + shift, where the
// number of turns is computed on the device and read back. Weights in two segments, an optional int64 input that the
// device keeps in 32 bits, an output whose size the run computes.
import { createSession } from './runtime/ortc_webgpu.mjs';

const PRODUCT = 0, SCALE = 1, TWICE = 2;
const DEPTH = 16, COLS = 24;

export const model = {
  name: 'net',
  inputs: [
    { name: 'x', dtype: 'float32', shape: ['n', DEPTH] },
    { name: 'turns', dtype: 'int64', storage: 'int32', shape: [1] },
    { name: 'shift', dtype: 'int64', storage: 'int32', shape: [1], optional: true },
  ],
  outputs: [
    { name: 'y', dtype: 'float32', shape: ['n', COLS] },
    { name: 'count', dtype: 'int64', storage: 'int32', shape: [] },
    { name: 'head', dtype: 'float32', shape: [null] },
    { name: 'flags', dtype: 'bool', shape: [3] },
  ],
  dims: [{ name: 'n', min: 1, max: 100 }],
  kernels: [
    { name: 'product', file: 'shaders/product.wgsl', access: ['rw', 'r', 'r', 'rw'], scalars: 'uuu' },
    { name: 'scale', file: 'shaders/scale.wgsl', access: ['rw', 'rw'], scalars: 'uf' },
    { name: 'twice', file: 'shaders/twice.wgsl', access: ['rw'] },
  ],
  weights: { file: 'weights.bin', bytes: 1888, segments: [{ offset: 0, bytes: 1536 }, { offset: 1792, bytes: 96 }] },
  // A buffer for inputs, one for the rest.
  arena: ({ n }) => [n * DEPTH * 4, 512 + n * COLS * 4],
  async program(run, { n }) {
    const x = run.arena(0, 0, n * DEPTH * 4);
    const turns = run.arena(1, 0, 4), shift = run.arena(1, 256, 4), y = run.arena(1, 512, n * COLS * 4);
    run.input(0, x);
    run.input(1, turns);
    if (run.has(2)) run.input(2, shift);
    else run.clear(shift);
    run.dispatch(PRODUCT, [x, run.weights(0, 0, 1536), run.weights(1, 0, 96), y], [n, COLS, DEPTH], 3, Math.ceil(n / 8));
    run.dispatch(TWICE, [turns], [], 1);
    const [[count]] = await run.read([turns]);
    if (count > n * COLS) run.fail(`'turns' is ${count / 2}, there are only ${n * COLS} elements`);
    for (let i = 0; i < count; ++i) {
      run.dispatch(SCALE, [y, shift], [n * COLS, 0.5], Math.ceil((n * COLS) / 64));
    }
    run.copy(run.arena(0, 0, 4), turns);
    run.output(0, y, [n, COLS]);
    run.output(1, run.arena(0, 0, 4), []);
    run.output(2, run.arena(1, 512, count * 4), [count]);
    run.output(3, run.arena(0, 0, 3), [3]);
  },
};
export const create = (options) => createSession(model, { base: import.meta.url, ...options });
