import { invariant } from '../../../../runtime/errors/invariant.ts';
import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import type { Source } from '../../../guards/source.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import type { BreakRecord, GraphBreak } from '../../../traces/graph-break.ts';
import type { LoopDecision } from '../../../traces/trace-result.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import type { AllocationSite, CallSite } from '../../variables/growable-list.ts';

/** The plan of a loop whose end is data-dependent. `peeled`: a `while` after the first iteration. */
type LoopPlan = 'while' | 'peeled' | 'unrolled';

/** `ranked`: each pair is compared once. `inserted`: comparisons are made in native order. */
type SortPlan = 'ranked' | 'inserted' | 'inserted after a run';

/** The findings of earlier attempts to trace the same function. */
export class LoopPlans {
  readonly #plans = new Map<Code, Map<Pc, LoopPlan>>();
  readonly #breaks = new Map<Code, Set<Pc>>();
  readonly #growing = new Map<Code, Set<Pc>>();
  readonly #growingOutside = new Set<string>();
  /** Loops that are unrolled, with reasons. */
  readonly unrolled: LoopDecision[] = [];
  /** JavaScript loops that became loops of the program, with reasons. */
  readonly kept: LoopDecision[] = [];

  /** Why the loop that was unrolled last could not become a loop of the program. */
  unrolledBecause: GraphBreak | null = null;

  readonly #byIdentity = new Set<string>();

  /** Returns whether a passed function must be the same object in each call. */
  isByIdentity(place: string): boolean {
    return this.#byIdentity.has(place);
  }

  guardByIdentity(place: string): void {
    this.#byIdentity.add(place);
  }

  readonly #native = new WeakSet<object>();

  /** Returns whether instances of the class leave the trace with members that only its constructor can add. */
  isConstructedNatively(type: object): boolean {
    return this.#native.has(type);
  }

  constructNatively(type: object): void {
    this.#native.add(type);
  }

  /** Restarts the trace with a class or method, given by its code, created natively. */
  makeNatively(code: Code): never {
    invariant(!this.#native.has(code), 'it is made natively already');
    this.#native.add(code);
    throw new RestartTrace();
  }

  get isEmpty(): boolean {
    return this.#plans.size === 0;
  }

  of(code: Code, { header }: Loop): LoopPlan | undefined {
    return this.#plans.get(code)?.get(header);
  }

  /** Restarts the trace with a plan for the loop. */
  choose(code: Code, loop: Loop, plan: LoopPlan): never {
    this.#note(code, loop, plan);
    throw new RestartTrace();
  }

  #note(code: Code, { header }: Loop, plan: LoopPlan): void {
    const plans = this.#plans.get(code) ?? new Map<Pc, LoopPlan>();
    this.#plans.set(code, plans.set(header, plan));
  }

  /**
   * Restarts the trace, because the loop's end is data-dependent. Loops of the same code that read a tensor in
   * their heads get the same plan, since each would cause another restart.
   */
  chooseWhile(code: Code, loop: Loop): never {
    for (const each of structureOf(code).loops.values()) {
      if (this.of(code, each) === undefined && readsInHead(code, each)) {
        this.#note(code, each, 'while');
      }
    }
    return this.choose(code, loop, 'while');
  }

  /** Restarts the trace with a counted JavaScript loop as a loop of the program. */
  keep(code: Code, loop: Loop, why: string): never {
    this.kept.push({ at: positionOf(code, loop), why });
    return this.choose(code, loop, 'while');
  }

  /** Restarts the trace with the loop unrolled, because it can't be a loop of the program. */
  unroll(code: Code, loop: Loop, why: GraphBreak): never {
    this.unrolled.push({ at: positionOf(code, loop), why: why.detail });
    this.unrolledBecause = why;
    return this.choose(code, loop, 'unrolled');
  }

  /** Why tracing with lists failed and the trace continues without them; null if it hasn't failed. */
  withoutLists: BreakRecord | null = null;
  /** True if tensors whose shape differs between iterations have data-dependent shapes. */
  shapesDiffer = false;

  /** Restarts the trace with data-dependent shapes. */
  openShapes(): never {
    this.shapesDiffer = true;
    throw new RestartTrace();
  }

  /** True if a branch or loop calls `seed()`, so that the seed is a graph value. */
  seedsInside = false;

  /** Restarts the trace with the seed as a graph value. */
  seedInside(): never {
    this.seedsInside = true;
    throw new RestartTrace();
  }

  /** True if the program tracks whether tensors require gradients where that is data-dependent. */
  tracksGradients = false;

  /** Restarts the trace with tracking of required gradients. */
  trackGradients(): never {
    this.tracksGradients = true;
    throw new RestartTrace();
  }

  readonly #distinguished = new Set<string>();

  /** Returns whether tensors merged at this decision are distinguished by identity. */
  distinguishes(at: UserPosition | undefined): boolean {
    return at !== undefined && this.#distinguished.has(formatPosition(at));
  }

