/** The changes that a run makes to memory, in order, as data that another program can replay. */

import type { View } from '../../../../runtime/device/cpu/core/host-kernels.ts';

export const elementBytes: { readonly [V in View]: number } = {
  f32: 4,
  f64: 8,
  i32: 4,
  u16: 2,
  u8: 1,
};

/** A generated function: the code of the module that it was compiled in, and its name there. */
export interface RecordedKernel {
  readonly code: Uint8Array;
  readonly name: string;
}

/** Positions are indices of the view's elements. */
export type Action =
  | { readonly kind: 'call'; readonly kernel: RecordedKernel; readonly args: readonly number[] }
  | { readonly kind: 'write'; readonly view: View; readonly at: number; readonly values: number[] }
  | {
      readonly kind: 'fill';
      readonly view: View;
      readonly value: number;
      readonly from: number;
      readonly to: number;
    }
  | {
      readonly kind: 'move';
      readonly view: View;
      readonly to: number;
      readonly from: number;
      readonly end: number;
    }
  /** A kernel in JavaScript, one that a module may contain; it calls these generated kernels. */
  | {
      readonly kind: 'host';
      readonly name: string;
      readonly kernels: readonly RecordedKernel[];
      readonly args: readonly HostArgument[];
    };

/** Only numbers may differ between runs. */
export type HostArgument = number | string | readonly HostArgument[];

/** Thrown if a kernel did something that can't be recorded: it read elements of tensors. */
export class NotRecorded extends Error {}
