import { invariant } from '../../../runtime/errors/invariant.ts';
import { eq } from '../../../runtime/ops/pointwise.ts';
import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { type Loop, structureOf } from '../../bytecode/structure.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { TraceFrame, Tracer } from '../tracer.ts';
import type { Variable } from '../variable.ts';
import { follow, isRead, type Way } from './follow.ts';
import { leafTensor, leafVariable } from './leaves.ts';
import { differing } from './mismatch.ts';
import { numberOf, type PathEnd, reaches } from './path.ts';
import { capturedByAny, RegionBuilder } from './region-builder.ts';
import { constantTensor } from './scalars.ts';
import { isFixed, madeObjects, type Place, type State, stateOf } from './state.ts';
import { isSame, type Unified, unify } from './unify.ts';

/** The loop that begins where the frame stands, if the program is to hold it and isn't inside already. */
export function loopToConvert(t: Tracer, frame: TraceFrame): Loop | undefined {
  if (t.control.plans.isEmpty) return undefined;
  const { code } = frame.closure;
  const loop = structureOf(code).loops.get(frame.pc);
  if (!loop || t.control.isActive(frame, loop)) return undefined;
  return t.control.plans.of(code, loop) === 'while' ? loop : undefined;
}

/**
 * As a loop of the program; where that can't be, because the host counts its turns for instance, it is
 * followed turn by turn, and decisions that leave it are branches.
 */
export function convertOrUnroll(t: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  try {
    return convertLoop(t, frame, loop);
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    return t.control.plans.choose(frame.closure.code, loop, 'unrolled');
  }
}

/** What goes from turn to turn: a place, and its value at the start and after a turn as one structure. */
interface Carried {
  readonly place: Place;
  readonly unified: Unified;
}

/** More attempts than this to find what a loop carries mean that every turn adds something. */
const maxAttempts = 32;

/** The result of a return inside the loop is carried as a place of its own. */
const returnKey = 'return';

/**
 * Turns a loop whose end only the run can tell into one `while`. What it carries is found by following
 * the body: places that a turn leaves with another value become operands, until following it once more
 * adds none. The body ends at the header, or at one of the places behind the loop; a flag says whether
 * there is another turn. Afterwards the trace stands behind the loop.
 */
export function convertLoop(t: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  const made = madeObjects(t);
  const before = stateOf(t, frame, made);
  const carried = new Map<string, Carried>();
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const turn = new Turn(t, frame, loop, made, before, carried);
    if (turn.settled) return turn.append();
  }
  throw new GraphBreak('control-flow', 'a loop carries more with every turn');
}

/** One attempt to follow the body with what is known to be carried. */
class Turn {
  /** Nothing was added to what is carried. */
  readonly settled: boolean;
  readonly #t: Tracer;
  readonly #carried: ReadonlyMap<string, Carried>;
  readonly #way: Way;
  /** The start of each carried leaf, in the surrounding program. */
  readonly #starts: Tensor[] = [];
  /** Per carried place, start and end of this turn. */
  readonly #turned = new Map<string, Unified>();
  readonly #loop: Loop;

