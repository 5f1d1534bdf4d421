import { indexOf } from '../../../../runtime/device/cpu/core/kernel.ts';
import type { Launch, Operand } from '../../../../runtime/device/device.ts';
import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import type { HostMethod } from './host-methods.ts';

/** Records calls of the methods in `host-methods.ts`. */
export interface HostLog {
  host(name: HostMethod, args: readonly unknown[]): void;
}

export type HostFactory = (
  log: HostLog,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => Launch;

/** The index of each operand's first element. */
export const placesOf = (operands: readonly Operand[], metas: readonly TensorMeta[]): number[] =>
  operands.map((operand, i) => indexOf(operand, metas[i]!.dtype));
