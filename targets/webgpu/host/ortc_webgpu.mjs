// SPDX-License-Identifier: 0BSD
//
// The WebGPU side of a bundle: keeps weights, arena and pipelines on a device and plays the host program of a run. The
// module of a bundle describes the model and calls createSession:
//
//   const K_FC1 = 0;
//   export const model = {
//     name: 'net',
//     inputs: [{ name: 'x', dtype: 'float32', shape: ['batch', 784] }],
//     outputs: [{ name: 'y', dtype: 'float32', shape: ['batch', 10] }],
//     dims: [{ name: 'batch', min: 1, max: 32 }],
//     kernels: [{ name: 'fc1', file: 'shaders/fc1.wgsl', access: ['rw', 'r', 'rw'], scalars: 'u' }],
//     weights: { file: 'weights/net.bin', bytes: 31360, segments: [{ offset: 0, bytes: 31360 }] },
//     arena: ({ batch }) => [batch * 3200],
//     async program(run, { batch }) {
//       run.input(0, run.arena(0, 0, batch * 3136));
//       run.dispatch(K_FC1, [run.arena(0, 0, batch * 3136), run.weights(0, 0, 31360), run.arena(0, …)], [batch], 1, batch);
//       run.output(0, run.arena(0, …), [batch, 10]);
//     },
//   };
//   export const create = (options) => createSession(model, { base: import.meta.url, ...options });
//
// Buffers are made at create and grow when a run has larger sizes than any before. Nothing leaves the machine: the only
// files that are read are those of the bundle.
import { createBuffer, createPipelines, openDevice, uploadWeights, USAGE } from './device.mjs';
import { arrayLength, arrayType, bindInputs, fromStorage, OrtcError, roundUp, toStorage } from './tensors.mjs';

export { OrtcError } from './tensors.mjs';

const SLOTS = 512; // dispatches with scalars per submit
const MAX_GROUPS_CACHED = 4096;

/**
 * Opens a model. Options: `device` or `gpu` (a GPU object, as Node has it) instead of the browser's; `weights` (bytes or
 * a URL) instead of the bundle's file; `dims` (sizes to reserve for); `base` (URL of the bundle).
 */
export async function createSession(model, options = {}) {
  const dims = options.dims ?? Object.fromEntries((model.dims ?? []).map((dim) => [dim.name, Math.max(dim.min ?? 1, 1)]));
  const device = await openDevice(model, options, model.arena(dims));
  const session = new Session(model, device, !options.device);
  try {
    [session.pipelines, session.weightBuffers] = await Promise.all([
      createPipelines(device, model, options.base),
      uploadWeights(device, model, options),
    ]);
    const align = (bytes) => roundUp(bytes, device.limits.minUniformBufferOffsetAlignment);
    session.slotBytes = align(Math.max(16, ...session.pipelines.map((pipeline) => pipeline.uniformBytes)));
    session.slots = new DataView(new ArrayBuffer(session.slotBytes * SLOTS));
    session.uniforms = await createBuffer(device, 'scalars', session.slotBytes * SLOTS, USAGE.UNIFORM | USAGE.COPY_DST);
    await session.reserve(dims);
  } catch (error) {
    session.destroy();
    throw error;
  }
  return session;
}

class Session {
  constructor(model, device, ownsDevice) {
    this.model = model;
    this.device = device;
    this.ownsDevice = ownsDevice;
    this.arenaBuffers = [];
    this.weightBuffers = [];
    this.groups = new Map(); // bind groups by kernel and ranges: a run with the sizes of an earlier one makes none
    this.busy = false;
    this.lost = null;
    device.lost?.then((info) => {
      this.lost ??= `the device was lost: ${info.message || info.reason}`;
    });
  }

  /** Grows the arena so that runs with dims up to these need no more. */
  async reserve(dims) {
    const sizes = this.model.arena(dims);
    for (const [i, bytes] of sizes.entries()) {
      const old = this.arenaBuffers[i];
      if (old && old.size >= bytes) continue;
      const most = Math.min(this.device.limits.maxStorageBufferBindingSize, this.device.limits.maxBufferSize);
      if (bytes > most) {
        const sizes = Object.entries(dims).map(([name, size]) => `${name} = ${size}`).join(', ');
        throw new OrtcError('OUT_OF_MEMORY', `a run with ${sizes || 'these inputs'} needs a buffer of ${bytes} bytes, ` +
          `and the device was opened for ${most}; say the largest sizes in the option 'dims' of create`);
      }
      this.groups.clear();
      old?.destroy();
      delete this.arenaBuffers[i]; // if the next line fails, there is none
      const usage = USAGE.STORAGE | USAGE.COPY_DST | USAGE.COPY_SRC;
      this.arenaBuffers[i] = await createBuffer(this.device, `arena ${i}`, bytes, usage);
    }
  }

