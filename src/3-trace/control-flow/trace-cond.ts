import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { isProtected } from '../state/exceptions.ts';
import { isFixed, type Location } from '../state/location.ts';
import { RegionBuilder } from '../state/region-builder.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { absent, type DeviceScalar, known, type Variable } from '../variables/variable.ts';
import { Grows, withGrowable } from './lists/growable-array.ts';
import { existingObjects } from './locations/reachable.ts';
import { type State, stateOf } from './locations/snapshot.ts';
import { appendBranches } from './merge/append-branches.ts';
import { type ArrayContent, arraysOfLengths } from './merge/array-lengths.ts';
import type { Build, Values } from './merge/build-structure.ts';
import { isSame } from './merge/is-same.ts';
import { leafTensor, leafVariable } from './merge/leaves.ts';
import { assignmentPosition, differing, unmergeable } from './merge/mismatch.ts';
import { PhiMerger } from './merge/phi-merger.ts';
import { check } from './numbers/check.ts';
import type { Leaf } from './numbers/leaf.ts';
import { asTruth } from './numbers/scalars.ts';
import { isWhole, noteWhole } from './numbers/whole-numbers.ts';
import { numberOf, type PathEnd } from './plans/path.ts';
import { isRead, type Start, type TracedBranch, traceBranch } from './trace-branch.ts';

/**
 * Traces both paths of a data-dependent decision and appends a `cond`. Its results are the values in which the
 * paths differ: registers that are read later, contents of objects, and pending effects. The trace then continues
 * where both paths end. If one path can only throw, the program checks that it isn't taken.
 */
export function traceCond(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  starts: readonly [Start, Start],
): PathEnd {
  return withGrowable(t, () => traceCondAs(t, frame, test, starts));
}

function traceCondAs(
  t: Tracer,
  frame: TraceFrame,
  test: DeviceScalar,
  starts: readonly [Start, Start],
): PathEnd {
  const existing = existingObjects(t);
  const truth = asTruth(t, test);
  const before = stateOf(t, frame, existing);
  const paths: TracedBranch[] = [];
  for (const [path, start] of starts.entries()) {
    try {
      const region = new RegionBuilder(t.surroundings);
      const trace = () => traceBranch(t, frame, region, existing, start);
      paths.push(t.control.inDecision(existing, trace));
    } catch (error) {
      if (!isThrow(error) || mayBeCaught(t, error)) throw uncertain(error);
      const other = starts[1 - path]!;
      check(t, truth, path === 1);
      return markCertainThrow(other);
    }
  }
  const joined = new Join(t, frame, paths, (variable) => existing.has(variable));
  const changed = changedLocations(t, frame, before, paths);
  const arrays = arraysOfLengths(
    t,
    changed.map(([location]) => location),
    before,
    paths,
  );
  for (const [location, values] of changed) {
    const isOfThem = location.part === 'element' && location.array && arrays.has(location.array);
    if (!isOfThem) joined.add(location, values);
  }
  for (const { locations, contents } of arrays.values()) joined.addElements(locations, contents);
  const targets = [...new Set(paths.flatMap(({ end }) => end.targets))];
  const which = targets.length > 1 ? joined.addNamed('the path', paths.map(tagOfBranch)) : null;
  const values = paths.map(({ end }) => end.value);
  const value = values.some((each) => each) ? joined.addNamed('the returned value', values) : null;
  const { closure, pc } = frame;
  const results = appendCond(t, truth, paths, joined.leaves);
  t.control.noteRegion(results, () => t.control.plans.followToEnd(closure.code, pc));
  const build = joined.finish(results);
  for (const each of t.autograd.checkpoints) each.merged?.();
  const found = which && build(which);
  return { targets, which: found?.kind === 'scalar' ? found : null, value: value && build(value) };
}

/**
 * Returns whether the code has a `catch` or `finally` around the decision. In a full graph, false if an op rejects its
 * operands: a run that gets there ends without effects, and the call runs natively.
 */
function mayBeCaught(t: Tracer, error: unknown): boolean {
  if (!isProtected(t)) return false;
  const isThrown = error instanceof GraphBreak && error.reason === 'throw';
  return isThrown || t.control.policy !== 'always';
}

/** Returns whether the error is thrown by user code, or by an op that rejects its operands. */
function isThrow(error: unknown): boolean {
  if (error instanceof RejectedEagerly) return true;
  if (!(error instanceof GraphBreak)) return false;
  return error.reason === 'throw' || (error.reason === 'op-error' && error.cause instanceof Error);
}

/** If the other path throws as well, nothing can follow the decision. */
function markCertainThrow(other: Start): PathEnd {
  try {
    return other();
  } catch (error) {
    if (error instanceof GraphBreak && error.reason === 'throw') error.isCertain ??= true;
    throw error;
  }
}

/** Ends the graph at the decision, since the other path may not throw. */
function uncertain(error: unknown): unknown {
  if (error instanceof GraphBreak) error.isCertain = false;
  return error;
}

function tagOfBranch({ end }: TracedBranch): Variable {
  return end.which ?? known(numberOf(end.targets[0]!));
}

