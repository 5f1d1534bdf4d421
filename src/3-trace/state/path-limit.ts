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

/**
 * Limits the number of paths traced for one decision. Paths of nested decisions count as well, so that multiplying
 * decisions are noticed, while any number of consecutive decisions is allowed.
 */
export class PathLimit {
  readonly #limit: number;
  #depth = 0;
  #total = 0;
  #first: Site | null = null;
  readonly #sites = new Map<Code, Map<Pc, Site>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Traces one path of the decision at the frame's position. Throws if the limit of paths is exceeded. */
  count<T>(t: Tracer, frame: TraceFrame, pc: Pc, body: () => T): T {
    if (this.#depth === 0) this.#reset();
    const site = this.#siteOf(t, frame, pc);
    this.#first ??= site;
    site.count++;
    if (++this.#total > this.#limit) {
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

  #reset(): void {
    this.#total = 0;
    this.#first = null;
    this.#sites.clear();
  }

  #siteOf(t: Tracer, { closure: { code } }: TraceFrame, pc: Pc): Site {
    const places = this.#sites.get(code) ?? new Map<Pc, Site>();
    this.#sites.set(code, places);
    const site = places.get(pc) ?? { code, pc, at: t.position(), count: 0 };
    places.set(pc, site);
    return site;
  }

  /** Describes the exceeded limit by the lines where most paths begin. */
  #describe({ at: start }: Site): BreakRecord {
    const byLine = new Map<string, { at: UserPosition; count: number }>();
    for (const { at, count } of [...this.#sites.values()].flatMap((each) => [...each.values()])) {
      if (!at) continue;
      const key = formatPosition(at);
      const line = byLine.get(key) ?? { at, count: 0 };
      line.count += count;
      byLine.set(key, line);
    }
    const lines = [...byLine].sort(([, a], [, b]) => b.count - a.count).slice(0, 3);
    const most = lines.map(([line, { count }]) => `${count} at ${line}`).join(', ');
    const first = start ? `the decision at ${formatPosition(start)}` : 'one decision';
    return {
      reason: 'too-many-paths',
      detail: `more than ${this.#limit} paths (pathLimit) were traced for ${first}: ${most}`,
      at: lines[0]?.[1].at ?? start,
    };
  }
}
