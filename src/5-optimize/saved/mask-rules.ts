import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { exactText } from '../../../runtime/numerics/exact-text.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';

/** The compared values, the gradient, the mask, or the result of an earlier step, by its index. */
type Operand = 'compared' | 'gradient' | 'mask' | number;

/** An op by name, on tensors of one shape. */
interface Step {
  readonly op: string;
  readonly inputs: readonly Operand[];
  readonly attrs: Attrs;
}

/**
 * A gradient that depends only on comparisons of the saved values with constants. The last step of each list computes
 * the result.
 */
export interface MaskRule {
  /** Computes a bool tensor from the compared values. */
  readonly mask: readonly Step[];
  /** Computes the gradient from the incoming gradient and the mask, bitwise equal to the gradient op's own kernel. */
  readonly gradient: readonly Step[];
}

const compare = (op: 'gtScalar' | 'geScalar' | 'leScalar', value: number): Step => {
  return { op, inputs: ['compared'], attrs: { value } };
};

const dropped: Step = { op: 'dropWhere', inputs: ['gradient', 'mask'], attrs: {} };

const castTo = { float32: 'toFloat32', float64: 'toFloat64' } as const;

/** Returns how an op on (dy, compared values) can read a mask; null if it can't. `dtype`: the gradient's. */
export function maskRuleOf(
  { op, attrs }: Pick<ProgramOp, 'op' | 'attrs'>,
  dtype: TensorMeta['dtype'],
): MaskRule | null {
  const { threshold, negativeSlope, min, max } = attrs;
  // NaN passes, as it isn't at most the threshold.
  if (op.name === 'reluGrad') return { mask: [compare('leScalar', 0)], gradient: [dropped] };
  if (op.name === 'thresholdGrad' && typeof threshold === 'number') {
    return { mask: [compare('leScalar', threshold)], gradient: [dropped] };
  }
  if (op.name === 'leakyReluGrad' && typeof negativeSlope === 'number') {
    const scaled: Step = { op: 'mulScalar', inputs: ['gradient'], attrs: { value: negativeSlope } };
    const chosen: Step = { op: 'where', inputs: ['mask', 'gradient', 0], attrs: {} };
    return { mask: [compare('gtScalar', 0)], gradient: [scaled, chosen] };
  }
  if (op.name === 'hardtanhGrad' && typeof min === 'number' && typeof max === 'number') {
    if (dtype !== 'float32' && dtype !== 'float64') return null;
    // A product keeps NaN and the sign of zero.
    const slope: Step = { op: castTo[dtype], inputs: ['mask'], attrs: {} };
    return {
      mask: [
        compare('leScalar', min),
        compare('geScalar', max),
        { op: 'logicalOr', inputs: [0, 1], attrs: {} },
        { op: 'logicalNot', inputs: [2], attrs: {} },
      ],
      gradient: [slope, { op: 'mul', inputs: ['gradient', 0], attrs: {} }],
    };
  }
  return null;
}

/** Meta of a bool mask with the shape of the compared values. */
export function maskMeta({ shape, device }: TensorMeta): TensorMeta {
  return contiguousMeta({ dtype: 'bool', shape }, device);
}

/** Whether the device can pack bits: GPUs have no kernel for it. */
export const fitsBits = ({ device }: TensorMeta): boolean => device.kind !== 'gpu';

/** Meta of a mask packed into bits. */
export function bitsMeta({ shape, device }: TensorMeta): TensorMeta {
  return contiguousMeta({ dtype: 'uint8', shape: [Math.ceil(sizeOf(shape) / 8)] }, device);
}

/** Returns the op that unpacks a mask from its bits. */
export function unpacked(
  bits: ValueId,
  mask: ValueId,
  { shape }: TensorMeta,
  { at, recordsGrad }: Pick<ProgramOp, 'at' | 'recordsGrad'>,
): ProgramOp {
  const op = opNamed('unpackBits');
  return { op, inputs: [bits], outputs: [mask], attrs: { shape }, at, recordsGrad };
}

/** Returns the steps as ops. `operandsByName`: the operands that steps name; `output`: the last op's result. */
export function opsOf(
  steps: readonly Step[],
  operandsByName: Partial<Record<'compared' | 'gradient' | 'mask', ValueId>>,
  output: ValueId,
  newValue: () => ValueId,
  like: Pick<ProgramOp, 'at' | 'recordsGrad'>,
): ProgramOp[] {
  const results: ValueId[] = [];
  return steps.map(({ op, inputs, attrs }, i) => {
    results.push(i === steps.length - 1 ? output : newValue());
    const operands = inputs.map((each) =>
      typeof each === 'number' ? results[each]! : operandsByName[each]!,
    );
    return { ...like, op: opNamed(op), inputs: operands, outputs: [results[i]!], attrs };
  });
}

/** Names a mask by the value it is computed from, and how. */
export function maskName(compared: ValueId, { mask }: MaskRule): string {
  const names: string[] = [];
  for (const { op, inputs, attrs } of mask) {
    const operands = inputs.map((each) =>
      typeof each === 'number' ? names[each]! : `%${compared}`,
    );
    names.push(computedName(op, operands, attrs));
  }
  return names.at(-1)!;
}

/** Names the result of an op by its operands' names. */
export function computedName(op: string, operands: readonly string[], { value }: Attrs): string {
  return `${op}(${operands.join(', ')}; ${exactText(value ?? '')})`;
}
