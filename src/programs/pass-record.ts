import type { Program } from '../../runtime/program/program.ts';

/** One run of one pass. */
export interface PassRun {
  readonly pass: string;
  /** The stage of the program that it ran on: `traced`, `joint`, `step`, `region` or `again`. */
  readonly stage: string;
  /** The program is another one after it. */
  readonly applied: boolean;
  readonly ms: number;
  /** The program before it. */
  readonly given: Program;
  /** The program after it. */
  readonly program: Program;
}

/** One run of one pass, as observers see it. */
export interface PassRecord extends PassRun {
  /** It ran for a first plan, not for the final one. */
  readonly isFirst: boolean;
}

/** How the passes of one compilation run. */
export interface PassSettings {
  /** Names of passes that are switched off. */
  readonly without: ReadonlySet<string>;
  /** The program is verified after each pass. */
  readonly verify: boolean;
  readonly record: (run: PassRun) => void;
}

/** How often the passes of a compilation ran, and were applied, by name. */
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

/** The observers of the program after each pass. */
class PassObservers {
  #listeners: readonly PassListener[] = [];

  /** Returns what ends it. */
  subscribe(listener: PassListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener);
    };
  }

  tell(record: PassRecord): void {
    for (const listener of this.#listeners) listener(record);
  }
}

export const passObservers = new PassObservers();
