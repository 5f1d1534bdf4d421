import { isContiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { ProgramFacts } from '../facts/program-facts.ts';

interface CopyOptions {
  /** Whether the same gradient must flow through both copies. */
  readonly recorded?: boolean;
  /** Values that leave the program besides its outputs: results of forward in a joint program. */
  readonly alsoRead?: readonly ValueId[];
}

/**
 * Replaces a second copy of the same elements in the same order, whatever its shape, by a view of the first copy. Only
 * where the first copy is live anyway, so no live range grows. `recorded`: the same gradient must also flow through
 * both.
 */
export function shareCopies(
  program: Program,
  { recorded = false, alsoRead = [] }: CopyOptions = {},
): Program {
  const facts = ProgramFacts.of(program);
  const first = new Map<string, ValueId>();
  // Copies that are outputs need memory of their own.
  const outputs = new Set([...program.outputs, ...alsoRead].map((id) => facts.rootOf(id)));
  const reshape = opNamed('reshape');
  let changed = false;
  const ops = program.ops.map((op, index): ProgramOp => {
    if (!isCopy(op.op)) return op;
    const [from, to] = [op.inputs[0]!, op.outputs[0]!];
    if (facts.isWritten(from) || facts.isWritten(to) || outputs.has(to)) return op;
    const history = recorded ? `${facts.isApart(from)}${op.recordsGrad}` : '';
    const key = `${facts.presentRootOf(from)}:${elementOrder(program.values[from]!)}${history}`;
    const known = first.get(key);
    if (known === undefined || facts.lastReadOfMemory(known) <= index) {
      first.set(key, to);
      return op;
    }
    changed = true;
    return { ...op, op: reshape, inputs: [known], attrs: { shape: program.values[to]!.shape } };
  });
  return changed ? { ...program, ops } : program;
}

export function isCopy(op: OpRecord): boolean {
  return op.kernel.kind === 'named' && op.kernel.name === 'copy';
}

/** A key that is equal for views of the same elements in the same order: adjacent dimensions are merged. */
function elementOrder(meta: TensorMeta): string {
  const { dtype, shape, strides, offset } = meta;
  if (isContiguousMeta(meta)) return `${dtype}@${offset}:${shape.reduce((n, size) => n * size, 1)}`;
  const joined: [size: number, stride: number][] = [];
  shape.forEach((size, dim) => {
    if (size === 1) return;
    const last = joined.at(-1);
    const stride = strides[dim]!;
    if (last && last[1] === stride * size) joined[joined.length - 1] = [last[0] * size, stride];
    else joined.push([size, stride]);
  });
  return `${dtype}@${offset}:${joined.map((pair) => pair.join('/')).join(',')}`;
}
