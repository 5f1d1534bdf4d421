import { Dispatch } from '../guards/dispatch.ts';
import { type Dynamic, NumberHistory } from '../guards/number-history.ts';
import { printGuard } from '../guards/print-guard.ts';
import type { PromisedSizes } from '../guards/promised-sizes.ts';
import { objectId } from '../guards/source-key.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import type { Entry } from './entry.ts';
import type { SizedEntries } from './sized-entries.ts';

/** One trace, compiled for its own sizes or for several. */
type Candidate = Entry | SizedEntries;

/** A stack of instructions where execution may go on, with the entries compiled for it so far. */
export class ResumePoint {
  readonly history: NumberHistory;
  readonly #entries: Candidate[] = [];
  /** The one that held last. */
  #last: Candidate | undefined;
  #dispatch: Dispatch<Candidate> | undefined;
  readonly #next = new WeakMap<Entry, Map<Pc, ResumePoint>>();
  /** Set when no more entries are compiled here: execution goes on natively, for this reason. */
  native: string | null = null;

  constructor(dynamic: Dynamic, promised: PromisedSizes) {
    this.history = new NumberHistory(dynamic, promised);
  }

  get entries(): readonly Candidate[] {
    return this.#entries;
  }

  add(entry: Candidate): void {
    this.#entries.push(entry);
    this.#last = entry;
    this.#dispatch = undefined;
  }

  /** An entry whose guards hold: the one that held last, or one of those that a single fact leaves. */
  find(frames: readonly Frame[]): Entry | undefined {
    const last = this.#last;
    const entry = last?.find(frames);
    if (entry || this.#entries.length < 2) return entry;
    this.#dispatch ??= new Dispatch(this.#entries);
    for (const candidate of this.#dispatch.candidates(frames)) {
      const found = candidate === last ? undefined : candidate.find(frames);
      if (!found) continue;
      this.#last = candidate;
      return found;
    }
    return undefined;
  }

  /** Of each entry the first guard that doesn't hold, as the user would write it. */
  misses(frames: readonly Frame[]): string[] {
    return this.#entries.flatMap(({ guards, names }) => {
      const failing = guards.firstFailing(frames);
      return failing ? [printGuard(failing, names)] : [];
    });
  }

  /** Where execution goes on after `entry` broke and its instruction ran natively. */
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
  readonly #promised: () => PromisedSizes;

  /** `promised`: sizes of arguments that are not fixed; asked once the function is captured. */
  constructor(dynamic: Dynamic, promised: () => PromisedSizes) {
    this.#dynamic = dynamic;
    this.#promised = promised;
  }

  at(frames: readonly Frame[]): ResumePoint {
    const key = frames
      .map(({ closure, pc }) => `${closure.code.id}.${objectId(closure.scope)}@${pc}`)
      .join('/');
    let point = this.#points.get(key);
    if (!point) {
      point = new ResumePoint(this.#dynamic, this.#promised());
      this.#points.set(key, point);
    }
    return point;
  }

  [Symbol.iterator](): IterableIterator<ResumePoint> {
    return this.#points.values();
  }
}
