// SPDX-License-Identifier: 0BSD
// Types of ortc_webgpu.mjs; TypeScript finds them by this ending only. The module of a bundle refines Inputs and Outputs to its own names.

/** Statuses of the C interface, without their prefix. */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'BUSY'
  | 'OUT_OF_MEMORY'
  | 'NO_DEVICE'
  | 'IO'
  | 'RUN_ERROR'
  | 'UNSUPPORTED';

export class OrtcError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string);
}

export type DType =
  | 'float32' | 'float64' | 'float16' | 'bfloat16'
  | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64' | 'bool'
  | 'complex64' | 'complex128'
  | 'float8e4m3fn' | 'float8e4m3fnuz' | 'float8e5m2' | 'float8e5m2fnuz' | 'float8e8m0'
  | 'float4e2m1' | 'uint4' | 'int4';

export type TensorData =
  | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array
  | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

/** A dense row-major tensor. 16-bit floats are Uint16Array (their bits), booleans one byte each. */
export interface Tensor<Data extends TensorData = TensorData> {
  data: Data;
  dims: number[];
}
export interface OutputTensor<Data extends TensorData = TensorData> extends Tensor<Data> {
  dtype: DType;
}

/** By input name; a plain array will do where the model fixes all sizes. Optional inputs may be left out. */
export type Inputs = Record<string, Tensor | TensorData | null | undefined>;
export type Outputs = Record<string, OutputTensor>;

export interface IO {
  name: string;
  dtype: DType;
  /** A number, the name of a dimension, or null for a size that the run computes. */
  shape: (number | string | null)[];
  optional?: boolean;
  /** How the buffer holds it, when not as `dtype`. */
  storage?: 'int32' | 'uint32' | 'float32';
}

export interface Dim {
  name: string;
  min?: number;
  max?: number;
  multipleOf?: number;
}

export interface Kernel {
  name: string;
  entry?: string;
  /** WGSL, as text or as a file of the bundle. */
  code?: string;
  file?: string;
  /** Of each storage buffer. One buffer may not be bound for reading and for writing in one launch. */
  access: ('r' | 'rw')[];
  /** One letter for each scalar of the uniform block: u32, i32 or f32. */
  scalars?: string;
}

/** Bytes of a buffer on the device. */
export interface Range {
  readonly buffer: GPUBuffer;
  readonly label: string;
  readonly offset: number;
  readonly size: number;
  readonly bytes: number;
}

/** What the program of a bundle calls. */
export interface Run {
  arena(buffer: number, offset: number, size: number): Range;
  weights(segment: number, offset: number, size: number): Range;
  has(input: number): boolean;
  inputData(input: number): TensorData;
  inputDims(input: number): number[];
  input(input: number, range: Range): void;
  upload(range: Range, data: TensorData): void;
  dispatch(kernel: number, ranges: Range[], scalars: number[], x: number, y?: number, z?: number): void;
  copy(to: Range, from: Range): void;
  clear(range: Range): void;
  submit(): void;
  read<T>(ranges: Range[], type?: new (bytes: ArrayBuffer) => T): Promise<T[]>;
  output(output: number, range: Range, dims: number[]): void;
  fail(message: string): never;
}

export interface Model {
  name: string;
  sha256?: string;
  inputs: IO[];
  outputs: IO[];
  dims?: Dim[];
  kernels: Kernel[];
  weights?: { file: string; bytes: number; segments: { offset: number; bytes: number }[] };
  needs?: { features?: GPUFeatureName[]; limits?: Record<string, number> };
  arena(dims: Record<string, number>): number[];
  program(run: Run, dims: Record<string, number>): Promise<void>;
}

export interface Options {
  device?: GPUDevice;
  gpu?: GPU;
  powerPreference?: GPUPowerPreference;
  weights?: ArrayBuffer | ArrayBufferView | string | URL | AsyncIterable<Uint8Array>;
  dims?: Record<string, number>;
  base?: string | URL;
}

export interface Session<In = Inputs, Out = Outputs> {
  readonly model: Model;
  readonly device: GPUDevice;
  reserve(dims: Record<string, number>): Promise<void>;
  run(inputs: In): Promise<Out>;
  destroy(): void;
}

export function createSession<In = Inputs, Out = Outputs>(model: Model, options?: Options): Promise<Session<In, Out>>;
