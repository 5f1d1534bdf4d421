import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { operandUse } from '../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { whileNotLarger } from './while-not-larger.ts';

/** A memory that backward reads and that is saved for no other reason. */
interface Candidate {
  readonly root: ValueId;
  readonly definition: number;
  /** The values that are read: the memory itself, or views of all its elements in their order. */
  readonly reads: ReadonlySet<ValueId>;
  readonly firstRead: number;
}

export type Like = Pick<ProgramOp, 'at' | 'recordsGrad'>;

/** A form in which values can be saved. */
interface SavedForm {
  /** The metas of what is saved in place of a value; null if the value itself is saved. */
  metasOf(meta: TensorMeta): readonly TensorMeta[] | null;
  encoding(root: ValueId, codes: ValueId[], like: Like): ProgramOp;
  /** The op that turns codes back into a value of this meta. */
  decoding(codes: ValueId[], value: ValueId, like: Like, meta: TensorMeta): ProgramOp;
}

/**
 * Saves the values that forward computes for backward in another form, and decodes each in backward right before its
 * first use, if that needs no more bytes. Inputs, outputs, and values with a saved strided view keep their form.
 */
export function* savedAs(staged: Staged, context: PassContext, form: SavedForm): Steps<Staged> {
  const late = lateOps(staged, context);
  const candidates = candidatesIn(staged, late, form);
  if (candidates.length === 0) return staged;
  return yield* whileNotLarger(staged, context, candidates, (chosen) =>
    rewritten(staged, late, chosen, form),
  );
}

/** For each op, whether it belongs to backward: in a whole step, the ops traced in `backward()` or `grad()`. */
function lateOps({ program, firstLate }: Staged, { stage }: PassContext): readonly boolean[] {
  return program.ops.map((op, i) => (stage === 'joint' ? i >= firstLate : op.backward === true));
}

function candidatesIn(
  { program, alsoRead }: Staged,
  late: readonly boolean[],
  form: SavedForm,
): Candidate[] {
  const { ops, values, inputs, outputs } = program;
  const facts = ProgramFacts.of(program);
  const held = new Set([...outputs, ...alsoRead, ...inputs].map((id) => facts.memoryOf(id)));
  const found = new Map<ValueId, { readonly reads: Set<ValueId>; readonly firstRead: number }>();
  const refused = new Set<ValueId>();
  ops.forEach((op, i) => {
    if (!late[i]) return;
    op.inputs.forEach((id, operand) => {
      if (operandUse(op.op, operand) === 'shape' || late[facts.definitionIndex(id)]) return;
      const root = facts.rootOf(id);
      if (isFree(root)) return;
      const uses = found.get(root) ?? { reads: new Set(), firstRead: i };
      uses.reads.add(id);
      found.set(root, uses);
      const isAlike = sizeOf(values[id]!.shape) === sizeOf(values[root]!.shape);
      const isForwarded = op.op.kernel.kind === 'control';
      if (isForwarded || !isAlike || !isContiguousMeta(values[id]!)) refused.add(root);
    });
  });
  return [...found].flatMap(([root, own]) => {
    const definition = facts.definitionIndex(root);
    const op = ops[definition]!;
    if (refused.has(root) || op.op.kernel.kind === 'control' || op.checkpoint !== undefined)
      return [];
    return [{ root, definition, ...own }];
  });

  /** Whether saving the memory takes no bytes of its own, or no form takes fewer. */
  function isFree(root: ValueId): boolean {
    if (!isContiguousMeta(values[root]!)) return true;
    if (facts.definitionIndex(root) < 0 || held.has(facts.memoryOf(root))) return true;
    if (facts.isWritten(root)) return true;
    const metas = form.metasOf(values[root]!);
    if (!metas) return true;
    const bytes = metas.reduce((sum, _, i) => sum + bytesOf(metas, i as ValueId), 0);
    return bytes >= bytesOf(values, root);
  }
}

function rewritten(
  staged: Staged,
  late: readonly boolean[],
  candidates: readonly Candidate[],
  form: SavedForm,
): Staged {
  const { program, firstLate } = staged;
  const values = [...program.values];
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  const behind = new Map<number, ProgramOp[]>();
  const before = new Map<number, ProgramOp[]>();
  const renamed = new Map<ValueId, ValueId>();
  for (const { root, definition, reads, firstRead } of candidates) {
    const codes = form.metasOf(values[root]!)!.map(newValue);
    const whole = newValue(values[root]!);
    const like = (index: number) => ({ at: program.ops[index]!.at, recordsGrad: false });
    const casts = getOrInsert(behind, definition, () => []);
    casts.push(form.encoding(root, codes, like(definition)));
    const inserted = getOrInsert(before, firstRead, () => []);
    inserted.push(form.decoding(codes, whole, like(firstRead), values[root]!));
    renamed.set(root, whole);
    for (const id of reads) {
      if (id === root) continue;
      const view = newValue(values[id]!);
      const attrs = { shape: values[id]!.shape };
      const reshaped = { op: opNamed('reshape'), inputs: [whole], outputs: [view], attrs };
      inserted.push({ ...like(firstRead), ...reshaped });
      renamed.set(id, view);
    }
  }
  const ops = program.ops.flatMap((op, i): ProgramOp[] => {
    if (late[i]) {
      // A value read only for its shape has no data to convert.
      const inputs = op.inputs.map((id, operand) =>
        operandUse(op.op, operand) === 'shape' ? id : (renamed.get(id) ?? id),
      );
      return [...(before.get(i) ?? []), { ...op, inputs }];
    }
    return [op, ...(behind.get(i) ?? [])];
  });
  const added = [...behind, ...before].filter(([at]) => at < firstLate);
  const growth = added.reduce((sum, [, own]) => sum + own.length, 0);
  return { ...staged, program: { ...program, values, ops }, firstLate: firstLate + growth };
}
