import type { Program } from '../../runtime/program/program.ts';

export interface PassRun {
  readonly pass: string;
  /** The stage of the program that the pass ran on: `traced`, `joint`, `step`, `region` or `again`. */
  readonly stage: string;
  /** Whether the pass changed the program. */
  readonly applied: boolean;
  readonly ms: number;
  /** The program before the pass. */
  readonly before: Program;
  /** The program after the pass. */
  readonly program: Program;
}

/** One run of one pass, as reported to observers. */
export interface PassRecord extends PassRun {
  /** Whether the pass ran for a first plan rather than the final one. */
  readonly isFirst: boolean;
}

/** How the passes of one compilation run. */
export interface PassSettings {
  /** Names of disabled passes. */
  readonly without: ReadonlySet<string>;
  /** Whether the program is verified after each pass. */
  readonly verify: boolean;
  readonly record: (run: PassRun) => void;
}

/** By name, how often each pass of a compilation ran, and how often it changed something. */
export type PassCounts = Readonly<
  Record<string, { readonly runs: number; readonly applied: number }>
>;

export function countPasses(runs: Iterable<Pick<PassRun, 'pass' | 'applied'>>): PassCounts {
  const counts: Record<string, { runs: number; applied: number }> = {};
  for (const { pass, applied } of runs) {
    counts[pass] ??= { runs: 0, applied: 0 };
    const count = counts[pass];
    count.runs++;
    if (applied) count.applied++;
  }
  return counts;
}

type PassListener = (record: PassRecord) => void;

/** Observers that receive the program after each pass. */
class PassObservers {
  #listeners: readonly PassListener[] = [];

  /** Adds a listener. Returns a function that removes it. */
  subscribe(listener: PassListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener);
    };
  }

  notify(record: PassRecord): void {
    for (const listener of this.#listeners) listener(record);
  }
}

export const passObservers = new PassObservers();
