import { invariant } from '../../../../runtime/errors/invariant.ts';
import { formatPosition, type UserPosition } from '../../../../runtime/errors/position.ts';
import type { Source } from '../../../guards/source.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { ByInstruction } from '../../../traces/by-instruction.ts';
import type { BreakRecord, GraphBreak } from '../../../traces/graph-break.ts';
import type { LoopDecision } from '../../../traces/trace-result.ts';
import type { Code } from '../../../vm/bytecode/code.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { type Loop, structureOf } from '../../../vm/bytecode/structure.ts';
import type { CallSite } from '../../variables/growable-list.ts';

/** The plan of a loop whose end is data-dependent. `peeled`: a `while` after the first iteration. */
type LoopPlan = 'while' | 'peeled' | 'unrolled';

/** `ranked`: each pair is compared once. `inserted`: comparisons are made in native order. */
type SortPlan = 'ranked' | 'inserted' | 'inserted after a run';

/** A finding of a trace about an instruction. */
type Finding =
  /** Arrays of this literal grow in branches or loops: they are lists. */
  | 'grows'
  /** Each path of this decision is traced to the end of the function, including all later code. */
  | 'followed to the end'
  /** The paths of this decision can't be merged, so that each is traced to the end. */
  | 'unmerged'
  /** The program makes this call of `Math.random()` or the clock, because its result decides something. */
  | 'computed'
  /** An array is copied element by element, although its length may vary. */
  | 'copied'
  /** This call must run natively. */
  | 'break';

/** The findings of earlier attempts to trace the same function. */
export class LoopPlans {
  #plans = new ByInstruction<LoopPlan>();
  readonly #findings = new ByInstruction<Set<Finding>>();
  readonly #growingOutside = new Set<string>();
  /** Loops that are unrolled, with reasons. */
  readonly unrolled: LoopDecision[] = [];
  /** JavaScript loops that became loops of the program, with reasons. */
  readonly kept: LoopDecision[] = [];

  /** Why the loop that was unrolled last could not become a loop of the program. */
  unrolledBecause: GraphBreak | null = null;

  /** The sources of passed functions that must be the same object in each call. */
  readonly byIdentity = new Set<string>();

  /** Classes whose instances leave the trace with members that only the constructor can add, and what is created natively. */
  readonly native = new WeakSet<object>();

  /** Restarts the trace with a class or method, given by its code, created natively. */
  makeNatively(code: Code): never {
    invariant(!this.native.has(code), 'it is made natively already');
    this.native.add(code);
    throw new RestartTrace();
  }

  /** Returns whether an earlier attempt has made this finding about the instruction. */
  has(finding: Finding, code: Code, pc: Pc): boolean {
    return this.#findings.get(code, pc)?.has(finding) ?? false;
  }

  /** Restarts the trace, with this finding about the instruction. */
  restartWith(finding: Finding, code: Code, pc: Pc): never {
    this.#find(finding, code, pc);
    throw new RestartTrace();
  }

  #find(finding: Finding, code: Code, pc: Pc): void {
    const known = this.#findings.get(code, pc) ?? new Set();
    this.#findings.set(code, pc, known.add(finding));
  }

  get isEmpty(): boolean {
    return this.#plans.isEmpty;
  }

  of(code: Code, { header }: Loop): LoopPlan | undefined {
    return this.#plans.get(code, header);
  }

  /** Restarts the trace with a plan for the loop. */
  choose(code: Code, { header }: Loop, plan: LoopPlan): never {
    this.#plans.set(code, header, plan);
    throw new RestartTrace();
  }

  /**
   * Restarts the trace, because the loop's end is data-dependent. Loops of the same code that read a tensor in
   * their heads get the same plan, since each would cause another restart.
   */
  chooseWhile(code: Code, loop: Loop): never {
    for (const each of structureOf(code).loops.values()) {
      if (this.of(code, each) === undefined && readsInHead(code, each)) {
        this.#plans.set(code, each.header, 'while');
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
  /** True if a branch or loop calls `seed()`, so that the seed is a graph value. */
  seedsInside = false;
  /** True if the program tracks whether tensors require gradients where that is data-dependent. */
  tracksGradients = false;

  /** True if outer numbers whose text is made inside are guarded, because the code reads the text. */
  readsTexts = false;

  /** Restarts the trace with this option on. */
  enable(option: 'shapesDiffer' | 'seedsInside' | 'tracksGradients' | 'readsTexts'): never {
    this[option] = true;
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
    this.#plans = new ByInstruction();
    this.#stops = new ByInstruction();
    this.unrolled.length = 0;
    this.kept.length = 0;
    this.unrolledBecause = null;
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

  readonly #sorts = new ByInstruction<SortPlan>();

  /** Returns how the sort at this call determines its order; `inserted` by default. */
  sortOf(code: Code, pc: Pc): SortPlan {
    return this.#sorts.get(code, pc) ?? 'inserted';
  }

  /** Restarts the trace with a plan for the sort at this call, unless it has one. */
  sortAt(code: Code, pc: Pc, plan: SortPlan): void {
    const known = this.#sorts.get(code, pc);
    if (known === 'inserted' || known === plan) return;
    this.#sorts.set(code, pc, plan);
    throw new RestartTrace();
  }

  #stops = new ByInstruction<BreakRecord>();

  /** Returns why the graph ends before this decision: it would have too many paths. */
  stopsAt(code: Code, pc: Pc): BreakRecord | undefined {
    return this.#stops.get(code, pc);
  }

  /** Restarts the trace, which then ends at this decision. */
  stopAt(code: Code, pc: Pc, record: BreakRecord): never {
    this.#stops.set(code, pc, record);
    throw new RestartTrace();
  }

  /** Restarts the trace with the decision's paths traced to the end, unless they already are. */
  followToEnd(code: Code, pc: Pc): void {
    if (!this.has('followed to the end', code, pc)) {
      this.restartWith('followed to the end', code, pc);
    }
  }

  /** Restarts the trace; the program then makes these calls of `Math.random()` or the clock. */
  computeAt(sites: Iterable<CallSite>): never {
    for (const { code, pc } of sites) this.#find('computed', code, pc);
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
