import { isAlias, rowCutsOf } from '../../runtime/program/fused/row-parts.ts';
import { tilePartKind } from '../../runtime/program/fused/tiled-parts.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { mayBeSlower } from '../programs/memory-options.ts';
import { once } from '../programs/once.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { fusedForm } from './fuse/fused-form.ts';
import { tiledForm } from './fuse/tile-attention.ts';
import { ForwardFacts } from './recompute/forward-facts.ts';
import { forwardOfStep } from './recompute/forward-of-step.ts';
import { recomputeInBackward } from './recompute/recompute-in-backward.ts';
import { type EstimatedTimes, isNoSlower, roughTimes } from './slices/rough-time.ts';
import type { Fusion } from './unless-larger.ts';
import { whileNotLarger } from './while-not-larger.ts';

/** The values of one attention call that are as large as its scores. */
type Scores = ReadonlySet<ValueId>;

/**
 * Recomputes the scores and weights of attention in backward instead of saving them: the product of each head's queries
 * and keys, and everything that elementwise ops, softmax and dropout compute from it. They fuse with backward's ops
 * over the same heads (`fuseRows`), so the scores exist for a few heads at a time. Bitwise identical: the same ops on
 * the same operands, with counter-based random numbers. Scores are kept if recomputing them would take more bytes, or,
 * unless bytes are preferred or limited, if a time model predicts a slower program.
 */
export function* recomputeScores(original: Staged, context: PassContext): Steps<Staged> {
  const { program, firstLate, alsoRead } = original;
  if (!program.ops.some((op) => isScores(op, program))) return original;
  const isForward =
    context.stage === 'joint' ? (index: number) => index < firstLate : forwardOfStep(program);
  const facts = new ForwardFacts(program, isForward, [...alsoRead, ...program.outputs]);
  const candidates = scoresOf(facts);
  if (candidates.length === 0) return original;
  const defined = facts.forward.flatMap((index) => program.ops[index]!.outputs);
  const rewritten = (chosen: readonly Scores[]): Staged => {
    const again = new Set(chosen.flatMap((scores) => [...scores]));
    const stays = new Set(defined.filter((id) => !again.has(id)));
    return { ...original, program: recomputeInBackward(facts, stays).program };
  };
  const isAllowed = mayBeSlower(context.memory);
  // Tiles compute the scores three times.
  const isByTiles = program.values.some(({ device }) => device.mostTileColumns > 0);
  if (isByTiles && !isAllowed) return original;
  const form = tiledAndFused();
  const timesOf = ({ program, alsoRead }: Staged): EstimatedTimes =>
    roughTimes(form(program, new Set([...alsoRead, ...program.outputs])));
  const timesBefore = once(() => timesOf(original));
  return yield* whileNotLarger(original, context, candidates, rewritten, {
    forms: [form],
    isFastEnough: (staged) => isAllowed || isNoSlower(timesOf(staged), timesBefore()),
  });
}

/**
 * Returns the fusion that predicts the form that runs if bytes are preferred: with tiles where the device has them.
 * Caches the form: finding it takes longer than estimating the bytes and the time of a whole step.
 */
function tiledAndFused(): Fusion {
  const known = new WeakMap<Program['ops'], { staying: ReadonlySet<ValueId>; form: Program }>();
  return (program, staying) => {
    const before = known.get(program.ops);
    if (before && isSameSet(before.staying, staying)) return before.form;
    const form = fusedForm(tiledForm(program, staying), staying);
    known.set(program.ops, { staying, form });
    return form;
  };
}

function isSameSet(one: ReadonlySet<ValueId>, other: ReadonlySet<ValueId>): boolean {
  return one.size === other.size && [...one].every((id) => other.has(id));
}

/** Whether the op is a batched matrix product, which may compute attention scores. */
function isScores(op: ProgramOp, { values }: Program): boolean {
  if (op.op.name !== 'matmul' || values[op.outputs[0]!]!.shape.length < 3) return false;
  return mayGoBySteps(op, values);
}

/** Whether the op may be part of a fused op that computes a few heads, or one tile of each, at a time. */
function mayGoBySteps(op: ProgramOp, values: Program['values']): boolean {
  if (tilePartKind(op, values) !== null || isAlias(op, values)) return true;
  return !op.op.inPlace && rowCutsOf(op, values).length > 0;
}

/** Ops that turn scores into weights: softmax as a whole, or `exp` where it is written by hand. */
const weighing: ReadonlySet<string> = new Set(['softmax', 'exp']);

/**
 * The random numbers that a value is computed from, and intermediate elementwise results, if a tiled kernel can
 * redraw them on the fly. Empty if it depends on anything else.
 */
function drawnFor(id: ValueId, facts: ForwardFacts): readonly ValueId[] {
  const { ops, values } = facts.program;
  const index = facts.definitionIndex(id);
  if (index < 0 || !facts.isForward(index)) return [];
  const kind = tilePartKind(ops[index]!, values);
  if (kind === 'uniform') return [id];
  const [of, ...others] = ops[index]!.inputs;
  if ((kind !== 'pointwise' && kind !== 'alias') || of === undefined || others.length > 0)
    return [];
  const drawn = drawnFor(of, facts);
  return drawn.length > 0 ? [...drawn, id] : [];
}

/** Maps each product of heads to the values of its size that are computed from it, if backward reads any of them. */
function scoresOf(facts: ForwardFacts): Scores[] {
  const { ops, values } = facts.program;
  const owner = new Map<ValueId, Set<ValueId>>();
  const found: Set<ValueId>[] = [];
  for (const index of facts.forward) {
    const op = ops[index]!;
    const [result] = op.outputs;
    if (result === undefined || op.outputs.length > 1 || op.checkpoint !== undefined) continue;
    if (isScores(op, facts.program)) {
      const scores = new Set([result]);
      owner.set(result, scores);
      found.push(scores);
      continue;
    }
    const from = op.inputs.map((id) => owner.get(id)).find((scores) => scores !== undefined);
    if (!from || sizeOf(values[result]!.shape) < sizeOf(values[[...from][0]!]!.shape)) continue;
    if (!mayGoBySteps(op, values)) continue;
    owner.set(result, from);
    from.add(result);
    for (const id of op.inputs) for (const drawn of drawnFor(id, facts)) from.add(drawn);
  }
  return found.filter((scores) => {
    const roots = [...scores].filter((id) => facts.rootOf(id) === id);
    const isWeighed = roots.some((id) => weighing.has(ops[facts.definitionIndex(id)]!.op.name));
    return isWeighed && roots.some((id) => facts.isReadByBackward(id));
  });
}
