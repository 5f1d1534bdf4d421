import { alignedBytes } from '../../memory/allocator.ts';
import { identity } from '../../ops/expr/expr-type.ts';
import { isHalf } from '../../spec/half.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Device, Launch, Operand } from '../device.ts';
import { Holder } from '../holder.ts';
import type { KernelName } from '../kernel-names.ts';
import { type KernelOp, operandUse } from '../kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import type { KernelFactory } from './core/kernel.ts';
import { pointwise } from './pointwise/pointwise.ts';

/**
 * float32 kernels for 16-bit operands: a launch widens operands into memory that it allocates and frees, and rounds
 * results from there.
 */

/** Kernels that move elements without interpreting them, or that write half precision themselves. */
const anyBits: ReadonlySet<KernelName> = new Set<KernelName>([
  'fill',
  'literal',
  'copy',
  'copyInto',
  'narrowGrad',
  'cat',
  'flip',
  'roll',
  'place',
  'placeInto',
  'gather',
  'scatter',
  'index',
  'indexPut',
]);

export function widens(
  name: KernelName,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): boolean {
  for (const { dtype } of inputs) if (isHalf(dtype)) return !anyBits.has(name);
  for (const { dtype } of outputs) if (isHalf(dtype)) return !anyBits.has(name);
  return false;
}

const isWidened = (op: KernelOp, { dtype }: TensorMeta, index: number): boolean =>
  isHalf(dtype) && operandUse(op, index) === 'data';

const wideBytes = ({ shape }: TensorMeta): number => sizeOf(shape) * 4;

/** Returns the bytes of all operands that a launch widens. */
export function wideningBytes(
  op: KernelOp,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): number {
  let bytes = 0;
  inputs.forEach((meta, i) => {
    if (isWidened(op, meta, i)) bytes += alignedBytes(wideBytes(meta));
  });
  for (const meta of op.inPlace ? [] : outputs) {
    if (isHalf(meta.dtype)) bytes += alignedBytes(wideBytes(meta));
  }
  return bytes;
}

/** A float32 copy of one operand during a launch. */
interface WidenedCopy {
  readonly meta: TensorMeta;
  readonly place: { holder: Holder | null; readonly offset: 0 };
  /** Null if the kernel doesn't read (`widen`) or write (`narrow`) the operand. */
  readonly widen: Launch | null;
  readonly round: Launch | null;
}

function wideOf(meta: TensorMeta, reads: boolean, writes: boolean): WidenedCopy | null {
  if (!isHalf(meta.dtype)) return null;
  const wide = contiguousMeta({ dtype: 'float32', shape: meta.shape }, meta.device);
  return {
    meta: wide,
    place: { holder: null, offset: 0 },
    widen: reads ? pointwise(identity, [meta], wide, {}) : null,
    round: writes ? pointwise(identity, [wide], meta, {}) : null,
  };
}

export function inFloat32(op: KernelOp, kernel: KernelFactory, device: Device): KernelFactory {
  return (inputs, outputs, attrs) => {
    const sources = inputs.map((meta, i) => {
      if (isWidened(op, meta, i)) return wideOf(meta, true, op.inPlace && i === 0);
      return null;
    });
    const targets = op.inPlace ? [sources[0]!] : outputs.map((meta) => wideOf(meta, false, true));
    const all = [...new Set([...sources, ...targets])].filter((wide) => wide !== null);
    const metas = inputs.map((meta, i) => sources[i]?.meta ?? asFloat32(meta));
    const launch = kernel(
      metas,
      outputs.map((meta, i) => targets[i]?.meta ?? meta),
      attrs,
    );
    return (operands, results, now) => {
      try {
        for (const wide of all) wide.place.holder = new Holder(device, wideBytes(wide.meta));
        operands.forEach((operand, i) => {
          sources[i]?.widen?.([operand], [sources[i]!.place]);
        });
        const placed = (list: readonly Operand[], wides: readonly (WidenedCopy | null)[]) =>
          list.map((operand, i) => wides[i]?.place ?? operand);
        launch(placed(operands, sources), placed(results, targets), now);
        results.forEach((result, i) => {
          targets[i]?.round?.([targets[i]!.place], [result]);
        });
      } finally {
        for (const { place } of all) {
          place.holder?.release();
          place.holder = null;
        }
      }
    };
  };
}

/** Returns the meta that a float32 kernel gets in place of a half-precision one. */
export function asFloat32(meta: TensorMeta): TensorMeta {
  return isHalf(meta.dtype) ? { ...meta, dtype: 'float32' } : meta;
}
