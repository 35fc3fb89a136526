// SPDX-License-Identifier: Apache-2.0
// node battery.mjs KERNEL.wgsl DATA.json RESULTS: runs the kernel of battery.py on Dawn and writes its results.
import { readFileSync, writeFileSync } from 'node:fs';
import { openGpu } from '../../../targets/webgpu/tools/dawn.mjs';

const [shader, dataFile, resultFile] = process.argv.slice(2);
const data = JSON.parse(readFileSync(dataFile, 'utf8'));
const gpu = await openGpu();
const adapter = await gpu?.requestAdapter();
if (!adapter) {
  console.error('no Vulkan driver that Dawn accepts');
  process.exit(3);
}
const device = await adapter.requestDevice();
const code = readFileSync(shader, 'utf8');
device.pushErrorScope('validation');
const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module: device.createShaderModule({ code }), entryPoint: 'main' } });
const error = await device.popErrorScope();
if (error) {
  console.error(error.message);
  process.exit(1);
}
const storage = (words) => {
  const buffer = device.createBuffer({ size: words.byteLength, usage: 0x80 | 0x8 | 0x4 });
  device.queue.writeBuffer(buffer, 0, words);
  return buffer;
};
const n = data.n;
const buffers = [
  storage(Uint32Array.from(data.xf)), storage(Uint32Array.from(data.yf)), storage(Int32Array.from(data.xi)), storage(Int32Array.from(data.yi)),
  storage(new Float32Array(data.floats * n)), storage(new Int32Array(data.ints * n)),
];
const params = device.createBuffer({ size: 32, usage: 0x40 | 0x8 });
device.queue.writeBuffer(params, 0, Int32Array.from([0, 0, 0, 0, 0, 0, n, 0]));
const group = device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0),
  entries: [...buffers, params].map((buffer, binding) => ({ binding, resource: { buffer } })),
});
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, group);
pass.dispatchWorkgroups(1);
pass.end();
const bytes = [4 * data.floats * n, 4 * data.ints * n];
const back = device.createBuffer({ size: bytes[0] + bytes[1], usage: 0x1 | 0x8 });
encoder.copyBufferToBuffer(buffers[4], 0, back, 0, bytes[0]);
encoder.copyBufferToBuffer(buffers[5], 0, back, bytes[0], bytes[1]);
device.queue.submit([encoder.finish()]);
await back.mapAsync(1);
writeFileSync(resultFile, new Uint8Array(back.getMappedRange()));
process.exit(0);
