import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import {
  bitsMeta,
  fitsBits,
  type MaskRule,
  maskMeta,
  maskName,
  maskRuleOf,
  opsOf,
  unpacked,
} from './saved/mask-rules.ts';
import { whileNotLarger } from './while-not-larger.ts';

/** A memory whose elements backward only compares with constants. */
interface Candidate {
  readonly readers: readonly number[];
  /** Masks are computed before this op. */
  readonly position: number;
}

/**
 * Makes gradients of relu and similar ops read a mask of one byte per element (or one bit, `memory.savedMasks`) if
 * backward reads the saved values for nothing else: `dropWhere(dy, x <= 0)` instead of `reluGrad(dy, x)`. Where the
 * value is kept anyway, for another op, as an output or by the caller, a mask would only add bytes. Bitwise identical,
 * since the mask is the comparison that the gradient's kernel makes. Masks that would make the program need more bytes
 * are not used.
 */
export function* savedMasks(staged: Staged, context: PassContext): Steps<Staged> {
  const candidates = candidatesIn(staged, context);
  if (candidates.length === 0) return staged;
  const form = context.memory.savedMasks === 'bits' ? 'bits' : 'bytes';
  return yield* whileNotLarger(staged, context, candidates, (chosen) =>
    withMasks(staged, chosen, form),
  );
}

function candidatesIn({ program, firstLate, alsoRead }: Staged, { stage, memory }: PassContext) {
  const { ops, values } = program;
  if (!ops.some((op) => ruleOf(program, op))) return [];
  const facts = ProgramFacts.of(program);
  const held = new Set([...program.outputs, ...alsoRead, ...program.inputs].map(memoryOf));
  const seen = new Set<ValueId>();
  const candidates: Candidate[] = [];
  for (const op of ops) {
    if (!ruleOf(program, op)) continue;
    const root = facts.rootOf(op.inputs[1]!);
    if (seen.has(root)) continue;
    seen.add(root);
    const candidate = candidateOf(root);
    if (candidate) candidates.push(candidate);
  }
  return candidates;

  function candidateOf(root: ValueId): Candidate | null {
    const isCallers = held.has(memoryOf(root)) || facts.definitionIndex(root) < 0;
    if (isCallers || facts.isWritten(root)) return null;
    // Backward recomputes the values of a checkpointed call instead of saving them.
    if (facts.definitionOf(root)!.checkpoint !== undefined) return null;
    const all = facts.readersOfMemory(root);
    const readers = all.filter((index) => comparesOnly(index, root));
    const others = all.filter((index) => !comparesOnly(index, root));
    // A branch or loop may forward the memory.
    const isForwarded = [facts.definitionIndex(root), ...others].some(
      (index) => ops[index]!.op.kernel.kind === 'control',
    );
    if (isForwarded) return null;
    const definitions = readers.map((index) => facts.definitionIndex(ops[index]!.inputs[1]!));
    const position = Math.max(facts.definitionIndex(root), ...definitions) + 1;
    const [first] = readers;
    const lastOther = Math.max(-1, ...others);
    if (first === undefined || position > first || lastOther > first) return null;
    if (stage === 'joint' && (lastOther >= firstLate || first < firstLate)) return null;
    return bytesOfMasks(readers) < bytesOf(values, root) ? { readers, position } : null;
  }

  function comparesOnly(index: number, root: ValueId): boolean {
    const op = ops[index]!;
    return ruleOf(program, op) !== null && facts.rootOf(op.inputs[0]!) !== root;
  }

  function bytesOfMasks(readers: readonly number[]): number {
    const masks = new Map(readers.map((index) => [maskKey(program, ops[index]!), index]));
    const isInBits = memory.savedMasks === 'bits';
    const metas = [...masks.values()].map((index) => {
      const mask = maskMeta(values[ops[index]!.inputs[1]!]!);
      return isInBits && fitsBits(mask) ? bitsMeta(mask) : mask;
    });
    return metas.reduce((sum, _, i) => sum + bytesOf(metas, i as ValueId), 0);
  }

  function memoryOf(id: ValueId): ValueId {
    return facts.memoryOf(id);
  }
}

/** Whether the op is a gradient that could read a mask. */
export function readsMask(program: Program, op: ProgramOp): boolean {
  return ruleOf(program, op) !== null;
}

function ruleOf({ values }: Program, op: ProgramOp): MaskRule | null {
  return op.inputs.length === 2 ? maskRuleOf(op, values[op.inputs[0]!]!.dtype) : null;
}

/** Gradients with the same key share a mask. */
function maskKey(program: Program, op: ProgramOp): string {
  return maskName(op.inputs[1]!, ruleOf(program, op)!);
}

function withMasks(
  staged: Staged,
  candidates: readonly Candidate[],
  form: 'bits' | 'bytes',
): Staged {
  const { program } = staged;
  const values = [...program.values];
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  const replaced = new Map<number, ProgramOp[]>();
  const added = new Map<number, ProgramOp[]>();
  for (const { readers, position } of candidates) {
    const masks = new Map<string, ValueId>();
    const before = added.get(position) ?? [];
    added.set(position, before);
    for (const index of readers) {
      const op = program.ops[index]!;
      const [gradient, compared] = op.inputs as readonly [ValueId, ValueId];
      const rule = ruleOf(program, op)!;
      const key = maskKey(program, op);
      let mask = masks.get(key);
      if (mask === undefined) {
        const bools = () => newValue(maskMeta(values[compared]!));
        const like = { at: program.ops[position - 1]!.at, recordsGrad: false };
        mask = bools();
        before.push(...opsOf(rule.mask, { compared }, mask, bools, like));
        if (form === 'bits' && fitsBits(values[mask]!)) {
          const bits = newValue(bitsMeta(values[mask]!));
          before.push({
            ...like,
            op: opNamed('packBits'),
            inputs: [mask],
            outputs: [bits],
            attrs: {},
          });
          mask = bits;
        }
        masks.set(key, mask);
      }
      const inner = () => newValue(values[op.outputs[0]!]!);
      const isPacked = values[mask]!.dtype !== 'bool';
      const read = isPacked ? newValue(maskMeta(values[compared]!)) : mask;
      replaced.set(index, [
        ...(isPacked ? [unpacked(mask, read, values[read]!, op)] : []),
        ...opsOf(rule.gradient, { gradient, mask: read }, op.outputs[0]!, inner, op),
      ]);
    }
  }
  const ops = program.ops.flatMap((op, i) => [
    ...(added.get(i) ?? []),
    ...(replaced.get(i) ?? [op]),
  ]);
  const early = [...added].filter(([at]) => at <= staged.firstLate);
  const more = [...replaced].filter(([at]) => at < staged.firstLate);
  const growth =
    early.reduce((sum, [, own]) => sum + own.length, 0) +
    more.reduce((sum, [, own]) => sum + own.length - 1, 0);
  return { ...staged, program: { ...program, values, ops }, firstLate: staged.firstLate + growth };
}
