import { condOp } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { protectionAt } from '../../vm/bytecode/protection.ts';
import { expectNoLeavesInside } from '../autograd/leaves-inside.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { absent, type DeviceScalar, known, type Variable } from '../variables/variable.ts';
import { type ArrayContent, arraysOfLengths } from './lists/array-lengths.ts';
import { Grows, withGrown } from './lists/growable-array.ts';
import type { Build, Values } from './merge/build-structure.ts';
import { isSame } from './merge/is-same.ts';
import type { Leaf } from './merge/leaf.ts';
import { leafTensor, leafVariable } from './merge/leaves.ts';
import { differing, givenAt, unmergeable } from './merge/mismatch.ts';
import { PhiMerger } from './merge/phi-merger.ts';
import { flagsOfBranch } from './merge/requires-grad.ts';
import { check } from './numbers/check.ts';
import { asTruth } from './numbers/scalars.ts';
import { isWhole, noteWhole } from './numbers/whole-numbers.ts';
import { numberOf, type PathEnd } from './path.ts';
import { isFixed, type Place } from './places/place.ts';
import { madeObjects } from './places/reachable.ts';
import { type State, stateOf } from './places/state.ts';
import { capturedByAny, RegionBuilder } from './region-builder.ts';
import { isRead, type Start, type TracedBranch, traceBranch } from './trace-branch.ts';

/**
 * Follows both ways of a decision that only the run can make, and appends one `cond` whose results are all
 * that they leave different: registers that are read later, contents of objects, what is to be written
 * after the run. Afterwards the trace stands where both ways end. Where one way can do nothing but throw,
 * the program checks that it isn't taken.
 */
export function traceCond(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  starts: readonly [Start, Start],
): PathEnd {
  return withGrown(t, () => traceCondAs(t, frame, test, starts));
}

function traceCondAs(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  starts: readonly [Start, Start],
): PathEnd {
  const made = madeObjects(t);
  const truth = asTruth(t, test);
  const before = stateOf(t, frame, made);
  const ways: TracedBranch[] = [];
  for (const [way, start] of starts.entries()) {
    try {
      ways.push(traceBranch(t, frame, new RegionBuilder(t.surroundings), made, start));
    } catch (error) {
      if (!isThrow(error) || mayBeCaught(t, error)) throw uncertain(error);
      const other = starts[1 - way]!;
      check(t, truth, way === 1);
      return orOnlyThrows(other);
    }
  }
  const joined = new Join(t, frame, ways, (variable) => made.has(variable));
  const changed = changedPlaces(t, frame, before, ways);
  const arrays = arraysOfLengths(
    t,
    changed.map(([place]) => place),
    before,
    ways,
  );
  for (const [place, values] of changed) {
    const isOfThem = place.part === 'element' && place.array && arrays.has(place.array);
    if (!isOfThem) joined.add(place, values);
  }
  for (const { places, contents } of arrays.values()) joined.addElements(places, contents);
  const targets = [...new Set(ways.flatMap(({ end }) => end.targets))];
  const which = targets.length > 1 ? joined.addNamed('the way', ways.map(whichOf)) : null;
  const values = ways.map(({ end }) => end.value);
  const value = values.some((each) => each) ? joined.addNamed('the returned value', values) : null;
  const results = appendCond(t, truth, ways, joined.leaves);
  const build = joined.finish(results);
  const found = which && build(which);
  return {
    targets,
    which: found?.kind === 'scalar' ? found : null,
    value: value && build(value),
  };
}

/** A throw would be caught. */
export function isProtected({ closure, pc }: TraceFrame): boolean {
  return protectionAt(closure.code, pc) !== undefined;
}

/**
 * The code goes on at a `catch` or `finally` of its own. Where an op refuses its operands, all is to be one program
 * nevertheless: a run that comes there ends without an effect, and the call runs as it is written.
 */
function mayBeCaught(t: Tracer, error: unknown): boolean {
  if (!t.frames.some(isProtected)) return false;
  const isThrown = error instanceof GraphBreak && error.reason === 'throw';
  return isThrown || t.control.policy !== 'always';
}

/** By the code, or by an op that refuses what it would get there. */
function isThrow(error: unknown): boolean {
  if (error instanceof RejectedEagerly) return true;
  if (!(error instanceof GraphBreak)) return false;
  return error.reason === 'throw' || (error.reason === 'op-error' && error.cause instanceof Error);
}

/** Where the other path throws as well, nothing else can follow the decision. */
function orOnlyThrows(other: Start): PathEnd {
  try {
    return other();
  } catch (error) {
    if (error instanceof GraphBreak && error.reason === 'throw') error.isCertain ??= true;
    throw error;
  }
}

/** The graph ends at the decision, and the other path may not throw. */
function uncertain(error: unknown): unknown {
  if (error instanceof GraphBreak) error.isCertain = false;
  return error;
}

function whichOf({ end }: TracedBranch): Variable {
  return end.which ?? known(numberOf(end.targets[0]!));
}

