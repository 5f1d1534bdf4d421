import { hasChangingAttrs } from '../../runtime/device/symbolic-attrs.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { optionalGradientsOf } from '../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { readCounts } from './facts/read-counts.ts';

/** The slice of a gradient along one dimension; all other elements are 0. */
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
 * If all parts of a tensor were read separately, replaces its gradient, a sum of zero-padded tensors, by a
 * concatenation of the parts' gradients. Bitwise equal once 0 is added, since a sum of several terms turns −0 into
 * 0. The 0 is added to each part only where it fuses with the op that computes the part, and costs no extra pass over
 *    memory. Changes only ops from `firstLate` on, and skips sums with a part that may be missing.
 */
export function joinedGradients(program: Program, firstLate: number): Program {
  const { ops, values } = program;
  const reads = readCounts(program);
  const optional = optionalGradientsOf(ops);
  const known = new Map<ValueId, Parts>();
  /** Joined sums by op; larger sums replace the ones inside them. */
  const sums = new Map<number, Parts>();
  const sumOf = new Map<ValueId, number>();
  const partsIn = (id: ValueId) => (reads.get(id) === 1 ? known.get(id) : undefined);
  ops.forEach(({ op, inputs, outputs, attrs }, index) => {
    if (index < firstLate) return;
    const [result] = outputs;
    const isThere = op.name === 'narrowGrad' && !optional.has(result!);
    // A changing offset could select any elements.
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
  if (joined.length === 0) return program;
  return rewritten(program, new Map(joined), firstLate, (id) => reads.get(id) === 1);
}

function areApart(a: readonly Part[], b: readonly Part[]): boolean {
  return a.every((one) =>
    b.every(
      (other) => one.start + one.length <= other.start || other.start + other.length <= one.start,
    ),
  );
}

/** Replaces the sums; dead-code elimination removes the ops that computed their parts. */
function rewritten(
  program: Program,
  sums: ReadonlyMap<number, Parts>,
  firstLate: number,
  isReadOnce: (id: ValueId) => boolean,
): Program {
  const values = [...program.values];
  const like = (id: ValueId) => (values.push(values[id]!) - 1) as ValueId;
  const zeros = zeroSigns(program, sums, firstLate);
  /** For each value, the op that adds 0 to it right after it is computed. */
  const added = new Map<ValueId, ProgramOp>();
  const joined = new Map<number, ProgramOp[]>();
  for (const [index, sum] of sums) {
    const op = program.ops[index]!;
    const parts = sum.parts.toSorted((a, b) => a.start - b.start);
    const attrs = { dim: sum.dim, sizes: parts.map(({ length }) => length) };
    const inputs = parts.map(({ value }) => value);
    const cat = { ...op, op: opNamed('cat'), inputs, attrs };
    const addZero = (from: ValueId, to: ValueId): ProgramOp => {
      const addScalar = opNamed('addScalar');
      return { ...op, op: addScalar, inputs: [from], outputs: [to], attrs: { value: 0 } };
    };
    const isFree = (id: ValueId) =>
      zeros.positive.has(id) || (zeros.computed.has(id) && isReadOnce(id));
    if (!inputs.every(isFree)) {
      const whole = like(op.outputs[0]!);
      joined.set(index, [{ ...cat, outputs: [whole] }, addZero(whole, op.outputs[0]!)]);
      continue;
    }
    const summed = inputs.map((id) => {
      if (zeros.positive.has(id)) return id;
      const result = like(id);
      added.set(id, addZero(id, result));
      return result;
    });
    joined.set(index, [{ ...cat, inputs: summed }]);
  }
  const ops = program.ops.flatMap((op, index) => {
    const after = op.outputs.flatMap((id) => added.get(id) ?? []);
    return [...(joined.get(index) ?? [op]), ...after];
  });
  return { ...program, values, ops };
}

/** Values without −0, because 0 was added to them, and values of late pointwise ops, which can fuse the addition. */
function zeroSigns(
  program: Program,
  sums: ReadonlyMap<number, Parts>,
  firstLate: number,
): { readonly positive: ReadonlySet<ValueId>; readonly computed: ReadonlySet<ValueId> } {
  const positive = new Set<ValueId>();
  const computed = new Set<ValueId>();
  const facts = ProgramFacts.of(program);
  program.ops.forEach(({ op, inputs, outputs, attrs }, index) => {
    const [result] = outputs;
    if (result === undefined || facts.isWritten(result)) return;
    const isShown = op.kernel.kind === 'view' && positive.has(inputs[0]!);
    const hasZeroAdded = op.name === 'addScalar' && Object.is(attrs.value, 0);
    if (sums.has(index) || isShown || hasZeroAdded) positive.add(result);
    else if (index >= firstLate && op.kernel.kind === 'pointwise') computed.add(result);
  });
  return { positive, computed };
}
