import { formatPosition, type UserPosition } from '../../../runtime/errors/position.ts';
import type { BreakRecord } from '../../traces/graph-break.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Tracer } from './tracer.ts';

/** A decision with several paths, and the number of paths that started there. */
interface Site {
  readonly code: Code;
  readonly pc: Pc;
  readonly at: UserPosition | undefined;
  count: number;
}

/** Counts of traced paths, by decision. */
class PathCounts {
  total = 0;
  readonly #sites = new Map<Code, Map<Pc, Site>>();

  /** Counts a path of the decision at the frame's position. */
  add(t: Tracer, { closure: { code } }: TraceFrame, pc: Pc): Site {
    const places = this.#sites.get(code) ?? new Map<Pc, Site>();
    this.#sites.set(code, places);
    const site = places.get(pc) ?? { code, pc, at: t.position(), count: 0 };
    places.set(pc, site);
    site.count++;
    this.total++;
    return site;
  }

  clear(): void {
    this.total = 0;
    this.#sites.clear();
  }

  /** Returns the lines where most paths begin. */
  most(): { readonly text: string; readonly at: UserPosition | undefined } {
    const byLine = new Map<string, { at: UserPosition; count: number }>();
    for (const { at, count } of [...this.#sites.values()].flatMap((each) => [...each.values()])) {
      if (!at) continue;
      const key = formatPosition(at);
      const line = byLine.get(key) ?? { at, count: 0 };
      line.count += count;
      byLine.set(key, line);
    }
    const lines = [...byLine].sort(([, a], [, b]) => b.count - a.count).slice(0, 3);
    const text = lines.map(([line, { count }]) => `${count} at ${line}`).join(', ');
    return { text, at: lines[0]?.[1].at };
  }
}

/**
 * Limits the number of paths traced for one decision. Paths of nested decisions count as well: this detects multiplying
 * decisions, but allows any number of consecutive ones.
 */
export class PathLimit {
  readonly #limit: number;
  readonly #budget: PathBudget | undefined;
  #depth = 0;
  #first: Site | null = null;
  readonly #counts = new PathCounts();

  constructor(limit: number, budget?: PathBudget) {
    this.#limit = limit;
    this.#budget = budget;
  }

  /** Traces one path of the decision at the frame's position. Throws if the limit of paths is exceeded. */
  count<T>(t: Tracer, frame: TraceFrame, pc: Pc, body: () => T): T {
    if (this.#depth === 0) {
      this.#counts.clear();
      this.#first = null;
    }
    const site = this.#counts.add(t, frame, pc);
    this.#first ??= site;
    this.#budget?.spend(t, frame, pc);
    if (this.#counts.total > this.#limit) {
      const { code, pc } = this.#first;
      t.control.plans.stopAt(code, pc, this.#describe(this.#first));
    }
    this.#depth++;
    try {
      return body();
    } finally {
      this.#depth--;
    }
  }

  /** Describes the exceeded limit by the lines where most paths begin. */
  #describe({ at: start }: Site): BreakRecord {
    const { text, at = start } = this.#counts.most();
    const first = start ? `the decision at ${formatPosition(start)}` : 'one decision';
    const detail = `more than ${this.#limit} paths (pathLimit) were traced for ${first}: ${text}`;
    return { reason: 'too-many-paths', detail, at };
  }
}

/**
 * The paths that may be traced for all decisions together, in an attempt to trace a function as one program. A
 * function that needs more is not attempted again.
 */
export class PathBudget {
  readonly #limit: number;
  readonly #counts = new PathCounts();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isSpent(): boolean {
    return this.#counts.total > this.#limit;
  }

  /** Returns the result of `body`, and resets the budget for the next attempt. */
  within<T>(body: () => T): T {
    const result = body();
    this.#counts.clear();
    return result;
  }

  /** Counts a path. Throws TooManyPaths if the budget is spent. */
  spend(t: Tracer, frame: TraceFrame, pc: Pc): void {
    this.#counts.add(t, frame, pc);
    if (!this.isSpent) return;
    throw new TooManyPaths(
      `as one program, it takes more than ${this.#limit} paths (an eighth of pathLimit): ${this.#counts.most().text}`,
    );
  }
}

/** Thrown when tracing a function as one program takes more paths than its budget. */
export class TooManyPaths extends Error {
  override readonly name = 'TooManyPaths';
}
