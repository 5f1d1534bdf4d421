import { hasChangingAttrs } from '../../runtime/device/symbolic-attrs.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { optionalGradientsOf } from '../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

/** A part of a gradient along one dimension: all other elements are 0. */
interface Part {
  readonly value: ValueId;
  readonly start: number;
  readonly length: number;
}

interface Parts {
  readonly dim: number;
  readonly parts: readonly Part[];
}

/**
 * Where all parts of a tensor were read apart, its gradient is their gradients side by side, instead of a
 * sum of tensors that are 0 elsewhere. Equal bit for bit with 0 added: what a sum of several makes of −0
 * is 0. Only ops from `firstLate` on change, and no sum of which a part may be missing.
 */
export function joinedGradients(program: Program, firstLate: number): Program {
  const { ops, values } = program;
  const reads = new Map<ValueId, number>();
  for (const { inputs } of ops) for (const id of inputs) reads.set(id, (reads.get(id) ?? 0) + 1);
  for (const id of program.outputs) reads.set(id, (reads.get(id) ?? 0) + 1);
  const optional = optionalGradientsOf(ops);
  const known = new Map<ValueId, Parts>();
  /** Sums that are joined, by their op; larger ones replace those in them. */
  const sums = new Map<number, Parts>();
  const sumOf = new Map<ValueId, number>();
  const partsIn = (id: ValueId) => (reads.get(id) === 1 ? known.get(id) : undefined);
  ops.forEach(({ op, inputs, outputs, attrs }, index) => {
    if (index < firstLate) return;
    const [result] = outputs;
    const isThere = op.name === 'narrowGrad' && !optional.has(result!);
    // A place that each run computes may be any.
    if (isThere && !hasChangingAttrs(attrs)) {
      const [dim, start] = [attrs.dim as number, attrs.start as number];
      const length = values[inputs[0]!]!.shape[dim]!;
      known.set(result!, { dim, parts: [{ value: inputs[0]!, start, length }] });
    }
    if (op.name !== 'add') return;
    const [a, b] = inputs.map(partsIn);
    if (!a || !b || a.dim !== b.dim || !areApart(a.parts, b.parts)) return;
    const parts = { dim: a.dim, parts: [...a.parts, ...b.parts] };
    known.set(result!, parts);
    for (const id of inputs) sums.delete(sumOf.get(id) ?? -1);
    sums.set(index, parts);
    sumOf.set(result!, index);
  });
  const joined = [...sums].filter(([index, { dim, parts }]) => {
    const { shape, dtype } = values[ops[index]!.outputs[0]!]!;
    const covered = parts.reduce((sum, { length }) => sum + length, 0) === shape[dim];
    return covered && parts.every(({ value }) => values[value]!.dtype === dtype);
  });
  return joined.length === 0 ? program : rewritten(program, new Map(joined));
}

function areApart(a: readonly Part[], b: readonly Part[]): boolean {
  return a.every((one) =>
    b.every(
      (other) => one.start + one.length <= other.start || other.start + other.length <= one.start,
    ),
  );
}

/** Replaces the sums; the ops that made their parts are left to dead-code elimination. */
function rewritten(program: Program, sums: ReadonlyMap<number, Parts>): Program {
  const values = [...program.values];
  const ops = program.ops.flatMap((op, index): ProgramOp[] => {
    const sum = sums.get(index);
    if (!sum) return [op];
    const parts = sum.parts.toSorted((a, b) => a.start - b.start);
    const whole = (values.push(values[op.outputs[0]!]!) - 1) as ValueId;
    const attrs = { dim: sum.dim, sizes: parts.map(({ length }) => length) };
    const inputs = parts.map(({ value }) => value);
    return [
      { ...op, op: opNamed('cat'), inputs, outputs: [whole], attrs },
      { ...op, op: opNamed('addScalar'), inputs: [whole], attrs: { value: 0 } },
    ];
  });
  return { ...program, values, ops };
}
