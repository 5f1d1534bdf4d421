import { Dispatch } from '../guards/dispatch.ts';
import { numberSources } from '../guards/number-expr.ts';
import { type Dynamic, NumberHistory } from '../guards/number-history.ts';
import { printGuard } from '../guards/print-guard.ts';
import type { ShapeBounds } from '../guards/shape-bounds.ts';
import { objectId, sourceKey } from '../guards/source-key.ts';
import { ChangingFacts, isOfHostValue } from '../traces/changing-facts.ts';
import type { Outcome } from '../traces/trace-result.ts';
import { writes } from '../vm/bytecode/effects.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import { Entry } from './entry.ts';
import { ReturningStates } from './returning-states.ts';
import type { SizedEntries } from './sized-entries.ts';

type BreakOutcome = Extract<Outcome, { kind: 'break' }>;

/** One trace, compiled for a single set of sizes or for several. */
export type Candidate = Entry | SizedEntries;

/** The estimated bytes of JavaScript memory that the entries of one point may take. */
const mostBytes = 128 * 2 ** 20;
/** At least this many entries are kept. */
const fewest = 16;

/** A stack of instructions where execution may continue, with the entries compiled for it so far. */
export class ResumePoint {
  readonly history: NumberHistory;
  readonly facts: ChangingFacts;
  /** Ordered by when they were last found after another entry, oldest first. */
  readonly #entries = new Set<Candidate>();
  readonly #states = new ReturningStates();
  /** The entry whose guards held last. */
  #last: Candidate | undefined;
  #dispatch: Dispatch<Candidate> | undefined;
  #hasNoGraph: boolean | undefined;
  readonly #next = new WeakMap<Entry, Map<Pc, ResumePoint>>();
  /** Why no more entries are compiled and execution continues natively; null otherwise. */
  native: string | null = null;
  /** Whether the user was warned that these calls keep changing and fit no entry. */
  isCrowded = false;
  /** Whether the user was warned that sizes don't recur. */
  isPassed = false;
  /** Whether a trace may fit the call that found no entry: its sizes are compiled once they recur. */
  declines = false;

  constructor(dynamic: Dynamic, bounds: ShapeBounds) {
    this.history = new NumberHistory(dynamic, bounds);
    this.facts = new ChangingFacts(dynamic !== false);
  }

