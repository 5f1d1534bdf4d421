import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import type { Loop } from '../../../vm/bytecode/structure.ts';
import { commonSizes } from '../../dynamic-shapes/unbacked-shape.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import { isFixed, type Location } from '../../state/location.ts';
import { RegionBuilder } from '../../state/region-builder.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { absent, type Variable } from '../../variables/variable.ts';
import { expectLength } from '../lists/expect-list.ts';
import { heldMoreThanOnce } from '../locations/reachable.ts';
import { type LocationState, type State, stateOf } from '../locations/snapshot.ts';
import type { Values } from '../merge/build-structure.ts';
import { describeSome, optionsOf } from '../merge/describe.ts';
import { isSame } from '../merge/is-same.ts';
import { leafTensor, leafVariable } from '../merge/leaves.ts';
import { assignmentPosition, differing, unmergeable } from '../merge/mismatch.ts';
import { type Merged, mergePhis } from '../merge/phi-merger.ts';
import { requiresGradFlag } from '../merge/requires-grad.ts';
import { tensorsOf } from '../numbers/leaf.ts';
import { constantTensor } from '../numbers/scalars.ts';
import { isWhole, noteWhole } from '../numbers/whole-numbers.ts';
import type { PathEnd } from '../plans/path.ts';
import { isRead, type TracedBranch, traceBranch } from '../trace-branch.ts';
import {
  type Carried,
  type CarriedLeaf,
  isSameOrder,
  isWholeAtStart,
  leavesOf,
  mayBeSame,
  returnKey,
  sameLeaves,
  setCarried,
} from './carried.ts';
import { appendLoop } from './loop-op.ts';

/** A location whose form changes more often than this is assumed never to settle. */
const maxChanges = 12;

/** A tensor with more shapes than this is assumed to change its shape in every iteration. */
const maxShapes = 4;

/**
 * `headed`: left only by a decision at its head, before which nothing changes. `flagged`: flags record where an
 * iteration ended.
 */
export type Form = 'headed' | 'flagged';

/** The results of tracing the body so far. */
interface BodyAnalysis {
  readonly existing: ReadonlySet<Variable>;
  readonly before: State;
  readonly carried: Map<string, Carried>;
  /** The number of form changes of each location. */
  readonly changes: Map<string, number>;
  /** Variables whose identity matters: several locations refer to them before or after an iteration. */
  readonly held: Set<Variable>;
  /** Leaves that require gradients after an iteration but not before it. */
  readonly recorded: Set<string>;
  /** Leaves that are whole numbers before an iteration but not after it. */
  readonly fractional: Set<string>;
}

type Carry = (
  location: Location,
  first: Variable | null,
  last: Variable | null,
  now: Variable | null,
) => boolean;

/** One attempt to trace the body with the loop-carried values known so far. */
export class LoopFixpoint {
  /** True if the loop has the requested form. */
  readonly fits: boolean;
  /** True if this attempt added no loop-carried value. */
  readonly specialized: boolean;
  readonly #t: Tracer;
  readonly #frame: TraceFrame;
  readonly #loop: Loop;
  readonly #carried: ReadonlyMap<string, Carried>;
  readonly #changes: Map<string, number>;
  /** The region of the condition of a single-exit loop. */
  readonly #head: TracedBranch | null;
  readonly #path: TracedBranch;
  /** The initial value of each carried operand, in the surrounding program. */
  readonly #starts: readonly Tensor[];
  /** Values of each carried location before and after this iteration. */
  readonly #iterated = new Map<string, Merged>();
  readonly #recorded: Set<string>;
  readonly #fractional: Set<string>;
  /** Indices of leaves for which the loop also carries whether they require gradients. */
  readonly #tracked: readonly number[];

