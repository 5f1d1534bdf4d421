import { invariant } from '../../errors/invariant.ts';
import type { Attrs, AttrValue, OpRecord } from '../../ops/core/define-op.ts';
import { E, type Expr } from '../../ops/expr/expr.ts';
import {
  type FusedBody,
  type FusedOperand,
  type FusedPart,
  fusedAttr,
} from '../../ops/expr/fused-body.ts';
import { isNumber } from '../../ops/numbers/symbolic-number.ts';
import { contiguousMeta, type TensorMeta } from '../../tensor/meta.ts';
import type { Shape } from '../../tensor/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';

/** The name of fused ops in files. */
export const fusedName = 'fused';

const source = E.input(1);

/** Ops that are no fused ones: of fused ops their parts, and the parts of these. */
export function leavesOf(op: ProgramOp): readonly ProgramOp[] {
  return op.parts ? op.parts.flatMap(leavesOf) : [op];
}

/** What the op computes per element; null for an op that can't be a part of a fused one. */
export function exprOf({ kernel, inPlace }: OpRecord): Expr | null {
  if (kernel.kind === 'pointwise') return kernel.expr;
  return inPlace && kernel.kind === 'named' && kernel.name === 'copyInto' ? source : null;
}

/** The value that an op makes, or writes in place. */
export function resultOf({ op, inputs, outputs }: ProgramOp): ValueId {
  return op.inPlace ? inputs[0]! : outputs[0]!;
}

/** The shape over whose elements a part runs. */
export function shapeOf(part: ProgramOp, values: ValueTable): Shape {
  return values[resultOf(part)]!.shape;
}

/**
 * One op that does all `parts`, which run over one shape. `results` are the values among theirs that are read
 * elsewhere; the others take no memory.
 */
export function fusedOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp {
  const inputs: ValueId[] = [];
  const operandOf = new Map<ValueId, number>();
  /** The part with the value as it is now. */
  const latest = new Map<ValueId, number>();
  const made = new Set<ValueId>();
  const operand = (id: ValueId): number => {
    let index = operandOf.get(id);
    if (index === undefined) {
      index = inputs.push(id) - 1;
      operandOf.set(id, index);
    }
    return index;
  };
  const fusedParts = parts.map((part, i): FusedPart => {
    const expr = exprOf(part.op);
    invariant(expr !== null, `${part.op.name} can't be part of a fused op`);
    const operands = part.inputs.map((id): FusedOperand => {
      const from = latest.get(id);
      return from === undefined ? { operand: operand(id) } : { part: from };
    });
    const result = resultOf(part);
    if (!part.op.inPlace) made.add(result);
    latest.set(result, i);
    return { expr, operands, dtype: values[result]!.dtype };
  });
  const writes = [...latest].flatMap(([id, part]) =>
    made.has(id) ? [] : [{ operand: operand(id), part }],
  );
  const body: FusedBody = {
    shape: shapeOf(parts[0]!, values),
    parts: fusedParts,
    results: results.map((id) => latest.get(id)!),
    writes,
  };
  return {
    op: fusedRecord(body, parts, inputs, results),
    inputs,
    outputs: results,
    attrs: attrsOf(parts),
    recordsGrad: parts.some(({ recordsGrad }) => recordsGrad),
    at: parts.find(({ at }) => at)?.at,
    parts,
  };
}

/** Parts that are named; of more there is the number. */
const namedParts = 6;

function fusedRecord(
  body: FusedBody,
  parts: readonly ProgramOp[],
  inputs: readonly ValueId[],
  results: readonly ValueId[],
): OpRecord {
  return {
    name: nameOf(parts),
    operands: [{ name: 'operands', use: 'data' }],
    variadic: true,
    infer: (metas) => inferResults(parts, inputs, results, metas),
    kernel: { kind: 'fused', body },
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    effect: body.writes.length > 0,
  };
}

/** Names the first ops, without the views between them. */
export function nameOf(parts: readonly ProgramOp[]): string {
  const ops = parts.flatMap(leavesOf).filter(({ op }) => op.kernel.kind !== 'view');
  const names = ops.slice(0, namedParts).map(({ op }) => op.name);
  const more = ops.length - names.length;
  return `${fusedName}(${names.join('·')}${more > 0 ? `·${more} more` : ''})`;
}

/** Throws what a part throws for operands that it doesn't take. */
export function inferResults(
  parts: readonly ProgramOp[],
  inputs: readonly ValueId[],
  results: readonly ValueId[],
  metas: readonly TensorMeta[],
): TensorMeta[] {
  const known = new Map(inputs.map((id, i) => [id, metas[i]!]));
  for (const { op, inputs: operands, outputs, attrs } of parts) {
    const given = operands.map((id) => known.get(id)!);
    const specs = op.infer(given, attrs);
    outputs.forEach((id, i) => {
      known.set(id, contiguousMeta(specs[i]!, given[0]!.device));
    });
  }
  return results.map((id) => known.get(id)!);
}

function attrsOf(parts: readonly ProgramOp[]): Attrs {
  const attrs: Record<string, AttrValue> = {};
  parts.forEach((part, i) => {
    for (const [name, value] of Object.entries(part.attrs)) {
      if (isNumber(value) || typeof value === 'boolean') attrs[fusedAttr(i, name)] = value;
    }
  });
  return attrs;
}
