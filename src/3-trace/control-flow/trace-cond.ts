import { condOp } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { protectionAt } from '../../vm/bytecode/protection.ts';
import { isFixed, type Place } from '../state/location.ts';
import { capturedByAny, RegionBuilder } from '../state/region-builder.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { absent, type DeviceScalar, known, type Variable } from '../variables/variable.ts';
import { Grows, withGrown } from './lists/growable-array.ts';
import { madeObjects } from './locations/reachable.ts';
import { type State, stateOf } from './locations/state.ts';
import { type ArrayContent, arraysOfLengths } from './merge/array-lengths.ts';
import type { Build, Values } from './merge/build-structure.ts';
import { isSame } from './merge/is-same.ts';
import { leafTensor, leafVariable } from './merge/leaves.ts';
import { expectNoLeavesInside } from './merge/leaves-inside.ts';
import { differing, givenAt, unmergeable } from './merge/mismatch.ts';
import { PhiMerger } from './merge/phi-merger.ts';
import { flagsOfBranch } from './merge/requires-grad.ts';
import { check } from './numbers/check.ts';
import type { Leaf } from './numbers/leaf.ts';
import { asTruth } from './numbers/scalars.ts';
import { isWhole, noteWhole } from './numbers/whole-numbers.ts';
import { numberOf, type PathEnd } from './plans/path.ts';
import { isRead, type Start, type TracedBranch, traceBranch } from './trace-branch.ts';

/**
 * Follows both paths of a decision that only the run can make, and appends one `cond` whose results are all
 * that they leave different: registers that are read later, contents of objects, what is to be written
 * after the run. Afterwards the trace stands where both paths end. Where one path can do nothing but throw,
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
  const paths: TracedBranch[] = [];
  for (const [path, start] of starts.entries()) {
    try {
      paths.push(traceBranch(t, frame, new RegionBuilder(t.surroundings), made, start));
    } catch (error) {
      if (!isThrow(error) || mayBeCaught(t, error)) throw uncertain(error);
      const other = starts[1 - path]!;
      check(t, truth, path === 1);
      return orOnlyThrows(other);
    }
  }
  const joined = new Join(t, frame, paths, (variable) => made.has(variable));
  const changed = changedPlaces(t, frame, before, paths);
  const arrays = arraysOfLengths(
    t,
    changed.map(([place]) => place),
    before,
    paths,
  );
  for (const [place, values] of changed) {
    const isOfThem = place.part === 'element' && place.array && arrays.has(place.array);
    if (!isOfThem) joined.add(place, values);
  }
  for (const { places, contents } of arrays.values()) joined.addElements(places, contents);
  const targets = [...new Set(paths.flatMap(({ end }) => end.targets))];
  const which = targets.length > 1 ? joined.addNamed('the path', paths.map(whichOf)) : null;
  const values = paths.map(({ end }) => end.value);
  const value = values.some((each) => each) ? joined.addNamed('the returned value', values) : null;
  const results = appendCond(t, truth, paths, joined.leaves);
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

/** Locations that a path changes, with the values that each path produces where they are live. */
function changedPlaces(
  t: Tracer,
  frame: TraceFrame,
  before: State,
  paths: readonly TracedBranch[],
): [Place, Values][] {
  const keys = new Set(
    [before, ...paths.map(({ state }) => state)].flatMap((state) => [...state.keys()]),
  );
  const changed: [Place, Values][] = [];
  for (const key of keys) {
    const original = before.get(key);
    const { place } = original ?? paths.find(({ state }) => state.has(key))!.state.get(key)!;
    const first = original?.value ?? (place.part ? absent : place.outside?.(t));
    const now = paths.map(({ state, end }) =>
      isRead(frame, end.targets, place) ? (state.get(key) ?? null) : undefined,
    );
    const values = now.map((held) => {
      if (held === undefined) return null;
      return held?.value ?? (place.part ? absent : (first ?? null));
    });
    if (place.array && place.part === undefined && !original) {
      // It became a list on one of the paths: it is to be one before.
      if (place.form) throw new Grows(place.array, place.form);
      continue;
    }
    const agreed = place.agreed?.(values.filter((value) => value !== null));
    if (agreed) {
      if (!first || !isSame(t, agreed, first)) changed.push([place, values.map(() => agreed)]);
      continue;
    }
    const differs = now.some((held, path) => {
      const value = values[path];
      if (!value || (held && original && held.raw === original.raw)) return false;
      return !(first && isSame(t, value, first));
    });
    if (!differs) continue;
    if (isFixed(place)) {
      const lines = paths.map(({ end }) => givenAt(frame, place, end));
      throw unmergeable(`a branch or loop changes ${place.name}`, lines);
    }
    changed.push([place, values]);
  }
  // Structures are found first where all paths have them; keys are put in order when all are there.
  const rank = ([{ agreed }, values]: [Place, Values]) =>
    agreed ? 2 : values.includes(null) ? 1 : 0;
  return changed.sort((a, b) => rank(a) - rank(b));
}

/** Collects the values that differ between paths. */
class Join {
  readonly #unifier: PhiMerger;
  readonly #t: Tracer;
  readonly #frame: TraceFrame;
  readonly #paths: readonly TracedBranch[];
  readonly #placed: { readonly place: Place; readonly part: Build }[] = [];

  constructor(
    t: Tracer,
    frame: TraceFrame,
    paths: readonly TracedBranch[],
    isOld: (variable: Variable) => boolean,
  ) {
    this.#t = t;
    this.#unifier = new PhiMerger(t, isOld, new Set(paths.map(({ region }) => region.builder)));
    this.#frame = frame;
    this.#paths = paths;
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
    return () => this.#paths.map(({ end }) => givenAt(this.#frame, place, end));
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

/** Without leaves, no live value differs between the paths, but one of them may have an effect. */
function appendCond(
  t: Tracer,
  truth: Tensor,
  paths: readonly TracedBranch[],
  leaves: readonly Leaf[],
): Tensor[] {
  if (leaves.length === 0 && paths.every(({ region }) => !region.builder.hasEffect())) return [];
  const outputs = paths.map(({ region, disposed }, path) =>
    t.inRegion(region, () =>
      leaves.map((leaf) => leafTensor(t, leaf, path, truth.device, disposed)),
    ),
  );
  const regions = paths.map(({ region }) => region);
  const read = outputs.map((own, path) =>
    own.map((each, i) => (leaves[i]!.kind === 'tensor' && leaves[i]!.values[path] ? each : null)),
  );
  const { flags, note } = flagsOfBranch(t, regions, read);
  const left = outputs.map((own, path) => [...own, ...flags[path]!]);
  for (const [path, region] of regions.entries()) {
    expectNoLeavesInside(t, region, left[path]!);
    region.captureAll(left[path]!);
  }
  const captured = capturedByAny(t.builder, regions);
  const programs = regions.map((region, path) => region.finish(captured, left[path]!));
  const results = t.execution.appendControl(condOp, [truth, ...captured], programs);
  note(results);
  return results;
}
