import { indexOf } from '../../../../runtime/device/cpu/core/kernel.ts';
import type { Launch, Operand } from '../../../../runtime/device/device.ts';
import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import type { HostArgument } from '../actions/actions.ts';
import type { HostMethod } from './host-methods.ts';

/** Notes calls of the methods of `host-methods.ts`. */
export interface HostLog {
  host(name: HostMethod, args: readonly HostArgument[], kernels?: readonly unknown[]): void;
}

export type HostFactory = (
  log: HostLog,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => Launch;

/** The first element of each operand, in elements. */
export const placesOf = (operands: readonly Operand[], metas: readonly TensorMeta[]): number[] =>
  operands.map((operand, i) => indexOf(operand, metas[i]!.dtype));
