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

/** The plan of a loop whose end depends on values of the program. `peeled`: one after its first iteration. */
type LoopPlan = 'while' | 'peeled' | 'unrolled';

/** `ranked`: each pair is compared once. `inserted`: comparisons come as natively. */
type SortPlan = 'ranked' | 'inserted';

/** The findings of earlier attempts to trace the same function about its loops. */
export class LoopPlans {
  readonly #plans = new Map<Code, Map<Pc, LoopPlan>>();
  readonly #breaks = new Map<Code, Set<Pc>>();
  readonly #growing = new Map<Code, Set<Pc>>();
  readonly #growingOutside = new Set<string>();
  /** Loops that are followed iteration by iteration, and why. */
  readonly unrolled: LoopDecision[] = [];
  /** JavaScript loops that are loops of the program, and why. */
  readonly kept: LoopDecision[] = [];

  /** Why the last loop that could not be one is followed iteration by iteration. */
  unrolledBecause: GraphBreak | null = null;

  readonly #byIdentity = new Set<string>();

  /** Passed functions that are to be the same ones at each call. */
  isByIdentity(place: string): boolean {
    return this.#byIdentity.has(place);
  }

  guardByIdentity(place: string): void {
    this.#byIdentity.add(place);
  }

  readonly #native = new WeakSet<object>();

  /** Classes whose instances leave the trace, with elements that only their constructors can add. */
  isConstructedNatively(type: object): boolean {
    return this.#native.has(type);
  }

  constructNatively(type: object): void {
    this.#native.add(type);
  }

  /** A class, or method, that the trace has made, by its code: it begins again without it. */
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

  /** The function is traced again from its start. */
  choose(code: Code, loop: Loop, plan: LoopPlan): never {
    this.#note(code, loop, plan);
    throw new RestartTrace();
  }

