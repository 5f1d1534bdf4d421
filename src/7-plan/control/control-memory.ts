import type { BackwardPart, Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import { handedOver } from '../../../runtime/run-program/control/handed-over.ts';
import { type EnteringAlone, type FollowedBytes, FollowedRun, type Observer } from './follow.ts';
import { forwardWays } from './followed-ways.ts';
import { type FollowedScope, heldBy, type Piece } from './run-memory.ts';
import { UniformWay } from './ways.ts';
import { worstWay } from './worst-way.ts';

/** What one control op does with memory on one way through the program, for who orders the ops. */
export interface ControlMemory {
  /** Bytes that come and go while it runs, beside what it makes; negative where operands go before that. */
  readonly scratch: number;
  /** The same in any order of the ops around: operands that die here may go at once. */
  readonly leastScratch: number;
  /** Per output; 0 where it is memory that was there before. */
  readonly made: readonly number[];
  /** Numbers of the operands that its tape holds. */
  readonly held: readonly number[];
}

/** A program that is followed, with what runs before it. */
export interface Followable {
  readonly values: ValueTable;
  readonly entering: EnteringAlone;
  /** For a backward program: the forward plan whose scope it goes on in. */
  readonly after: ForwardBefore | null;
}

export interface ForwardBefore {
  readonly plan: Plan;
  /** Per output, the gradient that enters the backward program. */
  readonly gradOutputs: BackwardPart['gradOutputs'];
  readonly entering: EnteringAlone;
}

/** Follows a plan on one way. */
export function followPlan(
  plan: Plan,
  { values, entering, after }: Followable,
  way: ConstructorParameters<typeof FollowedRun>[1],
  observer?: Observer,
): { readonly bytes: FollowedBytes; readonly run: FollowedRun } {
  const run = new FollowedRun({ values }, way);
  if (!after) return { bytes: run.forward(plan, entering, observer), run };
  run.forward(after.plan, after.entering);
  return { bytes: run.backward(plan, entering, after.gradOutputs, observer), run };
}

function worstWayOf(plan: Plan, followable: Followable): UniformWay {
  const { values, entering, after } = followable;
  if (!after) return worstWay(forwardWays(plan, values, entering));
  return worstWay((way) => followPlan(plan, followable, way).bytes);
}

/** A plan on the way that needs most. */
export interface WorstCase {
  readonly bytes: FollowedBytes;
  readonly control: ReadonlyMap<ProgramOp, ControlMemory>;
  /** The run, at its end. */
  readonly run: FollowedRun;
}

export function worstCase(plan: Plan, followable: Followable): WorstCase {
  const way = worstWayOf(plan, followable);
  const control = new Map<ProgramOp, ControlMemory>();
  const observer: Observer = (step, scope, run, memory) => {
    const before = new Set(scope.values());
    // A gradient that is missing takes nothing.
    const operands = step.op.inputs.map((id) => scope.get(id) ?? null);
    const most = memory.excursion(run);
    const made = madeBy(step.op, scope, before);
    const scratch = most - made.reduce(plus, 0);
    const moves = handedOver(step);
    const mayGo = operands.map((piece, i) => (moves[i] ? 0 : (piece?.bytes ?? 0))).reduce(plus, 0);
    const tape = scope.get(step.op.outputs.at(-1)!)?.tape
      ? scope.get(step.op.outputs.at(-1)!)!
      : null;
    const onTape = tape ? heldBy(tape) : new Set<Piece>();
    control.set(step.op, {
      scratch,
      leastScratch: scratch - mayGo,
      made,
      held: operands.flatMap((piece, i) => (piece && onTape.has(piece) ? [i] : [])),
    });
  };
  const { bytes, run } = followPlan(plan, followable, new UniformWay(way.chosen), observer);
  return { bytes, control, run };
}

const plus = (a: number, b: number) => a + b;

/** Bytes of the pieces that came with the op: each with the first output that holds it, those of a tape with it. */
function madeBy({ outputs }: ProgramOp, scope: FollowedScope, before: Set<Piece>): number[] {
  const known = new Set(before);
  for (const piece of before) for (const held of piece.tape ? heldBy(piece) : []) known.add(held);
  const count = (piece: Piece): number => {
    if (known.has(piece)) return 0;
    known.add(piece);
    return piece.bytes;
  };
  return outputs.map((id) => {
    const piece = scope.get(id);
    if (!piece) return 0;
    const held = piece.tape ? [...heldBy(piece)] : [];
    return [piece, ...held].map(count).reduce(plus, 0);
  });
}
