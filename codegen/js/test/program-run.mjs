// SPDX-License-Identifier: Apache-2.0
// node program-run.mjs FOLDER: runs the bundle of program.mlir on Dawn: the output has a row per positive x * scale, at
// most 64.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openGpu } from '../../../targets/webgpu/tools/dawn.mjs';

const gpu = await openGpu();
if (!gpu) {
  console.error('no Vulkan driver that Dawn accepts');
  process.exit(3);
}
const { create } = await import(pathToFileURL(join(process.argv[2], 'net.mjs')));
const weights = new Float32Array(256);
for (let i = 0; i < 128; ++i) weights[64 + i] = i % 2 ? 1 : -1; // the scale begins at byte 256
const session = await create({ gpu, weights });
let wrong = 0;
for (const [batch, positive] of [[1, 5], [3, 40], [2, 100]]) {
  const x = new Float32Array(batch * 128);
  // x * scale > 0 for `positive` elements, negative for the others
  for (let i = 0; i < x.length; ++i) x[i] = (i < positive ? 1 : -1) * (i % 2 ? 1 : -1) * (1 + i);
  const { y } = await session.run({ x: { data: x, dims: [batch, 128] } });
  const rows = Math.min(positive, 64);
  if (y.dims[0] !== rows || y.dims[1] !== 2 || y.data.length !== rows * 2 || y.data.some((v) => v !== 2.5)) {
    console.error(`batch ${batch}: expected ${rows} rows of 2.5, got [${y.dims}]: ${y.data}`);
    ++wrong;
  }
}
process.exit(wrong ? 1 : 0);
