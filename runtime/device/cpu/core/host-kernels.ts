import { ArgumentError } from '../../../errors/errors.ts';
import { type MathFunctions, math } from '../../../numerics/math.ts';
import type { DType } from '../../../spec/dtype.ts';
import type { Operand } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from './heap.ts';
import { indexOf } from './kernel.ts';

/** Names of the views of a WebAssembly memory. */
export type View = 'f32' | 'f64' | 'i32' | 'u16' | 'u8';

/** The views of dtypes that kernels compute in. */
export type RealView = 'f32' | 'f64';

export const viewOf: { readonly [D in DType]: View } = {
  float32: 'f32',
  float64: 'f64',
  int32: 'i32',
  float16: 'u16',
  bfloat16: 'u16',
  bool: 'u8',
  uint8: 'u8',
};

export const realViewOf = (dtype: DType): RealView => (dtype === 'float64' ? 'f64' : 'f32');

export type Numbers = readonly number[];

/** What the methods of all host kernels use. */
interface Loops {
  /** Returns the rounding to the dtype that a kernel computes in; float64 is JavaScript's own. */
  rounding(view: RealView): (value: number) => number;
  /** Calls `body` for each line along a dimension, with its first element and its place within the step. */
  eachLine(sizes: Numbers, body: (first: number, place: number) => void): void;
  /** Calls `body` for every element, with each operand's position in `at`, which has the start positions. */
  walk(
    shape: Numbers,
    steps: readonly Numbers[],
    at: number[],
    body: () => void,
    dim?: number,
  ): void;
}

/** The `this` of host kernels, beside the methods of their own object. */
export interface HostMemory extends Loops {
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i32: Int32Array;
  readonly u16: Uint16Array;
  readonly u8: Uint8Array;
  readonly math: Pick<MathFunctions, 'exp' | 'log'>;
  /** Throws the error for a value that a tensor contains. */
  reject(what: string, given: string, expected: string, remedy: string): never;
}

export const loopMethods: Loops = {
  rounding(view) {
    return view === 'f32' ? Math.fround : (value) => value;
  },

  eachLine([size, step, outer], body) {
    for (let o = 0; o < outer!; o++) {
      for (let i = 0; i < step!; i++) body(o * size! * step! + i, i);
    }
  },

  walk(shape, steps, at, body, dim = 0) {
    const size = shape[dim];
    if (size === undefined) {
      body();
      return;
    }
    for (let i = 0; i < size; i++) {
      this.walk(shape, steps, at, body, dim + 1);
      for (let k = 0; k < at.length; k++) at[k]! += steps[k]![dim]!;
    }
    for (let k = 0; k < at.length; k++) at[k]! -= size * steps[k]![dim]!;
  },
};

/** A generated function that a host kernel calls. */
export type GeneratedKernel = (...args: number[]) => void;

const memory: HostMemory = Object.assign(Object.create(heap) as typeof heap, loopMethods, {
  math,
  reject(what: string, given: string, expected: string, remedy: string): never {
    throw new ArgumentError({ what, given, expected, remedy });
  },
});

/**
 * Kernels in JavaScript, as methods of the memory: exported modules contain their text, so each refers only to its
 * parameters and to members of `this`.
 */
export const hostMethods = <M extends object>(methods: M & ThisType<M & HostMemory>): M =>
  Object.assign(Object.create(memory) as object, methods);

type ArgumentsOf<F> = F extends (...args: infer A) => unknown ? A : never;

/** Calls the methods. A recording replaces it, to note the calls. */
export const hostCalls = {
  call<M extends object, N extends keyof M & string>(
    methods: M,
    name: N,
    ...args: ArgumentsOf<M[N]>
  ): void {
    (methods[name] as (...given: unknown[]) => void).apply(methods, args);
  },
};

/** Returns the index of each operand's first element. */
export const placesOf = <const T extends readonly Operand[]>(
  operands: T,
  metas: readonly TensorMeta[],
): { readonly [K in keyof T]: number } =>
  operands.map((operand, i) => indexOf(operand, metas[i]!.dtype)) as { [K in keyof T]: number };
