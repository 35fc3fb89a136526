// SPDX-License-Identifier: Apache-2.0
//
// Checks WGSL with Tint and builds a pipeline of every entry point, without any GPU.
//
//   node validate_wgsl.mjs FILE.wgsl...      (or file names on standard input, when the only argument is -)
//
// One line for each fault, `file:line:column: error: message`, and a last line `N files, N faults`.
// Exit: 0 all are good; 1 some are not; 2 usage; 3 no Dawn.
import { readFileSync } from 'node:fs';

import { giveUp, nullGpu } from './dawn.mjs';

let files = process.argv.slice(2);
if (files.length === 0) giveUp(2, 'usage: node validate_wgsl.mjs FILE.wgsl...');
if (files.length === 1 && files[0] === '-') files = readFileSync(0, 'utf8').split('\n').filter(Boolean);

const adapter = await (await nullGpu()).requestAdapter();
const device = await adapter.requestDevice({
  requiredFeatures: ['shader-f16', 'subgroups'].filter((feature) => adapter.features.has(feature)),
});
let faults = 0;
for (const file of files) {
  const code = readFileSync(file, 'utf8');
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const info = await module.getCompilationInfo();
  const wrong = await device.popErrorScope();
  const errors = info.messages.filter((message) => message.type === 'error');
  for (const message of errors) {
    console.log(`${file}:${message.lineNum}:${message.linePos}: error: ${message.message}`);
  }
  faults += errors.length;
  if (errors.length > 0 || wrong) {
    if (errors.length === 0) {
      console.log(`${file}:1:1: error: ${wrong.message}`);
      ++faults;
    }
    continue;
  }
  const entries = [...code.matchAll(/@compute[^{;]*?\bfn\s+([A-Za-z_]\w*)/g)].map((match) => match[1]);
  if (entries.length === 0) {
    console.log(`${file}:1:1: error: there is no compute entry point`);
    ++faults;
  }
  for (const entryPoint of entries) {
    device.pushErrorScope('validation');
    device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint } });
    const error = await device.popErrorScope();
    if (!error) continue;
    console.log(`${file}:1:1: error: entry point '${entryPoint}': ${error.message.split('\n')[0]}`);
    ++faults;
  }
}
console.log(`${files.length} files, ${faults} faults`);
process.exit(faults ? 1 : 0);
