import { Dispatch } from '../guards/dispatch.ts';
import { type Dynamic, NumberHistory } from '../guards/number-history.ts';
import { printGuard } from '../guards/print-guard.ts';
import type { ShapeBounds } from '../guards/shape-bounds.ts';
import { objectId } from '../guards/source-key.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import type { Entry } from './entry.ts';
import { ReturningStates } from './returning-states.ts';
import type { SizedEntries } from './sized-entries.ts';

/** One trace, compiled for its own sizes or for several. */
export type Candidate = Entry | SizedEntries;

/** The entries of one point may take this much of host memory, by an estimate. */
const mostBytes = 128 * 2 ** 20;
/** So many are kept whatever they take. */
const fewest = 16;

/** A stack of instructions where execution may continue, with the entries compiled for it so far. */
export class ResumePoint {
  readonly history: NumberHistory;
  /** The one that was found, after another one, longest ago first. */
  readonly #entries = new Set<Candidate>();
  readonly #states = new ReturningStates();
  /** The one that held last. */
  #last: Candidate | undefined;
  #dispatch: Dispatch<Candidate> | undefined;
  readonly #next = new WeakMap<Entry, Map<Pc, ResumePoint>>();
  /** Set when no more entries are compiled here: execution continues natively, for this reason. */
  native: string | null = null;
  /** The user knows that no entry fits these calls, which differ each time. */
  isCrowded = false;
  /** The user knows that new sizes keep coming. */
  isPassed = false;
  /** A trace may fit the call that found no entry: its sizes are compiled once they return. */
  declines = false;

  constructor(dynamic: Dynamic, bounds: ShapeBounds) {
    this.history = new NumberHistory(dynamic, bounds);
  }

  get entries(): readonly Candidate[] {
    return [...this.#entries];
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  add(entry: Candidate): void {
    this.#entries.add(entry);
    this.#last = entry;
    this.#dispatch = undefined;
  }

  /** Takes out entries that were not found for long, where all take too much memory. */
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

  /**
   * Whether the call is in a state that has come back often enough to be translated besides the many entries that
   * are there, none of which fits.
   */
  returns(frames: readonly Frame[]): boolean {
    const states = this.#states;
    if (states.isEmpty) this.#tellApart(frames);
    if (!states.visit(frames, this.#entries.size)) return false;
    // Where the state hides what tells the call from the entry of that state, it is looked at more closely.
    return !this.#tellApart(frames);
  }

  /** True if some guard rejected an entry that no earlier call was rejected by. */
  #tellApart(frames: readonly Frame[]): boolean {
    let isNew = false;
    for (const { guards } of this.#entries) {
      const failing = guards.firstFailing(frames);
      if (failing && this.#states.add(failing)) isNew = true;
    }
    return isNew;
  }

  /** An entry whose guards hold: the one that held last, or one of those that a single fact leaves. */
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

  /** The first guard of each entry that doesn't hold, as the user would write it. */
  misses(frames: readonly Frame[]): string[] {
    return this.entries.flatMap(({ guards, names }) => {
      const failing = guards.firstFailing(frames);
      return failing ? [printGuard(failing, names)] : [];
    });
  }

  /** Where execution continues after `entry` broke and its instruction ran natively. */
  after(entry: Entry, frames: readonly Frame[], points: ResumePoints): ResumePoint {
    let byPc = this.#next.get(entry);
    if (!byPc) {
      byPc = new Map();
      this.#next.set(entry, byPc);
    }
    const { outcome } = entry.result;
    // A throw took frames off: rare, so found by the whole stack.
    if (outcome.kind === 'break' && frames.length !== outcome.frames.length) {
      return points.at(frames);
    }
    const { pc } = frames[frames.length - 1]!;
    let next = byPc.get(pc);
    if (!next) {
      next = points.at(frames);
      byPc.set(pc, next);
    }
    return next;
  }
}

/**
 * All resume points of one captured function, by the code and pc of every frame, and by the names around
 * it: two functions made at one place in the source have one code, and different variables.
 */
export class ResumePoints {
  readonly #points = new Map<string, ResumePoint>();
  readonly #dynamic: Dynamic;
  readonly #bounds: () => ShapeBounds;

  /** `bounds`: bounds of argument sizes that are not fixed; asked once the function is captured. */
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
