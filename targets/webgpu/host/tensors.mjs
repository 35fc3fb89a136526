// SPDX-License-Identifier: 0BSD
//
// What a caller hands to a model and gets back: typed arrays with sizes, checked against what the model says, and turned
// into the form that the kernels read (WGSL has no 8-, 16- or 64-bit types, so some models keep such values in 32 bits).

/** What went wrong: `code` is one of the statuses of the C interface, the message names the tensor and the sizes. */
export class OrtcError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'OrtcError';
    this.code = code;
  }
}

// The array that holds a type, and elements of the array per element of the tensor (4-bit values are packed by two).
const TYPES = {
  float32: [Float32Array, 1],
  float64: [Float64Array, 1],
  float16: [Uint16Array, 1],
  bfloat16: [Uint16Array, 1],
  int8: [Int8Array, 1],
  uint8: [Uint8Array, 1],
  int16: [Int16Array, 1],
  uint16: [Uint16Array, 1],
  int32: [Int32Array, 1],
  uint32: [Uint32Array, 1],
  int64: [BigInt64Array, 1],
  uint64: [BigUint64Array, 1],
  bool: [Uint8Array, 1],
  complex64: [Float32Array, 2],
  complex128: [Float64Array, 2],
  float8e4m3fn: [Uint8Array, 1],
  float8e4m3fnuz: [Uint8Array, 1],
  float8e5m2: [Uint8Array, 1],
  float8e5m2fnuz: [Uint8Array, 1],
  float8e8m0: [Uint8Array, 1],
  float4e2m1: [Uint8Array, 0.5],
  uint4: [Uint8Array, 0.5],
  int4: [Uint8Array, 0.5],
};

export function arrayType(dtype) {
  const type = TYPES[dtype];
  if (!type) throw new OrtcError('UNSUPPORTED', `there are no tensors of '${dtype}' on this target`);
  return type[0];
}

/** Elements of the array that holds a tensor of `dims`. */
export function arrayLength(dtype, dims) {
  arrayType(dtype);
  return Math.ceil(dims.reduce((product, dim) => product * dim, 1) * TYPES[dtype][1]);
}

export const elementCount = (dims) => dims.reduce((product, dim) => product * dim, 1);
export const roundUp = (value, step) => Math.ceil(value / step) * step;

const shapeText = (io) => `${io.dtype}[${io.shape.map((size) => (size === null ? '?' : size)).join(',')}]`;

/**
 * Checks the inputs of a run and binds the named dimensions. `inputs` is an object of {data, dims} or plain arrays by
 * name. Returns {tensors: in the model's order, null for an absent optional; dims: {name: size}}.
 */
export function bindInputs(model, inputs) {
  const dims = Object.create(null); // a dimension may be called `constructor`
  const known = new Set(model.inputs.map((io) => io.name));
  for (const name of Object.keys(inputs)) {
    if (!known.has(name)) {
      const names = [...known].map((n) => `'${n}'`).join(', ');
      throw new OrtcError('INVALID_ARGUMENT', `there is no input '${name}'; the inputs are ${names}`);
    }
  }
  const tensors = model.inputs.map((io) => {
    const given = inputs[io.name];
    if (given === undefined || given === null) {
      if (io.optional) return null;
      throw new OrtcError('INVALID_ARGUMENT', `input '${io.name}' (${shapeText(io)}) is missing`);
    }
    return bindInput(io, ArrayBuffer.isView(given) ? { data: given } : given, dims);
  });
  for (const dim of model.dims ?? []) checkDim(dim, dims);
  return { tensors, dims };
}

