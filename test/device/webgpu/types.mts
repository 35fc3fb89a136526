// SPDX-License-Identifier: Apache-2.0
// What TypeScript must take and refuse of a bundle's types; run copies it beside the demo's bundle.
import { create, model } from './orientation/orientation.mjs';
import { OrtcError } from './orientation/runtime/ortc_webgpu.mjs';

const session = await create({ powerPreference: 'low-power' });
const pixels = new Float32Array(3 * 48 * 192);
const plain = await session.run({ x: pixels });
const withSizes = await session.run({ x: { data: pixels, dims: [1, 3, 48, 192] } });
const scores: Float32Array = plain['softmax_0.tmp_0'].data;
const sizes: number[] = withSizes['softmax_0.tmp_0'].dims;
const names: string[] = model.inputs.map((io) => io.name);
console.log(scores, sizes, names);
try {
  await session.reserve({});
} catch (error) {
  if (error instanceof OrtcError && error.code === 'OUT_OF_MEMORY') session.destroy();
}

// @ts-expect-error: there is no input of this name
await session.run({ image: pixels });
// @ts-expect-error: another type of array
await session.run({ x: new Float64Array(pixels.length) });
// @ts-expect-error: there is no output of this name
plain.scores.data;
// @ts-expect-error: no status of the C interface
if (new OrtcError('BUSY', '').code === 'TIRED') session.destroy();