  /** Distinguishes tensors merged here from the next trace on. Returns false if they already are. */
  distinguish(at: UserPosition): boolean {
    const key = formatPosition(at);
    if (this.#distinguished.has(key)) return false;
    this.#distinguished.add(key);
    return true;
  }

  /** True if an array has become a list. */
  usesLists = false;

  /** Restarts the trace without lists: arrays whose length differs become unions of lengths, if possible. */
  leaveLists(record: BreakRecord): never {
    this.withoutLists = record;
    this.#plans.clear();
    this.#stops.clear();
    this.unrolled.length = 0;
    this.kept.length = 0;
    this.unrolledBecause = null;
    throw new RestartTrace();
  }

  /** Returns whether arrays of this literal grow in branches or loops. */
  grows(code: Code, pc: Pc): boolean {
    return this.#growing.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace with lists for the arrays of this literal. */
  restartWithGrowable({ code, pc }: AllocationSite): never {
    const places = this.#growing.get(code) ?? new Set();
    this.#growing.set(code, places.add(pc));
    throw new RestartTrace();
  }

  /** Returns whether the pre-existing array grows in branches or loops. */
  growsFrom(source: Source): boolean {
    return this.#growingOutside.has(sourceKey(source));
  }

  /** Restarts the trace with a list for this pre-existing array. */
  growOutside(source: Source): never {
    this.#growingOutside.add(sourceKey(source));
    throw new RestartTrace();
  }

  readonly #sorts = new Map<Code, Map<Pc, SortPlan>>();

  /** Returns how the sort at this call determines its order; `inserted` by default. */
  sortOf(code: Code, pc: Pc): SortPlan {
    return this.#sorts.get(code)?.get(pc) ?? 'inserted';
  }

  /** Restarts the trace with a plan for the sort at this call, unless it has one. */
  sortAt(code: Code, pc: Pc, plan: SortPlan): void {
    const places = this.#sorts.get(code) ?? new Map<Pc, SortPlan>();
    const known = places.get(pc);
    if (known === 'inserted' || known === plan) return;
    this.#sorts.set(code, places.set(pc, plan));
    throw new RestartTrace();
  }

  readonly #stops = new Map<Code, Map<Pc, BreakRecord>>();

  /** Returns why the graph ends before this decision: it would have too many paths. */
  stopsAt(code: Code, pc: Pc): BreakRecord | undefined {
    return this.#stops.get(code)?.get(pc);
  }

  /** Restarts the trace, which then ends at this decision. */
  stopAt(code: Code, pc: Pc, record: BreakRecord): never {
    const places = this.#stops.get(code) ?? new Map<Pc, BreakRecord>();
    this.#stops.set(code, places.set(pc, record));
    throw new RestartTrace();
  }

  readonly #toTheEnd = new Map<Code, Set<Pc>>();

  /** Returns whether each path of this decision is traced to the end of the function, including all later code. */
  isFollowedToEnd(code: Code, pc: Pc): boolean {
    return this.#toTheEnd.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace with the decision's paths traced to the end, unless they already are. */
  followToEnd(code: Code, pc: Pc): void {
    if (this.isFollowedToEnd(code, pc)) return;
    const places = this.#toTheEnd.get(code) ?? new Set();
    this.#toTheEnd.set(code, places.add(pc));
    throw new RestartTrace();
  }

  readonly #unmerged = new Map<Code, Set<Pc>>();

  /** Returns whether the paths of this decision can't be merged, so that each is traced to the end. */
  isUnmerged(code: Code, pc: Pc): boolean {
    return this.#unmerged.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace with this decision's paths unmerged. */
  leaveUnmerged(code: Code, pc: Pc): never {
    const places = this.#unmerged.get(code) ?? new Set();
    this.#unmerged.set(code, places.add(pc));
    throw new RestartTrace();
  }

  readonly #computed = new Map<Code, Set<Pc>>();

  /**
   * Returns whether the program makes this call of `Math.random()` or the clock, because its result decides
   * something.
   */
  isComputed(code: Code, pc: Pc): boolean {
    return this.#computed.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace; the program then makes these calls of `Math.random()` or the clock. */
  computeAt(sites: Iterable<CallSite>): never {
    for (const { code, pc } of sites) {
      const places = this.#computed.get(code) ?? new Set();
      this.#computed.set(code, places.add(pc));
    }
    throw new RestartTrace();
  }

  readonly #copied = new Map<Code, Set<Pc>>();

  /** Returns whether the code at this position copies an array element by element, although its length may vary. */
  copiesElements(code: Code, pc: Pc): boolean {
    return this.#copied.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace, which then copies the array element by element. */
  copyElements(code: Code, pc: Pc): never {
    const places = this.#copied.get(code) ?? new Set();
    this.#copied.set(code, places.add(pc));
    throw new RestartTrace();
  }

  /** Returns whether this call must run natively. */
  breaksAt(code: Code, pc: Pc): boolean {
    return this.#breaks.get(code)?.has(pc) ?? false;
  }

  /** Restarts the trace, which then ends at this call. */
  breakAt(code: Code, pc: Pc): never {
    const places = this.#breaks.get(code) ?? new Set();
    this.#breaks.set(code, places.add(pc));
    throw new RestartTrace();
  }
}

/** Returns whether the code reads a tensor between the loop's header and the first jump. */
function readsInHead({ instructions }: Code, { header, body }: Loop): boolean {
  for (let pc = header; body.has(pc); pc++) {
    const instruction = instructions[pc]!;
    if (instruction.op === 'getProp' && instruction.key === 'itemSync') return true;
    if ('target' in instruction) return false;
  }
  return false;
}

function positionOf({ spans, source }: Code, { header }: Loop): UserPosition | undefined {
  const span = spans[header];
  return span && source.position(span.start);
}

/** Thrown when the trace learns something that it should have known from the start. */
export class RestartTrace extends Error {
  override readonly name = 'RestartTrace';
}
