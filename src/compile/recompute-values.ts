import { operandUse } from '../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { hasEffect } from '../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { storedOperands } from '../5-optimize/copies/share-parts.ts';
import { ProgramFacts } from '../5-optimize/facts/program-facts.ts';

/**
 * In: a program, available values (`there`), and `needed` values. Out: the ops that compute the needed values from the
 * available ones, bitwise identical; null if that needs a value that was freed or overwritten.
 */
export function recomputeValues(
  program: Program,
  there: ReadonlySet<ValueId>,
  needed: Iterable<ValueId>,
): Pick<Program, 'values' | 'inputs' | 'ops'> | null {
  const facts = ProgramFacts.of(program);
  const values = [...program.values];
  const parts = partsOfWholes(program, facts, there);
  const inputs = new Set<ValueId>();
  /** Ops to recompute, by index. */
  const recomputed = new Map<number, readonly ProgramOp[]>();
  const pending = [...needed];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const index = facts.definitionIndex(id);
    const definition = program.ops[index];
    const part = parts.get(id);
    if (there.has(id)) inputs.add(id);
    else if (!definition || !isPure(definition) || facts.isWritten(id)) return null;
    else if (part && !facts.isWritten(part.whole)) {
      inputs.add(part.whole);
      recomputed.set(index, viewOf(id, part, definition, values));
    } else if (!recomputed.has(index)) {
      recomputed.set(index, [definition]);
      definition.inputs.forEach((operand, i) => {
        if (operandUse(definition.op, i) === 'data') pending.push(operand);
        else inputs.add(operand);
      });
    }
  }
  const ops = [...recomputed].sort(([a], [b]) => a - b).flatMap(([, own]) => own);
  const defined = new Set(ops.flatMap(({ outputs }) => outputs));
  return { values, inputs: [...inputs].filter((id) => !defined.has(id)), ops };
}

function isPure(op: ProgramOp): boolean {
  return !hasEffect(op) && op.op.kernel.kind !== 'control';
}

interface Part {
  readonly whole: ValueId;
  readonly offset: number;
}

/**
 * Returns the values that are stored unchanged in an available concatenation, with their offsets: its operands, and
 * what they are views of all elements of, as of a stack's rows.
 */
function partsOfWholes(
  program: Program,
  facts: ProgramFacts,
  there: ReadonlySet<ValueId>,
): ReadonlyMap<ValueId, Part> {
  const parts = new Map<ValueId, Part>();
  for (const op of program.ops) {
    const [whole] = op.outputs;
    if (op.op.name !== 'cat' || !there.has(whole!)) continue;
    for (const [id, offset] of storedOperands(program, op)) {
      const root = facts.rootOf(id);
      const [part, all] = [program.values[id]!, program.values[root]!];
      parts.set(id, { whole: whole!, offset });
      const isAll = isContiguousMeta(all) && sizeOf(all.shape) === sizeOf(part.shape);
      if (isAll) parts.set(root, { whole: whole!, offset });
    }
  }
  return parts;
}

function viewOf(
  id: ValueId,
  { whole, offset }: Part,
  { at }: ProgramOp,
  values: TensorMeta[],
): readonly ProgramOp[] {
  const meta = values[id]!;
  const define = () => (values.push(meta) - 1) as ValueId;
  const [row, part] = [define(), define()];
  const all = sizeOf(values[whole]!.shape);
  const narrow = { dim: 0, start: offset, length: sizeOf(meta.shape) };
  const view = { recordsGrad: false, at };
  return [
    { op: opNamed('reshape'), inputs: [whole], outputs: [row], attrs: { shape: [all] }, ...view },
    { op: opNamed('narrow'), inputs: [row], outputs: [part], attrs: narrow, ...view },
    {
      op: opNamed('reshape'),
      inputs: [part],
      outputs: [id],
      attrs: { shape: meta.shape },
      ...view,
    },
  ];
}