  /** Runs the model on {name: {data, dims}} and resolves to {name: {data, dims, dtype}}. */
  async run(inputs) {
    if (this.lost) throw new OrtcError('NO_DEVICE', this.lost);
    if (this.busy) throw new OrtcError('BUSY', 'this session is in use; a second one may run at the same time');
    this.busy = true;
    this.device.pushErrorScope('validation');
    let scope = null;
    try {
      const { tensors, dims } = bindInputs(this.model, inputs);
      await this.reserve(dims);
      const run = new Run(this, tensors);
      await this.model.program(run, dims);
      const outputs = await run.finish();
      scope = this.device.popErrorScope();
      const wrong = await scope;
      if (wrong) throw new OrtcError('RUN_ERROR', wrong.message);
      return outputs;
    } catch (error) {
      if (error instanceof OrtcError) throw error;
      throw new OrtcError(this.lost ? 'NO_DEVICE' : 'RUN_ERROR', this.lost ?? error.message);
    } finally {
      if (!scope) await this.device.popErrorScope().catch(() => null);
      this.busy = false;
    }
  }

  destroy() {
    this.lost ??= 'the session was destroyed';
    for (const buffer of [...this.arenaBuffers, ...this.weightBuffers, this.uniforms, this.staging]) buffer?.destroy();
    this.groups.clear();
    if (this.ownsDevice) this.device.destroy();
  }

  bindGroup(kernel, ranges) {
    const key = `${kernel}:${ranges.map((r) => `${r.label},${r.offset},${r.size}`).join(';')}`;
    let group = this.groups.get(key);
    if (group) return group;
    const { layout, uniformBytes } = this.pipelines[kernel];
    const entries = ranges.map((range, binding) => ({
      binding,
      resource: { buffer: range.buffer, offset: range.offset, size: range.size },
    }));
    if (uniformBytes) {
      entries.push({ binding: entries.length, resource: { buffer: this.uniforms, offset: 0, size: uniformBytes } });
    }
    group = this.device.createBindGroup({ label: this.model.kernels[kernel].name, layout, entries });
    if (this.groups.size >= MAX_GROUPS_CACHED) this.groups.clear();
    this.groups.set(key, group);
    return group;
  }
}

/** What a program calls. Commands are recorded, and handed over when the program needs a result or the run ends. */
class Run {
  constructor(session, tensors) {
    this.session = session;
    this.device = session.device;
    this.tensors = tensors;
    this.encoder = null;
    this.pass = null;
    this.slot = 0;
    this.outputs = [];
  }

  arena(index, offset, size) {
    return this.range(this.session.arenaBuffers[index], `arena ${index}`, offset, size);
  }

  weights(segment, offset, size) {
    return this.range(this.session.weightBuffers[segment], `weights ${segment}`, offset, size);
  }

  range(buffer, label, offset, size) {
    const padded = Math.max(4, roundUp(size, 4));
    if (!buffer || offset + padded > buffer.size) {
      throw new OrtcError('RUN_ERROR', `bytes ${offset} to ${offset + size} lie outside of '${label}' (${buffer?.size ?? 0})`);
    }
    return { buffer, label, offset, size: padded, bytes: size };
  }

  /** Was optional input `index` given? */
  has(index) {
    return this.tensors[index] !== null;
  }

  /** The caller's data of input `index`, for host steps. */
  inputData(index) {
    return this.tensors[index].data;
  }

  inputDims(index) {
    return this.tensors[index].dims;
  }

  /** Copies input `index` to the device. */
  input(index, range) {
    this.upload(range, toStorage(this.session.model.inputs[index], this.tensors[index].data));
  }

  upload(range, data) {
    if (data.byteLength > range.size) {
      throw new OrtcError('RUN_ERROR', `${data.byteLength} bytes do not fit into ${range.size} of '${range.label}'`);
    }
    // writeBuffer takes effect at once, recorded commands at their submit: those recorded so far come first.
    this.submit();
    if (data.byteLength % 4 === 0) {
      this.device.queue.writeBuffer(range.buffer, range.offset, data.buffer, data.byteOffset, data.byteLength);
    } else {
      const padded = new Uint8Array(roundUp(data.byteLength, 4));
      padded.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      this.device.queue.writeBuffer(range.buffer, range.offset, padded);
    }
  }

  /** Launches a kernel on x * y * z workgroups; `scalars` are written as the kernel's letters say (u, i, f). */
  dispatch(kernel, ranges, scalars, x, y = 1, z = 1) {
    if (x === 0 || y === 0 || z === 0) return;
    const { name, scalars: letters = '', access } = this.session.model.kernels[kernel];
    if (ranges.length !== access.length || scalars.length !== letters.length) {
      throw new OrtcError('RUN_ERROR', `kernel '${name}' takes ${access.length} buffers and ${letters.length} scalars`);
    }
    const most = this.device.limits.maxComputeWorkgroupsPerDimension;
    if (x > most || y > most || z > most) {
      throw new OrtcError('RUN_ERROR', `kernel '${name}' needs ${x} x ${y} x ${z} workgroups, the device has ${most} each`);
    }
    if (letters && this.slot === SLOTS) this.submit();
    const group = this.session.bindGroup(kernel, ranges);
    this.encoder ??= this.device.createCommandEncoder();
    this.pass ??= this.encoder.beginComputePass();
    this.pass.setPipeline(this.session.pipelines[kernel].pipeline);
    if (letters) {
      const at = this.slot++ * this.session.slotBytes;
      const view = this.session.slots;
      for (let i = 0; i < letters.length; ++i) {
        if (letters[i] === 'f') view.setFloat32(at + 4 * i, scalars[i], true);
        else if (letters[i] === 'i') view.setInt32(at + 4 * i, scalars[i], true);
        else view.setUint32(at + 4 * i, scalars[i], true);
      }
      this.pass.setBindGroup(0, group, [at]);
    } else {
      this.pass.setBindGroup(0, group);
    }
    this.pass.dispatchWorkgroups(x, y, z);
  }