  constructor(
    t: Tracer,
    frame: TraceFrame,
    loop: Loop,
    made: ReadonlySet<Variable>,
    before: State,
    carried: Map<string, Carried>,
  ) {
    this.#t = t;
    this.#loop = loop;
    this.#carried = carried;
    const { device } = t;
    const flags = [constantTensor(t, true, device), constantTensor(t, 0, device)];
    for (const { unified } of carried.values()) {
      for (const leaf of unified.leaves) this.#starts.push(leafTensor(t, leaf, 0, device));
    }
    const region = new RegionBuilder(t.surroundings);
    let inside: State = before;
    this.#way = follow(t, frame, region, made, () => {
      for (const flag of flags) region.give(flag);
      this.#enter(region);
      inside = stateOf(t, frame, made);
      return t.runLoopBody(frame, loop);
    });
    this.#starts.unshift(...flags);
    this.settled = !this.#compare(frame, before, inside, carried);
  }

  /** The carried places show the operands of the body. */
  #enter(region: RegionBuilder): void {
    let index = 0;
    for (const { place, unified } of this.#carried.values()) {
      const inputs = unified.leaves.map((leaf) =>
        leafVariable(this.#t, leaf, region.give(this.#starts[index++]!)),
      );
      if (place.key !== returnKey) place.set(this.#t, unified.build(inputs));
    }
  }

  /** True when something is carried that wasn't known to be, or not in this form. */
  #compare(
    frame: TraceFrame,
    before: State,
    inside: State,
    carried: Map<string, Carried>,
  ): boolean {
    const { state, end } = this.#way;
    let added = false;
    const carry = (
      place: Place,
      first: Variable | null,
      last: Variable | null,
      now: Variable | null,
    ) => {
      const names = [end.at];
      const fresh = differing(place.name, names, () => unify(this.#t, [first, last]));
      const known_ = carried.get(place.key);
      this.#turned.set(
        place.key,
        differing(place.name, names, () => unify(this.#t, [now, last])),
      );
      if (known_ && sameLeaves(known_.unified, fresh)) return;
      carried.set(place.key, { place, unified: fresh });
      added = true;
    };
    for (const [key, { place, value: last }] of state) {
      const now = inside.get(key)?.value ?? place.outside?.(this.#t) ?? null;
      const read = isRead(frame, end.targets, place);
      const changed = read && !(now && isSame(this.#t, now, last));
      if (!changed && !carried.has(key)) continue;
      if (isFixed(place)) {
        throw new GraphBreak('control-flow', `${place.name} changes in a loop of the graph`);
      }
      const live = isRead(frame, [this.#loop.header], place);
      const first = live ? (before.get(key)?.value ?? now) : null;
      carry(place, first, read ? last : null, now);
    }
    if (end.value) {
      const place: Place = { key: returnKey, name: 'the returned value', register: null, set() {} };
      carry(place, null, end.value, null);
    }
    return added;
  }

  /** Appends the op and puts its results into the places. */
  append(): PathEnd {
    const t = this.#t;
    const { region, end } = this.#way;
    const { device } = t;
    const { header } = this.#loop;
    if (end.targets.every((target) => target === header)) {
      throw new GraphBreak('control-flow', 'a loop never ends');
    }
    const outputs = t.inRegion(region, () => [
      ...this.#flags(end),
      ...[...this.#carried.keys()].flatMap((key) =>
        this.#turned.get(key)!.leaves.map((leaf) => leafTensor(t, leaf, 1, device)),
      ),
    ]);
    const test = new RegionBuilder(t.surroundings);
    for (const start of this.#starts) test.give(start);
    region.captureAll(outputs);
    const captured = capturedByAny(t.builder, [region]);
    const programs = [test.finish(captured, [test.given[0]!]), region.finish(captured, outputs)];
    const [, which, ...leaves] = t.appendControl(whileOp, [...this.#starts, ...captured], programs);
    let value: Variable | null = null;
    let index = 0;
    for (const [key, { place, unified }] of this.#carried) {
      const variables = unified.leaves.map((leaf) => leafVariable(t, leaf, leaves[index++]!));
      const built = unified.build(variables);
      if (key === returnKey) value = built;
      else place.set(t, built);
    }
    const targets = end.targets.filter((target) => target !== header);
    invariant(which, 'a loop answers where it ended');
    return { targets, which: { kind: 'scalar', type: 'number', tensor: which }, value };
  }

  /** Whether there is another turn, and where the body went. */
  #flags(end: PathEnd): Tensor[] {
    const t = this.#t;
    const { header } = this.#loop;
    if (!end.which) {
      const again = reaches(end, header);
      const where = numberOf(end.targets[0]!);
      return [constantTensor(t, again, t.device), constantTensor(t, where, t.device)];
    }
    const { tensor } = end.which;
    return [t.runApi(() => eq(tensor, header)), tensor];
  }
}

/** Operands of the same kinds, dtypes and shapes. */
function sameLeaves(a: Unified, b: Unified): boolean {
  return (
    a.leaves.length === b.leaves.length &&
    a.leaves.every((leaf, i) => leaf.kind === b.leaves[i]!.kind)
  );
}