/** Places that a way leaves with another value, and what each of them leaves where that is read. */
function changedPlaces(
  t: Tracer,
  frame: TraceFrame,
  before: State,
  ways: readonly TracedBranch[],
): [Place, Values][] {
  const keys = new Set(
    [before, ...ways.map(({ state }) => state)].flatMap((state) => [...state.keys()]),
  );
  const changed: [Place, Values][] = [];
  for (const key of keys) {
    const original = before.get(key);
    const { place } = original ?? ways.find(({ state }) => state.has(key))!.state.get(key)!;
    const first = original?.value ?? (place.part ? absent : place.outside?.(t));
    const now = ways.map(({ state, end }) =>
      isRead(frame, end.targets, place) ? (state.get(key) ?? null) : undefined,
    );
    const values = now.map((held) => {
      if (held === undefined) return null;
      return held?.value ?? (place.part ? absent : (first ?? null));
    });
    if (place.array && place.part === undefined && !original) {
      // It became a list on one of the ways: it is to be one before.
      if (place.form) throw new Grows(place.array, place.form);
      continue;
    }
    const agreed = place.agreed?.(values.filter((value) => value !== null));
    if (agreed) {
      if (!first || !isSame(t, agreed, first)) changed.push([place, values.map(() => agreed)]);
      continue;
    }
    const differs = now.some((held, way) => {
      const value = values[way];
      if (!value || (held && original && held.raw === original.raw)) return false;
      return !(first && isSame(t, value, first));
    });
    if (!differs) continue;
    if (isFixed(place)) {
      const lines = ways.map(({ end }) => givenAt(frame, place, end));
      throw unmergeable(`a branch or loop changes ${place.name}`, lines);
    }
    changed.push([place, values]);
  }
  // Structures are found first where all ways have them; keys are put in order when all are there.
  const rank = ([{ agreed }, values]: [Place, Values]) =>
    agreed ? 2 : values.includes(null) ? 1 : 0;
  return changed.sort((a, b) => rank(a) - rank(b));
}

/** Collects what several ways leave different. */
class Join {
  readonly #unifier: PhiMerger;
  readonly #t: Tracer;
  readonly #frame: TraceFrame;
  readonly #ways: readonly TracedBranch[];
  readonly #placed: { readonly place: Place; readonly part: Build }[] = [];

  constructor(
    t: Tracer,
    frame: TraceFrame,
    ways: readonly TracedBranch[],
    isOld: (variable: Variable) => boolean,
  ) {
    this.#t = t;
    this.#unifier = new PhiMerger(t, isOld, new Set(ways.map(({ region }) => region.builder)));
    this.#frame = frame;
    this.#ways = ways;
  }

  get leaves(): readonly Leaf[] {
    return this.#unifier.leaves;
  }

  add(place: Place, values: Values): void {
    this.#placed.push({ place, part: this.#add(place, values) });
  }

  /** Of an array whose length is chosen. */
  addElements(places: readonly Place[], contents: readonly ArrayContent[]): void {
    for (const [index, place] of places.entries()) {
      const part = differing(place.name, this.#lines(place), (tell) =>
        this.#unifier.addElement(contents, index, tell),
      );
      this.#placed.push({ place, part });
    }
  }

  addNamed(name: string, values: Values): Build {
    return this.#add({ name, register: null }, values);
  }

  #add(place: Pick<Place, 'name' | 'register'>, values: Values): Build {
    return differing(place.name, this.#lines(place), (tell) => this.#unifier.add(values, tell));
  }

  #lines(place: Pick<Place, 'register'>) {
    return () => this.#ways.map(({ end }) => givenAt(this.#frame, place, end));
  }

  /** Puts the results into their places; answers how to have the other parts. */
  finish(results: readonly Tensor[]): (part: Build) => Variable {
    const variables = this.leaves.map((leaf, i) => {
      const isNumber =
        leaf.kind === 'number' && leaf.values.every((each) => !each || isWhole(each));
      if (isNumber) noteWhole(results[i]!);
      return leafVariable(this.#t, leaf, results[i]!);
    });
    const made = new Map<Build, Variable>();
    const build = (part: Build) => part(variables, made);
    for (const { place, part } of this.#placed) place.set(this.#t, build(part));
    return build;
  }
}

/** Without leaves the ways differ in nothing that is read, but one may have an effect of its own. */
function appendCond(
  t: Tracer,
  truth: Tensor,
  ways: readonly TracedBranch[],
  leaves: readonly Leaf[],
): Tensor[] {
  if (leaves.length === 0 && ways.every(({ region }) => !region.builder.hasEffect())) return [];
  const outputs = ways.map(({ region, disposed }, way) =>
    t.inRegion(region, () =>
      leaves.map((leaf) => leafTensor(t, leaf, way, truth.device, disposed)),
    ),
  );
  const regions = ways.map(({ region }) => region);
  const read = outputs.map((own, way) =>
    own.map((each, i) => (leaves[i]!.kind === 'tensor' && leaves[i]!.values[way] ? each : null)),
  );
  const { flags, note } = flagsOfBranch(t, regions, read);
  const left = outputs.map((own, way) => [...own, ...flags[way]!]);
  for (const [way, region] of regions.entries()) {
    expectNoLeavesInside(t, region, left[way]!);
    region.captureAll(left[way]!);
  }
  const captured = capturedByAny(t.builder, regions);
  const programs = regions.map((region, way) => region.finish(captured, left[way]!));
  const results = t.execution.appendControl(condOp, [truth, ...captured], programs);
  note(results);
  return results;
}
