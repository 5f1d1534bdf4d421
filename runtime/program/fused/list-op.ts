import { list } from '../../device/cpu/fused/list.ts';
import { stageAttr } from '../../device/staged-body.ts';
import { exactText } from '../../numerics/exact-text.ts';
import { textOf } from '../../ops/expr/expr-nodes.ts';
import { isSymbolic } from '../../ops/numbers/symbolic-number.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';
import { writtenOperands } from '../writes.ts';
import { attrsOf, compositeOp, exprOf } from './fused-op.ts';

/**
 * Whether no part reads or writes a value that another part produces or writes, so that they may run in any order, or
 * in parallel.
 */
export function areApart(parts: readonly ProgramOp[]): boolean {
  const owner = new Map<ValueId, ProgramOp>();
  for (const part of parts) {
    const written = writtenOperands(part).map((i) => part.inputs[i]!);
    for (const id of [...part.outputs, ...written]) {
      if (owner.has(id) && owner.get(id) !== part) return false;
      owner.set(id, part);
    }
  }
  return parts.every((part) => part.inputs.every((id) => (owner.get(id) ?? part) === part));
}

/** Whether the op is pointwise, fused or not. */
function isPointwise({ op, parts }: ProgramOp): boolean {
  return op.kernel.kind === 'fused' || (!parts && exprOf(op) !== null);
}

const known = new WeakMap<ProgramOp, string>();

/** Returns a key that is equal for ops with the same kernel and the same numbers. */
export function structuralKeyOf(op: ProgramOp, values: ValueTable): string {
  let likeness = known.get(op);
  if (likeness === undefined) {
    likeness = writeStructuralKey(op, values);
    known.set(op, likeness);
  }
  return likeness;
}

function writeStructuralKey({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): string {
  const { kernel } = op;
  const body =
    kernel.kind === 'fused'
      ? [
          kernel.body.parts.map(({ expr, ...part }) => [textOf(expr), part]),
          kernel.body.results,
          kernel.body.writes,
        ]
      : op.name;
  const numbers = Object.entries(attrs).map(([name, value]) => [
    name,
    isSymbolic(value) ? `scalar ${value.id}` : exactText(value),
  ]);
  const dtypes = [...inputs, ...outputs].map((id) => values[id]!.dtype);
  return JSON.stringify([body, numbers, dtypes]);
}

/** Returns one op that performs independent pointwise `parts`; null for other parts. */
export function listOp(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  values: ValueTable,
): ProgramOp | null {
  const defined = new Set(parts.flatMap(({ outputs }) => outputs));
  const isWhole = defined.size === results.length && results.every((id) => defined.has(id));
  if (!isWhole || !areApart(parts) || !parts.every(isPointwise)) return null;
  const inputs = [...new Set(parts.flatMap((part) => part.inputs))];
  const operandOf = new Map(inputs.map((id, i) => [id, i]));
  const resultOf = new Map(results.map((id, i) => [id, i]));
  const items = parts.map((part) => ({
    op: part.op,
    inputs: part.inputs.map((id) => operandOf.get(id)!),
    outputs: part.outputs.map((id) => resultOf.get(id)!),
  }));
  const likeness = new Set(parts.map((part) => structuralKeyOf(part, values)));
  const writes = parts.flatMap((part) =>
    writtenOperands(part).map((i) => operandOf.get(part.inputs[i]!)!),
  );
  const body = { items, areAlike: likeness.size === 1, writes };
  const attrs = attrsOf(parts, stageAttr);
  const { device } = values[inputs[0]!]!;
  const kernel = { kind: 'list', body, onCpu: list } as const;
  return compositeOp(parts, inputs, results, { kernel, device, writes, attrs });
}
