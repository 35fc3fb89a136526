// SPDX-License-Identifier: 0BSD
//
// From a page or a Node program to a GPUDevice, pipelines and weights on it. Everything that a machine may lack is found
// here, before the first run, and said with the number it has and the number that is needed.
import { OrtcError, roundUp } from './tensors.mjs';

export const USAGE = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 };
const STAGE_COMPUTE = 4;
const PIECE = 4 << 20; // weights travel in pieces of this size
const DEFAULT_LIMITS = {
  maxStorageBufferBindingSize: 128 << 20,
  maxBufferSize: 256 << 20,
  maxStorageBuffersPerShaderStage: 8,
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
};

/** The limits a model needs: what its emitter says, and what follows from the sizes of its buffers and kernels. */
export function neededLimits(model, arena) {
  const limits = { ...(model.needs?.limits ?? {}) };
  const atLeast = (name, value) => {
    limits[name] = Math.max(limits[name] ?? 0, value);
  };
  for (const segment of model.weights?.segments ?? []) {
    atLeast('maxStorageBufferBindingSize', segment.bytes);
    atLeast('maxBufferSize', segment.bytes);
  }
  for (const bytes of arena) { // each is bound as a whole
    atLeast('maxStorageBufferBindingSize', bytes);
    atLeast('maxBufferSize', bytes);
  }
  for (const kernel of model.kernels) atLeast('maxStorageBuffersPerShaderStage', kernel.access.length);
  return limits;
}

/** The caller's device, or one of the caller's `gpu`, or one of the browser's. */
export async function openDevice(model, options, arena) {
  const needed = neededLimits(model, arena);
  const features = model.needs?.features ?? [];
  const check = (what, has) => {
    for (const feature of features) {
      if (!has.features.has(feature)) {
        throw new OrtcError('NO_DEVICE', `the ${what} has no '${feature}', which model '${model.name}' needs`);
      }
    }
    for (const [name, value] of Object.entries(needed)) {
      if (has.limits[name] < value) {
        throw new OrtcError('NO_DEVICE', `the ${what} has ${name} ${has.limits[name]}, model '${model.name}' needs ${value}`);
      }
    }
  };
  if (options.device) {
    check('device', options.device);
    return options.device;
  }
  const gpu = options.gpu ?? globalThis.navigator?.gpu;
  if (!gpu) throw new OrtcError('NO_DEVICE', 'there is no WebGPU here (navigator.gpu is missing)');
  const adapter = await gpu.requestAdapter({ powerPreference: options.powerPreference ?? 'high-performance' });
  if (!adapter) throw new OrtcError('NO_DEVICE', 'WebGPU offers no adapter');
  check('adapter', adapter);
  // Only what exceeds the defaults is asked for: a device with raised limits may be slower.
  const requiredLimits = Object.fromEntries(
    Object.entries(needed).filter(([name, value]) => value > (DEFAULT_LIMITS[name] ?? Infinity)),
  );
  for (const [name, value] of Object.entries(model.needs?.limits ?? {})) {
    if (!(name in DEFAULT_LIMITS)) requiredLimits[name] = value;
  }
  try {
    return await adapter.requestDevice({ label: model.name, requiredFeatures: features, requiredLimits });
  } catch (error) {
    throw new OrtcError('NO_DEVICE', `requestDevice: ${error.message}`);
  }
}

/** A buffer, or an error that says how large it was to be. */
export async function createBuffer(device, label, bytes, usage) {
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  const buffer = device.createBuffer({ label, size: Math.max(16, roundUp(bytes, 4)), usage });
  const wrong = (await device.popErrorScope()) ?? (await device.popErrorScope());
  if (wrong) throw new OrtcError('OUT_OF_MEMORY', `${bytes} bytes for the ${label}: ${wrong.message}`);
  return buffer;
}

