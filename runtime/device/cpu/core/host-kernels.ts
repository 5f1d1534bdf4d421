import { ArgumentError, type ErrorFacts } from '../../../errors/errors.ts';
import { type MathFunctions, math } from '../../../numerics/math.ts';
import type { DType } from '../../../spec/dtype.ts';
import type { Operand } from '../../device.ts';
import type { Attrs, KernelFactory } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { heap } from './heap.ts';
import { expectContiguous, indexOf } from './kernel.ts';
import { loopMethods } from './loops.ts';

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

export type Numbers = readonly number[];

type Loops = typeof loopMethods;

/** The members of `this` in host kernels, besides the methods of their own object. */
interface HostMemory extends Loops {
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i32: Int32Array;
  readonly u16: Uint16Array;
  readonly u8: Uint8Array;
  readonly math: Pick<MathFunctions, 'exp' | 'log'>;
  /** Throws the error for an invalid value in a tensor. */
  reject(facts: ErrorFacts): never;
}

/** A generated function that a host kernel calls. */
export type GeneratedKernel = (...args: number[]) => void;

const memory: HostMemory = Object.assign(Object.create(heap) as typeof heap, loopMethods, {
  math,
  reject(facts: ErrorFacts): never {
    throw new ArgumentError(facts);
  },
});

/**
 * Kernels in JavaScript, as methods of the memory: exported modules contain their text, so each refers only to its
 * parameters and to members of `this`.
 */
export const hostMethods = <M extends object>(methods: M & ThisType<M & HostMemory>): M =>
  Object.assign(Object.create(memory) as object, methods);

type Parameters<F> = F extends (...args: infer A extends unknown[]) => unknown ? A : never;

/** Calls the methods. Replaced while kernels are recorded for a module. */
export const hostCalls = {
  call<M extends object, N extends keyof M & string>(
    methods: M,
    name: N,
    args: readonly [...Parameters<M[N]>],
  ): void {
    (methods[name] as (...args: unknown[]) => void).apply(methods, args as never);
  },
};

/** Returns the index of each operand's first element. */
export const placesOf = (operands: readonly Operand[], metas: readonly TensorMeta[]): Numbers =>
  operands.map((operand, i) => indexOf(operand, metas[i]!.dtype));

/** The arguments of a method after the view and the places of its operands. */
type Bound<F> = F extends (view: never, places: Numbers, ...rest: infer A) => void
  ? Readonly<A>
  : never;

/**
 * A kernel that calls a method with the view of its first operand, the places of operands and results in the order
 * that the method expects, and arguments that are known before.
 */
export const hostKernel =
  <M extends object, N extends keyof M & string, const A extends Bound<M[N]>>(
    methods: M,
    name: N,
    order: <T>(inputs: readonly T[], outputs: readonly T[]) => readonly (T | undefined)[],
    bind: (inputs: readonly TensorMeta[], outputs: readonly TensorMeta[], attrs: Attrs) => A,
  ): KernelFactory =>
  (inputs, outputs, attrs) => {
    const metas = order(inputs, outputs) as readonly TensorMeta[];
    expectContiguous(...metas);
    const view = viewOf[inputs[0]!.dtype];
    const args = bind(inputs, outputs, attrs) as readonly unknown[];
    return (sources, targets) => {
      const places = placesOf(order(sources, targets) as readonly Operand[], metas);
      hostCalls.call(methods, name, [view, places, ...args] as never);
    };
  };
