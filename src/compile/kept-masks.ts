import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { RecordedJoint } from '../4-differentiate/differentiate-again.ts';
import {
  computedName,
  maskMeta,
  maskName,
  maskRuleOf,
  opsOf,
  unpacked,
} from '../5-optimize/saved/mask-rules.ts';
import type { SubgraphStages } from '../programs/stages.ts';

/**
 * Masks that forward saves instead of values, and that its traced program doesn't compute. `numberOf` maps ids of the
 * planned program.
 */
export interface KeptMasks {
  /** Masks by the compared value and the comparison; bool, or uint8 if packed in bits. */
  readonly byTest: ReadonlyMap<string, ValueId>;
  readonly ids: ReadonlySet<ValueId>;
  /** Whether forward saves values that its traced program doesn't compute, masks or others. */
  readonly addsValues: boolean;
  /** Metas of all values of the planned program, including masks. */
  readonly values: readonly TensorMeta[];
}

export function keptMasks(
  { traced, forward, planned }: SubgraphStages,
  kept: ReadonlySet<ValueId>,
  numberOf: (id: ValueId) => ValueId = (id) => id,
): KeptMasks {
  const byTest = new Map<string, ValueId>();
  const names = new Map<ValueId, string>();
  const nameOf = (id: ValueId) => names.get(id) ?? `%${numberOf(id)}`;
  for (const { op, inputs, outputs, attrs } of forward.ops) {
    const [id] = outputs;
    if (op.name === 'packBits' && kept.has(id!)) byTest.set(nameOf(inputs[0]!), numberOf(id!));
    if (id === undefined || id < traced.values.length || planned.values[id]!.dtype !== 'bool') {
      continue;
    }
    names.set(id, computedName(op.name, inputs.map(nameOf), attrs));
    if (kept.has(id)) byTest.set(nameOf(id), numberOf(id));
  }
  const addsValues = [...kept].some((id) => id >= traced.values.length);
  return { byTest, ids: new Set(byTest.values()), addsValues, values: planned.values };
}

/**
 * Returns the joint program with the ids of its backward part moved after those of the planned program, which frees the
 * ids of masks and other added values. The first `forwardValues` values keep their ids.
 */
export function shiftBackwardIds(
  joint: RecordedJoint,
  forwardValues: number,
  { values, addsValues }: KeptMasks,
): RecordedJoint {
  if (!addsValues) return joint;
  const by = values.length - forwardValues;
  const moved = (id: ValueId): ValueId => (id < forwardValues ? id : ((id + by) as ValueId));
  const { program } = joint;
  const ops = program.ops.map((op) => ({
    ...op,
    inputs: op.inputs.map(moved),
    outputs: op.outputs.map(moved),
    ...(op.before !== undefined && { before: moved(op.before) }),
  }));
  return {
    ...joint,
    program: {
      values: [
        ...program.values.slice(0, forwardValues),
        ...values.slice(forwardValues),
        ...program.values.slice(forwardValues),
      ],
      inputs: program.inputs.map(moved),
      ops,
      outputs: program.outputs.map(moved),
    },
    given: joint.given.map(moved),
    gradInputs: joint.gradInputs.map((id) => (id === null ? null : moved(id))),
  };
}

/** Makes gradients from `firstLate` on read saved masks in place of compared values that aren't saved. */
export function readingMasks(program: Program, firstLate: number, { byTest }: KeptMasks): Program {
  if (byTest.size === 0) return program;
  const values = [...program.values];
  const ops = program.ops.flatMap((op, index): ProgramOp[] => {
    const [gradient, compared] = op.inputs;
    if (index < firstLate || gradient === undefined || compared === undefined) return [op];
    const rule = maskRuleOf(op, values[gradient]!.dtype);
    const mask = rule && byTest.get(maskName(compared, rule));
    if (!rule || mask === null || mask === undefined) return [op];
    const [output] = op.outputs as readonly [ValueId];
    const inner = () => (values.push(values[output]!) - 1) as ValueId;
    if (values[mask]!.dtype === 'bool') {
      return opsOf(rule.gradient, { gradient, mask }, output, inner, op);
    }
    const meta = maskMeta(values[compared]!);
    const read = (values.push(meta) - 1) as ValueId;
    const operands = { gradient, mask: read };
    return [unpacked(mask, read, meta, op), ...opsOf(rule.gradient, operands, output, inner, op)];
  });
  return { ...program, values, ops };
}
