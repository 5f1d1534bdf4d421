import { opNamed } from '../../runtime/ops/core/define-op.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { TensorMeta } from '../../runtime/tensor/meta.ts';
import type { RecordedJoint } from '../4-differentiate/differentiate-again.ts';
import { maskRuleOf } from '../5-optimize/mask-rules.ts';
import type { SubgraphStages } from '../programs/stages.ts';

/** Masks that forward keeps instead of values, and that its traced program doesn't compute. */
export interface KeptMasks {
  /** By the value that they compare, and how. */
  readonly byTest: ReadonlyMap<string, ValueId>;
  readonly ids: ReadonlySet<ValueId>;
  /** Metas of all values of the planned program, masks among them. */
  readonly values: readonly TensorMeta[];
}

export function keptMasks(
  { traced, forward, planned }: SubgraphStages,
  kept: ReadonlySet<ValueId>,
): KeptMasks {
  const byTest = new Map<string, ValueId>();
  for (const { op, inputs, outputs, attrs } of forward.ops) {
    const [id] = outputs;
    if (id === undefined || id < traced.values.length || !kept.has(id)) continue;
    byTest.set(testKey(inputs[0]!, op.name, attrs.value), id);
  }
  return { byTest, ids: new Set(byTest.values()), values: planned.values };
}

function testKey(compared: ValueId, name: string, value: unknown): string {
  return `${compared} ${name} ${value}`;
}

/**
 * The joint program with the ids of its backward part moved behind those of the planned program, so that the ids of
 * masks are free: `forwardValues` is the number of values that keep theirs.
 */
export function besideMasks(
  joint: RecordedJoint,
  forwardValues: number,
  { values, ids }: KeptMasks,
): RecordedJoint {
  if (ids.size === 0) return joint;
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

/** Gradients whose compared values are not kept read the masks that are. */
export function readingMasks(ops: readonly ProgramOp[], { byTest }: KeptMasks): ProgramOp[] {
  return ops.map((op) => {
    const rule = maskRuleOf(op);
    const mask = rule && byTest.get(testKey(op.inputs[1]!, rule.test, rule.attrs.value));
    if (!rule || mask === null || mask === undefined) return op;
    return { ...op, op: opNamed(rule.gradient), attrs: {}, inputs: [op.inputs[0]!, mask] };
  });
}