  #note(code: Code, { header }: Loop, plan: LoopPlan): void {
    const plans = this.#plans.get(code) ?? new Map<Pc, LoopPlan>();
    this.#plans.set(code, plans.set(header, plan));
  }

  /**
   * The run decides the end of the loop: the function is traced again. Loops of the same code that read a tensor in
   * their heads get the same plan, since each would begin the trace once more.
   */
  chooseWhile(code: Code, loop: Loop): never {
    for (const each of structureOf(code).loops.values()) {
      if (this.of(code, each) === undefined && readsInHead(code, each)) {
        this.#note(code, each, 'while');
      }
    }
    return this.choose(code, loop, 'while');
  }

  /** JavaScript counts its iterations, and yet it is to be a loop of the program: the function is traced again. */
  keep(code: Code, loop: Loop, why: string): never {
    this.kept.push({ at: positionOf(code, loop), why });
    return this.choose(code, loop, 'while');
  }

  /** It can't be a loop of the program: the function is traced again, and follows it iteration by iteration. */
  unroll(code: Code, loop: Loop, why: GraphBreak): never {
    this.unrolled.push({ at: positionOf(code, loop), why: why.detail });
    this.unrolledBecause = why;
    return this.choose(code, loop, 'unrolled');
  }

  /** Why what is followed with lists is not a program: it is followed without them. Null: not yet. */
  withoutLists: BreakRecord | null = null;
  /** Tensors whose shape differs from iteration to iteration are of data-dependent shape. */
  shapesDiffer = false;

  /** The function is traced again, with data-dependent shapes. */
  openShapes(): never {
    this.shapesDiffer = true;
    throw new RestartTrace();
  }

  /** Whether a tensor requires a gradient is carried where it is data-dependent. */
  tracksGradients = false;

  /** The function is traced again, and keeps it. */
  trackGradients(): never {
    this.tracksGradients = true;
    throw new RestartTrace();
  }

  readonly #toldApart = new Set<string>();

  /** Tensors that paths of the decision there leave are distinguished by which one they are. */
  tellsApart(at: UserPosition | undefined): boolean {
    return at !== undefined && this.#toldApart.has(formatPosition(at));
  }

  /** From the next time on the tensors that come together there are distinguished. False: they are. */
  tellApart(at: UserPosition): boolean {
    const key = formatPosition(at);
    if (this.#toldApart.has(key)) return false;
    this.#toldApart.add(key);
    return true;
  }

  /** Some array has become a list. */
  usesLists = false;

  /** The function is traced again: arrays whose length differs are unions of lengths, where they can be. */
  leaveLists(record: BreakRecord): never {
    this.withoutLists = record;
    this.#plans.clear();
    this.#stops.clear();
    this.unrolled.length = 0;
    this.kept.length = 0;
    this.unrolledBecause = null;
    throw new RestartTrace();
  }

  /** Arrays of that literal grow in branches and loops. */
  grows(code: Code, pc: Pc): boolean {
    return this.#growing.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again, with lists for the arrays of that literal. */
  growFrom({ code, pc }: AllocationSite): never {
    const places = this.#growing.get(code) ?? new Set();
    this.#growing.set(code, places.add(pc));
    throw new RestartTrace();
  }

  /** Pre-existing arrays grow in branches and loops. */
  growsFrom(source: Source): boolean {
    return this.#growingOutside.has(sourceKey(source));
  }

  /** The function is traced again, with a list for that pre-existing array. */
  growOutside(source: Source): never {
    this.#growingOutside.add(sourceKey(source));
    throw new RestartTrace();
  }

  readonly #sorts = new Map<Code, Map<Pc, SortPlan>>();

  /** How the sort that is called there finds its order; inserted where nothing is known. */
  sortOf(code: Code, pc: Pc): SortPlan {
    return this.#sorts.get(code)?.get(pc) ?? 'inserted';
  }

  /** The function is traced again, where the sort that is called there wasn't planned before. */
  sortAt(code: Code, pc: Pc, plan: SortPlan): void {
    const places = this.#sorts.get(code) ?? new Map<Pc, SortPlan>();
    const known = places.get(pc);
    if (known === 'inserted' || known === plan) return;
    this.#sorts.set(code, places.set(pc, plan));
    throw new RestartTrace();
  }

  readonly #stops = new Map<Code, Map<Pc, BreakRecord>>();

  /** Why the graph ends before the decision there: it would take too many paths. */
  stopsAt(code: Code, pc: Pc): BreakRecord | undefined {
    return this.#stops.get(code)?.get(pc);
  }

  /** The function is traced again, up to the decision there. */
  stopAt(code: Code, pc: Pc, record: BreakRecord): never {
    const places = this.#stops.get(code) ?? new Map<Pc, BreakRecord>();
    this.#stops.set(code, places.set(pc, record));
    throw new RestartTrace();
  }

  readonly #toTheEnd = new Map<Code, Set<Pc>>();

  /** Each path of the decision there is followed to the end, with all that comes after the decision. */
  isFollowedToEnd(code: Code, pc: Pc): boolean {
    return this.#toTheEnd.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again, if that isn't known. */
  followToEnd(code: Code, pc: Pc): void {
    if (this.isFollowedToEnd(code, pc)) return;
    const places = this.#toTheEnd.get(code) ?? new Set();
    this.#toTheEnd.set(code, places.add(pc));
    throw new RestartTrace();
  }

  readonly #unmerged = new Map<Code, Set<Pc>>();

  /** The paths of the decision there leave what cannot be merged: each is followed to the end. */
  isUnmerged(code: Code, pc: Pc): boolean {
    return this.#unmerged.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again. */
  leaveUnmerged(code: Code, pc: Pc): never {
    const places = this.#unmerged.get(code) ?? new Set();
    this.#unmerged.set(code, places.add(pc));
    throw new RestartTrace();
  }

  readonly #computed = new Map<Code, Set<Pc>>();

  /** The program is to make the call of `Math.random()` or the clock there, since it decides something. */
  isComputed(code: Code, pc: Pc): boolean {
    return this.#computed.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again: the program makes these calls of `Math.random()` or the clock. */
  computeAt(sites: Iterable<CallSite>): never {
    for (const { code, pc } of sites) {
      const places = this.#computed.get(code) ?? new Set();
      this.#computed.set(code, places.add(pc));
    }
    throw new RestartTrace();
  }

  /** The call there is to run natively. */
  breaksAt(code: Code, pc: Pc): boolean {
    return this.#breaks.get(code)?.has(pc) ?? false;
  }

  /** The function is traced again, up to this call. */
  breakAt(code: Code, pc: Pc): never {
    const places = this.#breaks.get(code) ?? new Set();
    this.#breaks.set(code, places.add(pc));
    throw new RestartTrace();
  }
}

/** Before the first jump out of the loop. */
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

/** Thrown when something was found out that the trace should have known from its start. */
export class RestartTrace extends Error {
  override readonly name = 'RestartTrace';
}
