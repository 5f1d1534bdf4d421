import type { Launch } from './device.ts';
import type { KernelCode } from './kernel-code.ts';
import type { TensorMeta } from './tensor-meta.ts';

/** The members of `this` in a kernel function. */
export interface KernelThis<Constants extends object = Readonly<Record<string, number>>> {
  /** The element to compute: `x` is the index in the last dimension, `y` and `z` in the ones before it. */
  readonly thread: { readonly x: number; readonly y: number; readonly z: number };
  readonly constants: Constants;
  /** The result's sizes, in the order of `thread`. */
  readonly output: { readonly x: number; readonly y: number; readonly z: number };
}

/** A user function that computes one element of a tensor from any elements of others. */
export interface UserKernel {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly code: KernelCode;
  /** Binds the code on a CPU; part of the kernel, so that only programs that create one load it. */
  readonly onCpu: (code: KernelCode, inputs: readonly TensorMeta[], out: TensorMeta) => Launch;
}
