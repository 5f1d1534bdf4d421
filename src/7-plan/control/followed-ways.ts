import type { GivenOperand } from '../../../runtime/program/dynamic-call.ts';
import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import { type EnteringAlone, enterScope, Follower, highest } from './follow.ts';
import { type FollowedScope, type Piece, RunMemory } from './run-memory.ts';
import type { UniformWay } from './ways.ts';
import type { Followed, FollowWay } from './worst-way.ts';

/** Memory between two steps. */
interface MemoryState {
  readonly scope: FollowedScope;
  readonly live: number;
}

/** A step that decides: the memory before it, and what tells the memory after it. */
interface Turnout {
  readonly before: MemoryState;
  readonly after: string;
}

interface FollowedForward extends Followed {
  readonly way: UniformWay;
  readonly turnouts: ReadonlyMap<number, Turnout>;
  /** The step in which an op is met, in a region of it or itself, where a turnout is there of it. */
  readonly stepOf: ReadonlyMap<ProgramOp, number>;
}

/**
 * Follows a forward plan on many ways. A way that is another but for one decision begins at the step that
 * decides, and ends with it where it leaves the same memory.
 */
export function forwardWays(
  plan: Plan,
  values: ValueTable,
  entering: EnteringAlone,
): FollowWay<FollowedForward> {
  const memoryAtStart = new RunMemory();
  const scopeAtStart: FollowedScope = new Map();
  const donatedBytes = enterScope(plan, values, entering, memoryAtStart, scopeAtStart);
  const start: MemoryState = { scope: scopeAtStart, live: memoryAtStart.live };
  return (way, like) => {
    const at = like?.followed.stepOf.get(like.but);
    const turnout = at === undefined ? undefined : like!.followed.turnouts.get(at);
    return turnout ? followFrom(way, like!.followed, at!, turnout) : followAll(way);
  };

  function followAll(way: UniformWay): FollowedForward {
    const state = copyOf(start);
    const memory = new RunMemory(state.live);
    const follower = new Follower(way, memory);
    const stepOf = new Map<ProgramOp, number>();
    const turnouts = new Map<number, Turnout>();
    const peaks = plan.steps.map((step, i) => {
      const decides = step.op.op.kernel.kind === 'control';
      const before = decides ? copyOf({ scope: state.scope, live: memory.live }) : null;
      const peak = follower.peakOf(step, plan, values, state.scope);
      if (before) {
        turnouts.set(i, { before, after: keyOf(state.scope) });
        for (const op of way.options.keys()) if (!stepOf.has(op)) stepOf.set(op, i);
      }
      return peak - donatedBytes;
    });
    const peakBytes = highest(start.live - donatedBytes, peaks);
    return { way, peaks, peakBytes, steps: follower.steps, stepOf, turnouts };
  }

  function followFrom(
    way: UniformWay,
    other: FollowedForward,
    at: number,
    { before, after }: Turnout,
  ): FollowedForward {
    const meet = (isMet: (step: number) => boolean) => {
      for (const [op, options] of other.way.options) {
        if (isMet(other.stepOf.get(op) ?? Number.POSITIVE_INFINITY)) way.options.set(op, options);
      }
    };
    meet((step) => step < at);
    const state = copyOf(before);
    const follower = new Follower(way, new RunMemory(state.live));
    const peaks = [...other.peaks];
    const run = (step: number) => {
      const peak = follower.peakOf(plan.steps[step]!, plan, values, state.scope);
      peaks[step] = peak - donatedBytes;
    };
    run(at);
    const stepOf = new Map(other.stepOf);
    for (const op of way.options.keys()) if (!stepOf.has(op)) stepOf.set(op, at);
    const key = keyOf(state.scope);
    if (key === after) meet((step) => step > at);
    else for (let step = at + 1; step < plan.steps.length; step++) run(step);
    const turnouts = new Map([[at, { before, after: key }]]);
    const peakBytes = highest(start.live - donatedBytes, peaks);
    return { way, peaks, peakBytes, steps: follower.steps, stepOf, turnouts };
  }
}

function copyOf({ scope, live }: MemoryState): MemoryState {
  const copies = new Map<Piece, Piece>();
  const scopeCopy = (from: FollowedScope): FollowedScope => {
    const to: FollowedScope = new Map();
    for (const [id, piece] of from) to.set(id, pieceCopy(piece));
    return to;
  };
  const pieceCopy = (piece: Piece): Piece => {
    const known = copies.get(piece);
    if (known) return known;
    const copy = {
      ...piece,
      ...(piece.tape && {
        tape: piece.tape.map((run) => ({ ...run, scope: scopeCopy(run.scope) })),
      }),
      ...(piece.items && { items: piece.items.map((item) => item && pieceCopy(item)) }),
    };
    copies.set(piece, copy);
    return copy;
  };
  return { scope: scopeCopy(scope), live };
}

const numbers = new WeakMap<PlannedSubgraph | readonly GivenOperand[], number>();
let next = 0;

/** Of something that is told by identity. */
function numberOf(object: PlannedSubgraph | readonly GivenOperand[]): number {
  let number = numbers.get(object);
  if (number === undefined) {
    number = next++;
    numbers.set(object, number);
  }
  return number;
}

/** Equal for scopes with the same pieces, owned alike: whatever comes then has the same bytes. */
function keyOf(scope: FollowedScope): string {
  const places = new Map<Piece, number>();
  const scopeKey = (each: FollowedScope): string =>
    [...each]
      .sort(([a], [b]) => a - b)
      .map(([id, piece]) => `${id}:${pieceKey(piece)}`)
      .join();
  const pieceKey = (piece: Piece): string => {
    const known = places.get(piece);
    if (known !== undefined) return `@${known}`;
    places.set(piece, places.size);
    const { bytes, owners, tape, items, mark, shape } = piece;
    let key = `${bytes}/${owners}`;
    for (const { region, scope: inner, given } of tape ?? []) {
      key += `[${numberOf(region)} ${given ? numberOf(given) : ''} ${scopeKey(inner)}]`;
    }
    if (items) key += `(${items.map((item) => (item ? pieceKey(item) : '-')).join()})`;
    if (mark) key += `#${mark.index}/${mark.length}`;
    if (shape) key += `x${shape.join('x')}`;
    return key;
  };
  return scopeKey(scope);
}