function bindInput(io, given, dims) {
  const wrong = (what) => new OrtcError('INVALID_ARGUMENT', `input '${io.name}' is ${what}, expected ${shapeText(io)}`);
  const type = arrayType(io.dtype);
  const half = io.dtype === 'float16' && typeof Float16Array !== 'undefined' && given.data instanceof Float16Array;
  if (!(given.data instanceof type) && !half) {
    throw wrong(`a ${given.data?.constructor?.name ?? typeof given.data}, not a ${type.name}`);
  }
  const sizes = given.dims ?? io.shape;
  if (sizes.length !== io.shape.length) throw wrong(`of rank ${sizes.length}`);
  if (sizes.some((size) => typeof size !== 'number')) throw wrong('without dims');
  io.shape.forEach((size, axis) => {
    if (size === null) return;
    const wanted = typeof size === 'string' ? (dims[size] ??= sizes[axis]) : size;
    if (sizes[axis] !== wanted) {
      const where = typeof size === 'string' ? `, where '${size}' is ${wanted}` : '';
      throw wrong(`of shape [${sizes}]${where}`);
    }
  });
  const length = arrayLength(io.dtype, sizes);
  if (given.data.length !== length) throw wrong(`${given.data.length} elements for shape [${sizes}]`);
  const data = half ? new Uint16Array(given.data.buffer, given.data.byteOffset, length) : given.data;
  return { data, dims: [...sizes] };
}

function checkDim(dim, dims) {
  const size = dims[dim.name];
  if (size === undefined) return;
  if (size < (dim.min ?? 0) || size > (dim.max ?? Infinity) || size % (dim.multipleOf ?? 1) !== 0) {
    const multiple = (dim.multipleOf ?? 1) > 1 ? `, a multiple of ${dim.multipleOf}` : '';
    throw new OrtcError(
      'INVALID_ARGUMENT',
      `dimension '${dim.name}' is ${size}, expected ${dim.min ?? 0} to ${dim.max ?? 'any'}${multiple}`,
    );
  }
}

// --- between the type of the interface and the form in a buffer ------------------------------------------------------

const bits = new DataView(new ArrayBuffer(4));

/** A 16-bit float as a number. */
export function fromHalf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** The nearest 16-bit float, ties to even. */
export function toHalf(value) {
  bits.setFloat32(0, value);
  const word = bits.getUint32(0);
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // rounds past 65504
  if (magnitude < 0x38800000) {
    // Below 2^-14: a multiple of 2^-24. The sum with 0.5 leaves just these bits, rounded.
    bits.setUint32(0, magnitude);
    const small = bits.getFloat32(0);
    bits.setFloat32(0, Math.fround(small + 0.5));
    return sign | (bits.getUint32(0) - 0x3f000000);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function toFloat(dtype, data) {
  if (dtype === 'float16') return Float32Array.from(data, fromHalf);
  if (dtype === 'bfloat16') {
    const words = new Uint32Array(data.length);
    for (let i = 0; i < data.length; ++i) words[i] = data[i] << 16;
    return new Float32Array(words.buffer);
  }
  return Float32Array.from(data);
}

function fromFloat(dtype, data) {
  if (dtype === 'float16') return Uint16Array.from(data, toHalf);
  if (dtype === 'bfloat16') {
    const words = new Uint32Array(data.buffer, data.byteOffset, data.length);
    return Uint16Array.from(words, (word) =>
      (word & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16,
    );
  }
  return Float64Array.from(data);
}

function narrow(name, data, type, low, high) {
  const out = new type(data.length);
  for (let i = 0; i < data.length; ++i) {
    if (data[i] < low || data[i] > high) {
      throw new OrtcError('RUN_ERROR', `'${name}' holds ${data[i]}, which this model cannot take (32 bits)`);
    }
    out[i] = Number(data[i]);
  }
  return out;
}

/** The form that a buffer holds, from the form of the interface: `storage` is 'int32', 'uint32' or 'float32'. */
export function toStorage(io, data) {
  if (!io.storage || io.storage === io.dtype) return data;
  if (io.storage === 'float32') return toFloat(io.dtype, data);
  if (io.storage === 'int32') return narrow(io.name, data, Int32Array, -(2 ** 31), 2 ** 31 - 1);
  if (io.storage === 'uint32') return narrow(io.name, data, Uint32Array, 0, 2 ** 32 - 1);
  throw new OrtcError('UNSUPPORTED', `'${io.name}' is stored as '${io.storage}'`);
}

/** The way back. */
export function fromStorage(io, data) {
  if (!io.storage || io.storage === io.dtype) return data;
  if (io.storage === 'float32') return fromFloat(io.dtype, data);
  const type = arrayType(io.dtype);
  return io.dtype === 'int64' || io.dtype === 'uint64' ? type.from(data, (value) => BigInt(value)) : type.from(data);
}