/** Reads a file of the bundle as pieces: over HTTP in a page, from the disk in Node. */
async function* readFile(url) {
  if (url.protocol === 'file:') {
    const { createReadStream } = await import('node:fs');
    yield* createReadStream(url, { highWaterMark: PIECE });
    return;
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function* pieces(source, base) {
  if (source instanceof ArrayBuffer) yield new Uint8Array(source);
  else if (ArrayBuffer.isView(source)) yield new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  else if (source?.[Symbol.asyncIterator]) yield* source;
  else yield* readFile(new URL(source, base));
}

/** One buffer for each segment of the weights file; the planner cut it so that no binding exceeds 128 MiB. */
export async function uploadWeights(device, model, options) {
  const weights = model.weights;
  if (!weights || weights.segments.length === 0) return [];
  const buffers = [];
  for (const [i, segment] of weights.segments.entries()) {
    buffers.push(await createBuffer(device, `weights ${i}`, segment.bytes, USAGE.STORAGE | USAGE.COPY_DST | USAGE.COPY_SRC));
  }
  const io = (message) => new OrtcError('IO', `weights of model '${model.name}': ${message}`);
  const total = weights.bytes;
  const block = new Uint8Array(Math.min(PIECE, roundUp(total, 4)));
  let filled = 0; // bytes in block
  let at = 0; // position of block in the file
  const flush = () => {
    weights.segments.forEach((segment, i) => {
      const from = Math.max(at, segment.offset);
      const to = Math.min(at + filled, segment.offset + segment.bytes);
      if (from < to) device.queue.writeBuffer(buffers[i], from - segment.offset, block, from - at, roundUp(to - from, 4));
    });
    at += filled;
    filled = 0;
  };
  try {
    for await (const piece of pieces(options.weights ?? weights.file, options.base)) {
      if (at + filled + piece.length > total) throw io(`longer than the ${total} bytes that the model says`);
      for (let done = 0; done < piece.length; ) {
        const count = Math.min(piece.length - done, block.length - filled);
        block.set(piece.subarray(done, done + count), filled);
        filled += count;
        done += count;
        if (filled === block.length) flush();
      }
    }
  } catch (error) {
    throw error instanceof OrtcError ? error : io(error.message);
  }
  block.fill(0, filled);
  flush();
  if (at !== total) throw io(`${at} bytes, expected ${total}`);
  return buffers;
}

async function kernelCode(kernel, base) {
  if (kernel.code !== undefined) return kernel.code;
  try {
    const chunks = [];
    for await (const chunk of readFile(new URL(kernel.file, base))) chunks.push(chunk);
    return await new Blob(chunks).text();
  } catch (error) {
    throw new OrtcError('IO', `kernel '${kernel.name}': ${error.message}`);
  }
}

/**
 * Pipelines of all kernels, compiled side by side: @group(0), storage buffers at bindings 0.., then, when the kernel
 * takes scalars, one uniform block at a dynamic offset. Returns [{pipeline, layout, uniformBytes}].
 */
export async function createPipelines(device, model, base) {
  return Promise.all(
    model.kernels.map(async (kernel) => {
      const entries = kernel.access.map((access, binding) => ({
        binding,
        visibility: STAGE_COMPUTE,
        buffer: { type: access === 'r' ? 'read-only-storage' : 'storage' },
      }));
      const uniformBytes = roundUp(4 * (kernel.scalars ?? '').length, 16);
      if (uniformBytes) {
        entries.push({
          binding: entries.length,
          visibility: STAGE_COMPUTE,
          buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: uniformBytes },
        });
      }
      const code = await kernelCode(kernel, base);
      device.pushErrorScope('validation');
      const layout = device.createBindGroupLayout({ label: kernel.name, entries });
      const module = device.createShaderModule({ label: kernel.name, code });
      const scope = device.popErrorScope();
      try {
        const pipeline = await device.createComputePipelineAsync({
          label: kernel.name,
          layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
          compute: { module, entryPoint: kernel.entry ?? 'main' },
        });
        const wrong = await scope;
        if (wrong) throw new Error(wrong.message);
        return { pipeline, layout, uniformBytes };
      } catch (error) {
        await scope.catch(() => null);
        const info = await module.getCompilationInfo();
        const first = info.messages.find((message) => message.type === 'error');
        const where = first ? `${first.lineNum}:${first.linePos}: ${first.message}` : error.message;
        throw new OrtcError('NO_DEVICE', `kernel '${kernel.name}' does not compile here: ${where}`);
      }
    }),
  );
}
