// SPDX-License-Identifier: Apache-2.0
//
// WebGPU in Node, for tests and `ortc run`/`verify`: the npm package `webgpu` (Dawn) and a Vulkan driver that it accepts.
// The package is looked for where Node looks, then in ORTC_NODE_MODULES, then in the .deps folders of scripts/setup above
// this file. The driver: what VK_ICD_FILENAMES says, else what the system has, else lavapipe of .deps, else SwiftShader
// of Debian's chromium.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Ends the program as the tools of ortc do: 3 is a tool or a device that is missing. */
export function giveUp(status, message) {
  process.stderr.write(`${message}\n`);
  process.exit(status);
}

function* above(folder) {
  for (; ; folder = dirname(folder)) {
    yield folder;
    if (folder === dirname(folder)) return;
  }
}

function depsFolders() {
  const here = dirname(fileURLToPath(import.meta.url));
  return [process.env.ORTC_DEPS, ...[...above(here)].map((folder) => join(folder, '.deps'))].filter(Boolean);
}

/** The module of an npm package. */
export async function loadPackage(name, entry) {
  const folders = [process.env.ORTC_NODE_MODULES, ...depsFolders().map((deps) => join(deps, 'node', 'node_modules'))];
  try {
    return await import(name);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  }
  for (const folder of folders) {
    const file = folder && join(folder, name, entry);
    if (file && existsSync(file)) return import(pathToFileURL(file));
  }
  return giveUp(3, `error: the npm package '${name}' is not installed; scripts/setup does it, or set ORTC_NODE_MODULES`);
}

async function dawn() {
  const module = await loadPackage('webgpu', 'index.js');
  Object.assign(globalThis, module.globals);
  // The Vulkan loader complains without one.
  process.env.XDG_RUNTIME_DIR ??= tmpdir();
  return module;
}

// Dawn ends with the object that `create` made, whatever is still in use; so none is given to the garbage collector.
const opened = [];
const open = (module, flags) => {
  const gpu = module.create(flags);
  opened.push(gpu);
  return gpu;
};

/** A GPU that only checks: all of WGSL's rules, no driver. */
export async function nullGpu() {
  return open(await dawn(), ['backend=null']);
}

/** A GPU that runs, or null. */
export async function openGpu() {
  const module = await dawn();
  const flags = ['backend=vulkan'];
  const usable = async () => {
    const gpu = open(module, flags);
    return (await gpu.requestAdapter()) ? gpu : null;
  };
  const first = await usable();
  if (first || process.env.VK_ICD_FILENAMES) return first;
  const drivers = [...depsFolders().map((deps) => join(deps, 'lvp25.json')), '/usr/lib/chromium/vk_swiftshader_icd.json'];
  for (const driver of drivers) {
    if (!existsSync(driver)) continue;
    process.env.VK_ICD_FILENAMES = driver;
    const gpu = await usable();
    if (gpu) return gpu;
  }
  delete process.env.VK_ICD_FILENAMES;
  return null;
}