  get entries(): readonly Candidate[] {
    return [...this.#entries];
  }

  get size(): number {
    return this.#entries.size;
  }

  add(entry: Candidate): void {
    this.#entries.add(entry);
    this.#last = entry;
    this.#hasNoGraph = undefined;
    this.#dispatch = undefined;
  }

  /** Evicts the least recently used entries if all take too much memory. */
  makeRoom(): Candidate[] {
    let bytes = 0;
    for (const entry of this.#entries) bytes += entry.bytes;
    const removed: Candidate[] = [];
    for (const entry of this.#entries) {
      if (bytes <= mostBytes || this.#entries.size <= fewest) break;
      this.#entries.delete(entry);
      bytes -= entry.bytes;
      removed.push(entry);
    }
    if (removed.length > 0) this.#dispatch = undefined;
    return removed;
  }

  /** Whether the call's state has recurred often enough to be traced, although none of many entries fits. */
  returns(frames: readonly Frame[]): boolean {
    const states = this.#states;
    if (states.isEmpty) this.#distinguish(frames);
    if (!states.visit(frames, this.#entries.size)) return false;
    // If the state doesn't distinguish the call from its entry, inspects more guards.
    return !this.#distinguish(frames);
  }

  /** Whether a guard rejected an entry that it has not rejected for an earlier call. */
  #distinguish(frames: readonly Frame[]): boolean {
    let isNew = false;
    for (const { guards } of this.#entries) {
      const failing = guards.firstFailing(frames);
      if (failing && this.#states.add(failing)) isNew = true;
    }
    return isNew;
  }

  /** Returns an entry whose guards hold: the last one used, or one that remains after testing a single fact. */
  find(frames: readonly Frame[]): Entry | undefined {
    const last = this.#last;
    const entry = last?.find(frames);
    this.declines = last?.declines ?? false;
    if (entry || this.#entries.size < 2) return entry;
    this.#dispatch ??= new Dispatch(this.entries);
    for (const candidate of this.#dispatch.candidates(frames)) {
      const found = candidate === last ? undefined : candidate.find(frames);
      this.declines ||= candidate.declines;
      if (!found) continue;
      this.#last = candidate;
      this.#entries.delete(candidate);
      this.#entries.add(candidate);
      return found;
    }
    return undefined;
  }

  /** Records the booleans and comparisons for which no entry fits. */
  noteChanges(frames: readonly Frame[]): void {
    const failing = [...this.#entries].map(({ guards }) => guards.failing(frames));
    this.facts.note(failing.flat(), frames);
    for (const guards of failing) {
      for (const guard of guards) {
        const isTest = guard.kind === 'truthy' || guard.kind === 'value';
        if (isTest) this.history.noteChange(sourceKey(guard.source));
        const isComparison = guard.kind === 'number' && typeof guard.value === 'boolean';
        for (const source of isComparison ? numberSources(guard.expr) : []) {
          this.history.noteChangingComparison(sourceKey(source));
        }
      }
    }
  }

  /** Whether no entry has a tensor op. */
  get hasNoGraph(): boolean {
    this.#hasNoGraph ??= this.entries.every((entry) => entry instanceof Entry && !entry.subgraph);
    return this.#hasNoGraph;
  }

  /** Whether each entry rejects these frames because of a value of JavaScript. */
  differsInHostValues(frames: readonly Frame[]): boolean {
    return this.entries.every(({ guards }) => guards.failing(frames).some(isOfHostValue));
  }

  /** For each entry, its first failing guard, as the user would write it. */
  misses(frames: readonly Frame[]): string[] {
    return this.entries.flatMap(({ guards, names }) => {
      const failing = guards.firstFailing(frames);
      return failing ? [printGuard(failing, names)] : [];
    });
  }

  /** Names the guards that reject a call for most of the entries. */
  changes(frames: readonly Frame[]): string {
    const counts = new Map<string, number>();
    for (const miss of this.misses(frames)) counts.set(miss, (counts.get(miss) ?? 0) + 1);
    const often = [...counts].sort(([, a], [, b]) => b - a).map(([miss]) => miss);
    const shown = often.slice(0, 2).map((miss) => `'${miss}'`);
    return `what the guards rely on changes with every call: ${shown.join(' and ')} failed`;
  }

  /** Notes the result of the instruction before, if it ran natively because its operands change from call to call. */
  #noteResult({ record, frames: left }: BreakOutcome, frames: readonly Frame[]): void {
    const frame = frames.length - 1;
    const { closure, pc } = frames[frame]!;
    const { pc: broken } = left[frame]!;
    if (record.reason !== 'host-value' || pc !== broken + 1) return;
    const reg = writes(closure.code.instructions[broken]!);
    if (reg !== undefined) this.facts.noteRegister({ kind: 'register', frame, reg });
  }

  /** The point at which execution continues after `entry` broke and its instruction ran natively. */
  after(entry: Entry, frames: readonly Frame[], points: ResumePoints): ResumePoint {
    let byPc = this.#next.get(entry);
    if (!byPc) {
      byPc = new Map();
      this.#next.set(entry, byPc);
    }
    const { outcome } = entry.result;
    // A throw popped frames: rare, so looked up by the whole stack.
    if (outcome.kind === 'break' && frames.length !== outcome.frames.length) {
      return points.at(frames);
    }
    const { pc } = frames[frames.length - 1]!;
    let next = byPc.get(pc);
    if (!next) {
      next = points.at(frames);
      byPc.set(pc, next);
      if (outcome.kind === 'break') next.#noteResult(outcome, frames);
    }
    return next;
  }
}

/**
 * All resume points of one captured function, by the code and pc of every frame and by their closures: functions
 * created at one position in the source share code, but not variables.
 */
export class ResumePoints {
  readonly #points = new Map<string, ResumePoint>();
  readonly #dynamic: Dynamic;
  readonly #bounds: () => ShapeBounds;

  /** `bounds`: bounds of dynamic argument sizes; called once the function is captured. */
  constructor(dynamic: Dynamic, bounds: () => ShapeBounds) {
    this.#dynamic = dynamic;
    this.#bounds = bounds;
  }

  at(frames: readonly Frame[]): ResumePoint {
    const key = frames
      .map(({ closure, pc }) => `${closure.code.id}.${objectId(closure.scope)}@${pc}`)
      .join('/');
    let point = this.#points.get(key);
    if (!point) {
      point = new ResumePoint(this.#dynamic, this.#bounds());
      this.#points.set(key, point);
    }
    return point;
  }

  [Symbol.iterator](): IterableIterator<ResumePoint> {
    return this.#points.values();
  }
}
