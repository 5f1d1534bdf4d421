import type { UserPosition } from '../../../runtime/errors/position.ts';
import { condOp } from '../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { TraceFrame } from '../trace-frame.ts';
import type { Tracer } from '../tracer.ts';
import { known, type ScalarVariable, type Variable } from '../variable.ts';
import { follow, isRead, type Start, type Way } from './follow.ts';
import { leafTensor, leafVariable } from './leaves.ts';
import { differing } from './mismatch.ts';
import { numberOf, type PathEnd } from './path.ts';
import { capturedByAny, RegionBuilder } from './region-builder.ts';
import { asTruth } from './scalars.ts';
import { isFixed, madeObjects, type Place, stateOf } from './state.ts';
import { isSame, type Leaf, type Unified, unify } from './unify.ts';

/**
 * Follows both ways of a decision that only the run can make, and appends one `cond` whose results are all
 * that they leave different: registers that are read later, contents of objects, what is to be written
 * after the run. Afterwards the trace stands where both ways end.
 */
export function fork(
  t: Tracer,
  frame: TraceFrame,
  test: ScalarVariable,
  starts: readonly [Start, Start],
): PathEnd {
  const made = madeObjects(t);
  const truth = asTruth(t, test);
  const before = stateOf(t, frame, made);
  const ways = starts.map((start) =>
    follow(t, frame, new RegionBuilder(t.surroundings), made, start),
  );
  const joined = new Join(t, ways);
  for (const [place, values] of changedPlaces(t, frame, before, ways)) joined.add(place, values);
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

function whichOf({ end }: Way): Variable {
  return end.which ?? known(numberOf(end.targets[0]!));
}

type Values = readonly (Variable | null)[];

/** Places that a way leaves with another value, and what each of them leaves where that is read. */
function changedPlaces(
  t: Tracer,
  frame: TraceFrame,
  before: ReturnType<typeof stateOf>,
  ways: readonly Way[],
): [Place, Values][] {
  const keys = new Set(ways.flatMap(({ state }) => [...state.keys()]));
  const changed: [Place, Values][] = [];
  for (const key of keys) {
    const { place } = ways.find(({ state }) => state.has(key))!.state.get(key)!;
    const original = before.get(key)?.value ?? place.outside?.(t);
    const values = ways.map(({ state, end }) => {
      if (!isRead(frame, end.targets, place)) return null;
      return state.get(key)?.value ?? original ?? null;
    });
    const differs = values.some((value) => value && !(original && isSame(t, value, original)));
    if (!differs) continue;
    if (isFixed(place)) {
      throw new GraphBreak('control-flow', `${place.name} changes in a branch or loop`);
    }
    changed.push([place, values]);
  }
  return changed;
}

/** Collects what several ways leave different. */
class Join {
  readonly leaves: Leaf[] = [];
  readonly #t: Tracer;
  readonly #lines: readonly (UserPosition | undefined)[];
  readonly #placed: { readonly place: Place; readonly part: Part }[] = [];

  constructor(t: Tracer, ways: readonly Way[]) {
    this.#t = t;
    this.#lines = ways.map(({ end }) => end.at);
  }

  add(place: Place, values: Values): void {
    this.#placed.push({ place, part: this.addNamed(place.name, values) });
  }

  addNamed(name: string, values: Values): Part {
    const unified = differing(name, this.#lines, () => unify(this.#t, values));
    const from = this.leaves.length;
    this.leaves.push(...unified.leaves);
    return { unified, from };
  }

  /** Puts the results into their places; answers how to have the other parts. */
  finish(results: readonly Tensor[]): (part: Part) => Variable {
    const variables = this.leaves.map((leaf, i) => leafVariable(this.#t, leaf, results[i]!));
    const build = ({ unified, from }: Part) =>
      unified.build(variables.slice(from, from + unified.leaves.length));
    for (const { place, part } of this.#placed) place.set(this.#t, build(part));
    return build;
  }
}

interface Part {
  readonly unified: Unified;
  readonly from: number;
}

/** Without leaves the ways differ in nothing that is read, but one may have an effect of its own. */
function appendCond(
  t: Tracer,
  truth: Tensor,
  ways: readonly Way[],
  leaves: readonly Leaf[],
): Tensor[] {
  if (leaves.length === 0 && ways.every(({ region }) => !region.builder.hasEffect())) return [];
  const outputs = ways.map(({ region }, way) =>
    t.inRegion(region, () => leaves.map((leaf) => leafTensor(t, leaf, way, truth.device))),
  );
  const regions = ways.map(({ region }) => region);
  for (const [way, region] of regions.entries()) region.captureAll(outputs[way]!);
  const captured = capturedByAny(t.builder, regions);
  const programs = regions.map((region, way) => region.finish(captured, outputs[way]!));
  return t.execution.appendControl(condOp, [truth, ...captured], programs);
}
