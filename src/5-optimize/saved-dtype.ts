import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { scalesOf } from '../../runtime/ops/core/quantize.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { SavedDType } from '../programs/memory-options.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { type Like, savedAs } from './saved-forms.ts';

const castsTo = { float16: 'toFloat16', bfloat16: 'toBfloat16' } as const;

/** The metas of what is saved in place of a float32 value. */
function metasOf(dtype: SavedDType, { shape, device }: TensorMeta): readonly TensorMeta[] {
  if (dtype !== 'int8') return [contiguousMeta({ dtype, shape }, device)];
  return [
    contiguousMeta({ dtype: 'uint8', shape }, device),
    contiguousMeta({ dtype: 'float32', shape: [scalesOf({ shape })] }, device),
  ];
}

/** Whether the device has kernels for the values: GPUs can't quantize, and gpu.js alone has no float16. */
function isAvailable({ device }: TensorMeta, dtype: SavedDType): boolean {
  return device.kind !== 'gpu' || (device.typedElements && dtype !== 'int8');
}

const linear = { code: 'linear' };

function encoding(dtype: SavedDType, root: ValueId, codes: ValueId[], like: Like): ProgramOp {
  const isInt = dtype === 'int8';
  const op = opNamed(isInt ? 'quantize' : castsTo[dtype]);
  return { ...like, op, inputs: [root], outputs: codes, attrs: isInt ? linear : {} };
}

function decoding(codes: ValueId[], value: ValueId, like: Like): ProgramOp {
  const isInt = codes.length > 1;
  const op = opNamed(isInt ? 'dequantize' : 'toFloat32');
  return { ...like, op, inputs: codes, outputs: [value], attrs: isInt ? linear : {} };
}

/**
 * Saves the float32 values that forward computes for backward in fewer bits (`memory.savedDtype`). The only pass that
 * changes results: forward is exact, but gradients are computed from rounded values.
 */
export function savedDtype(staged: Staged, context: PassContext): Staged | Steps<Staged> {
  const dtype = context.memory.savedDtype;
  if (dtype === null) return staged;
  return savedAs(staged, context, {
    metasOf: (meta) =>
      meta.dtype === 'float32' && isAvailable(meta, dtype) ? metasOf(dtype, meta) : null,
    encoding: (root, codes, like) => encoding(dtype, root, codes, like),
    decoding,
  });
}

/** Returns ops that decode values which were saved only as codes. `ops`: those of the planned program. */
export function valuesFromCodes(
  { ops }: Pick<Program, 'ops'>,
  kept: ReadonlySet<ValueId>,
  values: readonly TensorMeta[],
): ProgramOp[] {
  const encodings = new Set(['toFloat16', 'toBfloat16', 'quantize']);
  return ops.flatMap(({ op, inputs: [id], outputs: codes, at }): ProgramOp[] => {
    if (!encodings.has(op.name) || id === undefined || !codes.every((code) => kept.has(code)))
      return [];
    if (kept.has(id) || values[id]!.dtype !== 'float32') return [];
    return [decoding([...codes], id, { at, recordsGrad: false })];
  });
}