  commands() {
    this.pass?.end();
    this.pass = null;
    return (this.encoder ??= this.device.createCommandEncoder());
  }

  copy(to, from) {
    const encoder = this.commands();
    if (to.buffer !== from.buffer) {
      encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.size);
      return;
    }
    // WebGPU copies within one buffer not at all: take the way over a buffer of its own.
    const usage = USAGE.COPY_SRC | USAGE.COPY_DST;
    const between = this.device.createBuffer({ label: 'copy', size: from.size, usage });
    encoder.copyBufferToBuffer(from.buffer, from.offset, between, 0, from.size);
    encoder.copyBufferToBuffer(between, 0, to.buffer, to.offset, from.size);
    this.submit();
    between.destroy(); // takes effect when the commands are done
  }

  /** Sets a range to zero. */
  clear(range) {
    this.commands().clearBuffer(range.buffer, range.offset, range.size);
  }

  /** Hands over what is recorded, without waiting. */
  submit() {
    if (!this.encoder) return;
    this.pass?.end();
    if (this.slot) {
      this.device.queue.writeBuffer(this.session.uniforms, 0, this.session.slots.buffer, 0, this.slot * this.session.slotBytes);
    }
    this.device.queue.submit([this.encoder.finish()]);
    this.encoder = this.pass = null;
    this.slot = 0;
  }

  /** Reads ranges back, for a program whose way depends on them: one array of `type` for each. Waits for the device. */
  async read(ranges, type = Int32Array) {
    const copies = await this.readBytes(ranges);
    return copies.map((bytes) => new type(bytes));
  }

  /** Output `index` lies in `range` and has `dims`; fetched when the run ends, so nothing may overwrite it. */
  output(index, range, dims) {
    this.outputs[index] = { range, dims };
  }

  fail(message) {
    throw new OrtcError('RUN_ERROR', message);
  }

  async readBytes(ranges) {
    const session = this.session;
    const total = ranges.reduce((sum, range) => sum + roundUp(range.size, 8), 0);
    if (total === 0) return [];
    if (!session.staging || session.staging.size < total) {
      session.staging?.destroy();
      session.staging = null;
      session.staging = await createBuffer(this.device, 'read-back', total, USAGE.MAP_READ | USAGE.COPY_DST);
    }
    const encoder = this.commands();
    let at = 0;
    for (const range of ranges) {
      encoder.copyBufferToBuffer(range.buffer, range.offset, session.staging, at, range.size);
      at += roundUp(range.size, 8);
    }
    this.submit();
    await session.staging.mapAsync(1 /* READ */, 0, total);
    const mapped = session.staging.getMappedRange(0, total);
    at = 0;
    const copies = ranges.map((range) => {
      const copy = mapped.slice(at, at + range.bytes);
      at += roundUp(range.size, 8);
      return copy;
    });
    session.staging.unmap();
    return copies;
  }

  async finish() {
    const ios = this.session.model.outputs;
    const sets = ios.map((io, i) => {
      const set = this.outputs[i];
      if (!set && !io.optional) throw new OrtcError('RUN_ERROR', `the program never wrote output '${io.name}'`);
      return set;
    });
    const present = sets.map((set, i) => ({ set, io: ios[i] })).filter(({ set }) => set);
    const storage = (io) => io.storage ?? io.dtype;
    const wanted = present.map(({ set, io }) => {
      const bytes = arrayLength(storage(io), set.dims) * arrayType(storage(io)).BYTES_PER_ELEMENT;
      if (bytes > set.range.size) {
        throw new OrtcError('RUN_ERROR', `output '${io.name}' of shape [${set.dims}] has ${bytes} bytes, its place ${set.range.size}`);
      }
      return { ...set.range, size: roundUp(bytes, 4), bytes };
    });
    const copies = await this.readBytes(wanted.filter((range) => range.bytes > 0));
    let next = 0;
    return Object.fromEntries(
      present.map(({ set, io }, i) => {
        const bytes = wanted[i].bytes > 0 ? copies[next++] : new ArrayBuffer(0);
        const data = fromStorage(io, new (arrayType(storage(io)))(bytes));
        return [io.name, { data, dims: [...set.dims], dtype: io.dtype }];
      }),
    );
  }
}
