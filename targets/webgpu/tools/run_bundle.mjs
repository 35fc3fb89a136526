// SPDX-License-Identifier: Apache-2.0
//
// Runs a WebGPU bundle in Node on inputs from files: what `ortc run` and `ortc verify --target=webgpu` start.
//
//   node run_bundle.mjs BUNDLE.mjs REQUEST.json [RESPONSE.json]
//
// REQUEST.json, paths relative to its folder, data raw and little-endian:
//   {"runs": [{"inputs": [{"name": "x", "dims": [1, 784], "file": "x.bin"}], "out": "run_0_"}]}
// An absent optional input is left out. Output J of a run goes to `out` + J + ".bin".
// RESPONSE.json (standard output when not given):
//   {"adapter": {"vendor", "architecture", "description"},
//    "runs": [{"ms": 1.5, "outputs": [{"name": "y", "dtype": "float32", "dims": [1, 10], "file": "run_0_0.bin"}]}]}
// A run that fails has {"error": {"code": "INVALID_ARGUMENT", "message": "..."}} instead of outputs, and the next ones go on.
// When the model cannot be opened, the response is {"error": ...} alone.
// Exit: 0 a response was written; 2 usage; 3 no Dawn or no adapter.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { giveUp, openGpu } from './dawn.mjs';

const [bundleFile, requestFile, responseFile] = process.argv.slice(2);
if (!requestFile) giveUp(2, 'usage: node run_bundle.mjs BUNDLE.mjs REQUEST.json [RESPONSE.json]');

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, bfloat16: Uint16Array, int8: Int8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array, complex64: Float32Array, complex128: Float64Array,
}; // all others are bytes

const folder = dirname(resolve(requestFile));
const request = JSON.parse(readFileSync(requestFile, 'utf8'));
const errorOf = (error) => ({ code: error.code ?? 'RUN_ERROR', message: error.message });

function readInputs(model, run) {
  const types = Object.fromEntries(model.inputs.map((io) => [io.name, io.dtype]));
  return Object.fromEntries(
    run.inputs.map(({ name, dims, file }) => {
      const bytes = readFileSync(join(folder, file));
      const type = ARRAYS[types[name]] ?? Uint8Array;
      return [name, { data: new type(new Uint8Array(bytes).buffer), dims }];
    }),
  );
}

async function serve() {
  const gpu = await openGpu();
  if (!gpu) giveUp(3, 'error: WebGPU offers no adapter; set VK_ICD_FILENAMES to a Vulkan driver');
  const { vendor, architecture, description } = (await gpu.requestAdapter()).info;
  const response = { adapter: { vendor, architecture, description }, runs: [] };
  const { model, create } = await import(pathToFileURL(resolve(bundleFile)));
  let session;
  try {
    session = await create({ gpu });
  } catch (error) {
    return { error: errorOf(error) };
  }
  for (const run of request.runs) {
    try {
      const inputs = readInputs(model, run);
      const start = performance.now();
      const outputs = await session.run(inputs);
      const ms = performance.now() - start;
      const described = model.outputs.map((io, j) => {
        const output = outputs[io.name];
        if (!output) return null;
        const file = `${run.out}${j}.bin`;
        writeFileSync(join(folder, file), new Uint8Array(output.data.buffer, output.data.byteOffset, output.data.byteLength));
        return { name: io.name, dtype: output.dtype, dims: output.dims, file };
      });
      response.runs.push({ ms, outputs: described });
    } catch (error) {
      response.runs.push({ error: errorOf(error) });
    }
  }
  session.destroy();
  return response;
}

const text = `${JSON.stringify(await serve())}\n`;
if (responseFile) writeFileSync(responseFile, text);
else process.stdout.write(text);
process.exit(0); // Dawn's threads would keep the process