/** Returns the locations that a path changes, with each path's live values. */
function changedLocations(
  t: Tracer,
  frame: TraceFrame,
  before: State,
  paths: readonly TracedBranch[],
): [Location, Values][] {
  const keys = new Set(
    [before, ...paths.map(({ state }) => state)].flatMap((state) => [...state.keys()]),
  );
  const changed: [Location, Values][] = [];
  for (const key of keys) {
    const original = before.get(key);
    const { location } = original ?? paths.find(({ state }) => state.has(key))!.state.get(key)!;
    const first = original?.value ?? (location.part ? absent : location.outside?.(t));
    const now = paths.map(({ state, end }) =>
      isRead(t, frame, end, location) ? (state.get(key) ?? null) : undefined,
    );
    const values = now.map((held) => {
      if (held === undefined) return null;
      return held?.value ?? (location.part ? absent : (first ?? null));
    });
    if (location.array && location.part === undefined && !original) {
      // The array became a list on one of the paths, so it must be one before them.
      if (location.form) throw new Grows(location.array, location.form);
      continue;
    }
    const agreed = location.agreed?.(values.filter((value) => value !== null));
    if (agreed) {
      if (!first || !isSame(t, agreed, first)) changed.push([location, values.map(() => agreed)]);
      continue;
    }
    const differs = now.some((held, path) => {
      const value = values[path];
      if (!value || (held && original && held.raw === original.raw)) return false;
      return !(first && isSame(t, value, first));
    });
    if (!differs) continue;
    if (isFixed(location)) {
      const lines = paths.map(({ end }) => assignmentPosition(frame, location, end));
      throw unmergeable(`a branch or loop changes ${location.name}`, lines);
    }
    changed.push([location, values]);
  }
  // Structures that exist on all paths come first. Keys are ordered once all of them exist.
  const rank = ([{ agreed }, values]: [Location, Values]) =>
    agreed ? 2 : values.includes(null) ? 1 : 0;
  return changed.sort((a, b) => rank(a) - rank(b));
}

/** Collects the values in which the paths differ. */
class Join {
  readonly #merger: PhiMerger;
  readonly #t: Tracer;
  readonly #frame: TraceFrame;
  readonly #paths: readonly TracedBranch[];
  readonly #located: { readonly location: Location; readonly part: Build }[] = [];

  constructor(
    t: Tracer,
    frame: TraceFrame,
    paths: readonly TracedBranch[],
    isOld: (variable: Variable) => boolean,
  ) {
    this.#t = t;
    this.#merger = new PhiMerger(t, isOld, new Set(paths.map(({ region }) => region.builder)));
    this.#frame = frame;
    this.#paths = paths;
  }

  get leaves(): readonly Leaf[] {
    return this.#merger.leaves;
  }

  add(location: Location, values: Values): void {
    this.#located.push({ location, part: this.#add(location, values) });
  }

  /** Adds the elements of an array whose length is a union. */
  addElements(locations: readonly Location[], contents: readonly ArrayContent[]): void {
    for (const [index, location] of locations.entries()) {
      const part = differing(location.name, this.#lines(location), (tell) =>
        this.#merger.addElement(contents, index, tell),
      );
      this.#located.push({ location, part });
    }
  }

  addNamed(name: string, values: Values): Build {
    return this.#add({ name, register: null }, values);
  }

  #add(location: Pick<Location, 'name' | 'register'>, values: Values): Build {
    return differing(location.name, this.#lines(location), (tell) =>
      this.#merger.add(values, tell),
    );
  }

  #lines(location: Pick<Location, 'register'>) {
    return () => this.#paths.map(({ end }) => assignmentPosition(this.#frame, location, end));
  }

  /** Stores the results in their locations; returns a function that builds the other parts. */
  finish(results: readonly Tensor[]): (part: Build) => Variable {
    const variables = this.leaves.map((leaf, i) => {
      const isNumber =
        leaf.kind === 'number' && leaf.values.every((each) => !each || isWhole(each));
      if (isNumber) noteWhole(results[i]!);
      return leafVariable(this.#t, leaf, results[i]!);
    });
    const built = new Map<Build, Variable>();
    const build = (part: Build) => part(variables, built);
    for (const { location, part } of this.#located) location.set(this.#t, build(part));
    return build;
  }
}

/** Without results, the paths differ in no live value, but one of them may have effects. */
function appendCond(
  t: Tracer,
  truth: Tensor,
  paths: readonly TracedBranch[],
  leaves: readonly Leaf[],
): Tensor[] {
  if (leaves.length === 0 && paths.every(({ region }) => !region.builder.some(hasEffect)))
    return [];
  const outputs = paths.map(({ region, disposed }, path) =>
    t.inRegion(region, () =>
      leaves.map((leaf) => leafTensor(t, leaf, path, truth.device, disposed)),
    ),
  );
  const regions = paths.map(({ region }) => region);
  const read = outputs.map((item, path) =>
    item.map((each, i) => (leaves[i]!.kind === 'tensor' && leaves[i]!.values[path] ? each : null)),
  );
  return appendBranches(t, truth, regions, outputs, read);
}