  constructor(t: Tracer, frame: TraceFrame, loop: Loop, form: Form, found: BodyAnalysis) {
    const { existing, before, carried, changes, held, recorded, fractional } = found;
    this.#t = t;
    this.#frame = frame;
    this.#loop = loop;
    this.#carried = carried;
    this.#changes = changes;
    const { device } = t;
    const flags =
      form === 'flagged' ? [constantTensor(t, true, device), constantTensor(t, 0, device)] : [];
    this.#recorded = recorded;
    this.#fractional = fractional;
    const leaves = [...leavesOf(this.#carried)];
    const starts = leaves.map(({ leaf }) => leafTensor(t, leaf, 0, device));
    this.#tracked = t.control.plans.tracksGradients
      ? leaves.flatMap((each, i) => {
          return each.leaf.kind === 'tensor' && this.#records(starts[i]!, each) ? [i] : [];
        })
      : [];
    const required = this.#tracked.map((i) => requiresGradFlag(t, starts[i]!).tensor);
    this.#starts = [...flags, ...starts, ...required];
    let inside: State = before;
    const traceRegion = (run: () => PathEnd): TracedBranch => {
      const region = new RegionBuilder(t.surroundings);
      return traceBranch(t, frame, region, existing, () => {
        this.#enter(region, flags);
        inside = stateOf(t, frame, existing);
        const end = run();
        if (!end.test) this.#noteHeld(end, found);
        return end;
      });
    };
    this.#head =
      form === 'flagged' ? null : traceRegion(() => t.execution.runLoopHead(frame, loop));
    const staysInside = ({ end }: TracedBranch) =>
      end.targets.every((target) => target === loop.header);
    if (this.#head && !this.#head.end.test) {
      // A condition on numbers that aren't carried yet is decided, so the head ends after an iteration.
      this.#path = this.#head;
      this.fits = staysInside(this.#path) && this.#compare(before, inside, carried, held);
      this.specialized = !this.fits;
      return;
    }
    const from = this.#head ? this.#behindHead(this.#head, inside) : loop.header;
    if (from === null) {
      this.#path = this.#head!;
      [this.fits, this.specialized] = [false, true];
      return;
    }
    this.#path = traceRegion(() => t.execution.runLoopBody(frame, loop, from));
    this.fits = form === 'flagged' || staysInside(this.#path);
    const added = this.fits && this.#compare(before, inside, carried, held);
    this.specialized =
      !this.fits ||
      (!added && !this.#findRecorded(flags.length) && !this.#findFractional(flags.length));
  }

  #iteratedLeaves(): Generator<CarriedLeaf> {
    return leavesOf(this.#carried, ({ location }) => this.#iterated.get(location.key)!);
  }

  /** Returns whether the value requires gradients in the body: it does if it does in any iteration. */
  #records(start: Tensor, { key }: CarriedLeaf): boolean {
    return start.requiresGrad || this.#recorded.has(key);
  }

  /** Returns whether a value newly requires gradients after an iteration. */
  #findRecorded(flags: number): boolean {
    const { explicitInputs } = this.#path.region;
    const before = this.#recorded.size;
    let index = flags;
    for (const { leaf, key } of this.#iteratedLeaves()) {
      const input = explicitInputs[index++]!;
      const ends = tensorsOf(leaf.values[1]);
      const isRecorded = ends.some((end) => this.#t.use(end).requiresGrad);
      if (isRecorded && !input.requiresGrad) this.#recorded.add(key);
    }
    return this.#recorded.size > before;
  }

  /** True if a number that was whole is not whole after an iteration. */
  #findFractional(flags: number): boolean {
    const before = this.#fractional.size;
    let index = flags;
    for (const each of this.#iteratedLeaves()) {
      const [, end] = each.leaf.values;
      const isWholeBefore = isWholeAtStart(this.#starts[index++]!, each, this.#fractional);
      if (isWholeBefore && end && !isWhole(end)) this.#fractional.add(each.key);
    }
    return this.#fractional.size > before;
  }

  /** Returns where the body begins; null if the head does more than compute the condition. */
  #behindHead({ end, state }: TracedBranch, inside: State): Pc | null {
    for (const [key, { location, raw, value }] of state) {
      const now = inside.get(key)?.value;
      if (raw === inside.get(key)?.raw) continue;
      if (!isRead(this.#t, this.#frame, end, location)) continue;
      if (!now || !isSame(this.#t, now, value)) return null;
    }
    return end.targets[0] as Pc;
  }

  /** Notes pre-existing variables that several locations hold after the path. */
  #noteHeld({ value }: PathEnd, { existing, held }: BodyAnalysis): void {
    const pcs = [this.#loop.header, ...this.#loop.exits];
    for (const each of heldMoreThanOnce(this.#t, this.#frame, pcs, value)) {
      if (existing.has(each)) held.add(each);
    }
  }

  /** Sets the carried locations to the inputs of the region, which follow the flags. */
  #enter(region: RegionBuilder, flags: readonly Tensor[]): void {
    const t = this.#t;
    for (const flag of flags) region.give(flag);
    let index = flags.length;
    const leaves = [...leavesOf(this.#carried)];
    const inputs = leaves.map((each) => {
      const start = this.#starts[index++]!;
      const input = region.give(start, this.#records(start, each));
      if (isWholeAtStart(start, each, this.#fractional)) noteWhole(input);
      return input;
    });
    const required = this.#tracked.map(() => region.give(this.#starts[index++]!));
    inputs.forEach((input, i) => {
      const tracked = this.#tracked.indexOf(i);
      if (input.requiresGrad && leaves[i]!.leaf.kind === 'tensor')
        t.control.required.noteCarried(input, required[tracked] ?? null);
    });
    let next = 0;
    setCarried(t, this.#carried, (leaf) => leafVariable(t, leaf, inputs[next++]!));
  }

  /** Returns whether a newly found value is carried, or a carried one has a new form. */
  #compare(
    before: State,
    inside: State,
    carried: Map<string, Carried>,
    held: ReadonlySet<Variable>,
  ): boolean {
    const { state, end } = this.#path;
    const frame = this.#frame;
    const carry = this.#carrier(carried, held);
    let added = false;
    const header = { targets: [this.#loop.header], value: null };
    for (const [key, { location, raw, value: last }] of locationsOf(state, inside)) {
      const known = inside.get(key);
      const missing = location.part ? absent : location.outside?.(this.#t);
      const now = known?.value ?? missing ?? null;
      const agreed = now && location.agreed?.([now, last]);
      if (agreed) {
        const isCarried = carried.has(key) || !isSame(this.#t, agreed, now);
        if (isCarried && carry(location, agreed, agreed, agreed)) added = true;
        continue;
      }
      const read = isRead(this.#t, frame, end, location);
      const same = last !== absent && raw === known?.raw;
      const changed = read && !same && !(now && isSame(this.#t, now, last));
      // Once a location is carried, it stays carried even if an iteration leaves it unchanged.
      if (!changed && !carried.has(key)) continue;
      if (location.array) expectLength(this.#t, location, now, last, known === undefined);
      if (isFixed(location)) {
        const positions = this.#positionsOf(location);
        throw unmergeable(`a loop of the program changes ${location.name}`, positions());
      }
      const live = isRead(this.#t, frame, header, location);
      const first = live ? (before.get(key)?.value ?? missing ?? now) : null;
      if (carry(location, first, read ? last : null, live ? now : null)) added = true;
    }
    if (end.value) {
      const location = { key: returnKey, name: 'the returned value', register: null, set() {} };
      if (carry(location, null, end.value, null)) added = true;
    }
    return added;
  }

  /**
   * Returns a function that merges a location's values before the loop, after an iteration and before it, and returns
   * whether the location was not yet carried in this form.
   */
  #carrier(carried: Map<string, Carried>, held: ReadonlySet<Variable>): Carry {
    const isOld = (variable: Variable) => held.has(variable);
    const inputs = new Set(this.#path.region.explicitInputs);
    const inner = new Set([this.#path, this.#head].flatMap((path) => path?.region.builder ?? []));
    return (location, first, last, now) => {
      const merge = (values: Values, outer?: ReadonlySet<Tensor>) =>
        differing(location.name, this.#positionsOf(location), (tell) =>
          mergePhis(this.#t, values, isOld, tell, inner, outer),
        );
      const fresh = merge([first, last]);
      if (location.isGradient && (fresh.options > 0 || isFromOutside(first))) this.#peel();
      const known = carried.get(location.key);
      this.#iterated.set(location.key, merge([now, last], inputs));
      const isKnown = !location.agreed || isSameOrder(this.#t, known?.merged, fresh);
      const isAlike = known && isKnown && sameLeaves(known.merged, fresh);
      if (isAlike && mayBeSame(known.merged, fresh)) return false;
      carried.set(location.key, { location, merged: fresh });
      // Aliases are not counted as changes, since each variable can have only finitely many.
      if (!isAlike) this.#countChange(location, [now ?? first, last]);
      return true;
    };
  }

  /** Returns a function that finds a location's positions at the start and the end of an iteration. */
  #positionsOf(location: Location) {
    const frame = this.#frame;
    const { end } = this.#path;
    return () => {
      const ours = isFrameworkFile(frame.closure.code.source.file);
      const at = ours ? this.#t.position() : end.at;
      const start: PathEnd = { ...end, at, last: this.#loop.header };
      return [start, end].map((each) => assignmentPosition(frame, location, each));
    };
  }

  /** Counts a change of form. A value that changes too often is assumed to change in every iteration. */
  #countChange({ key, name }: Location, values: Values): void {
    const count = (this.#changes.get(key) ?? 0) + 1;
    this.#changes.set(key, count);
    this.#openShapes(count, values);
    if (count <= maxChanges) return;
    const kinds = describeSome(this.#t, values);
    throw new GraphBreak('unbounded-loop', `with every iteration of a loop ${name} is ${kinds}`);
  }

  /** Gives tensors that have had too many shapes a data-dependent shape. */
  #openShapes(count: number, values: Values): void {
    const { policy, plans } = this.#t.control;
    if (policy !== 'always' || plans.shapesDiffer) return;
    const options = values.flatMap((value) => (value ? optionsOf(value) : []));
    if (count <= 2 && options.length <= maxShapes) return;
    if (commonSizes(this.#t, options)) plans.enable('shapesDiffer');
  }

  /** Peels the first iteration, which sees another kind of value than later ones. */
  #peel(): void {
    const { plans } = this.#t.control;
    const { code } = this.#frame.closure;
    if (plans.of(code, this.#loop) === 'while') plans.choose(code, this.#loop, 'peeled');
  }

  /** Appends the op and stores its results in the locations. */
  append(): PathEnd {
    return appendLoop(this.#t, {
      frame: this.#frame,
      loop: this.#loop,
      carried: this.#carried,
      head: this.#head,
      body: this.#path,
      starts: this.#starts,
      iterated: this.#iterated,
      fractional: this.#fractional,
      tracked: this.#tracked,
    });
  }
}

/**
 * Returns the locations after an iteration, arrays first, since the other locations depend on which arrays are lists.
 */
function locationsOf(state: State, inside: State): readonly (readonly [string, LocationState])[] {
  const lost = [...inside].filter(([key]) => !state.has(key));
  const left = lost.map(([key, held]) => [key, { ...held, value: absent }] as const);
  return [...state, ...left].sort(
    ([, a], [, b]) => Number(!a.location.array) - Number(!b.location.array),
  );
}

/** Returns whether the variable is or may alias an outer tensor, whose assignment is a separate effect. */
function isFromOutside(variable: Variable | null): boolean {
  if (variable?.kind !== 'tensor') return false;
  return variable.source !== null || variable.mayAlias.length > 0;
}
