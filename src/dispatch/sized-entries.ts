import { exactText } from '../../runtime/numerics/exact-text.ts';
import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import { type Guard, GuardSet } from '../guards/guard.ts';
import { compileReader, type Reader, type SourceNames } from '../guards/source.ts';
import type { Resized, TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Entry, GuardedEntry } from './entry.ts';
import { RecurringSizes } from './recurring-sizes.ts';

/**
 * The estimated bytes of JavaScript memory for the entries of one trace. The least recently used entry is evicted, and
 * compiled again when its sizes recur.
 */
const mostBytes = 128 * 2 ** 20;
/** At least this many entries are kept. */
const fewest = 16;

/** Compiles the program for one set of sizes, given the guards on them. */
type CompileSized = (result: TraceResult, sizes: readonly Guard[]) => Entry | null;

/** An entry and its sizes; null if the trace doesn't fit them. */
interface Sized {
  readonly entry: Entry | null;
  readonly values: readonly unknown[];
}

/** The entries of one trace, one per set of sizes: kernels and plans know their sizes exactly. */
export class SizedEntries {
  readonly guards: GuardSet;
  readonly #resized: Resized;
  readonly #compile: CompileSized;
  readonly #keys: readonly Reader[];
  readonly #entries = new RecentlyUsed<string | number, Sized>(mostBytes, bytesOf, fewest);
  /** The sizes of the last call. */
  readonly #last: unknown[];
  #lastEntry: Entry | null = null;

  /** Null if all sizes are compiled, since nothing may run eagerly. */
  readonly #passing: RecurringSizes<string | number> | null;
  /** Whether the last call's sizes are not compiled although the trace may fit them: they have not recurred so far. */
  declines = false;

  readonly names: SourceNames;

  constructor(resized: Resized, names: SourceNames, compile: CompileSized, mayDecline: boolean) {
    this.#passing = mayDecline ? new RecurringSizes() : null;
    this.guards = new GuardSet(resized.guards);
    this.#resized = resized;
    this.names = names;
    this.#compile = compile;
    this.#keys = resized.keys.map(compileReader);
    this.#last = resized.keys.map(() => undefined);
  }

  /**
   * Returns the entry for these frames, compiled if their sizes are new; undefined if the trace doesn't fit or
   * `declines`.
   */
  find(frames: readonly Frame[]): Entry | undefined {
    const declined = this.declines;
    this.declines = false;
    if (!this.guards.holds(frames)) return undefined;
    if (this.#readKeys(frames) || declined) this.#lastEntry = this.#entryFor(frames);
    return this.#lastEntry?.find(frames);
  }

  /** Whether the sizes differ from those of the last call. */
  #readKeys(frames: readonly Frame[]): boolean {
    let changed = false;
    for (let i = 0; i < this.#keys.length; i++) {
      const value = this.#keys[i]!(frames);
      if (Object.is(value, this.#last[i])) continue;
      this.#last[i] = value;
      changed = true;
    }
    return changed;
  }

  #entryFor(frames: readonly Frame[]): Entry | null {
    const [first] = this.#last;
    // Avoids building a string where one positive number is the whole key.
    const isPlain = this.#last.length === 1 && typeof first === 'number' && first > 0;
    const key = isPlain ? first : this.#last.map(exactText).join();
    if (this.#entries.has(key)) {
      this.#passing?.recur();
    } else if (this.#passing?.isWorthCompiling(key, this.#last) === false) {
      this.declines = true;
      return null;
    }
    const { entry } = this.#entries.get(key, () => {
      const result = this.#resized.at(frames);
      const values = [...this.#last];
      return { entry: result && this.#compile(result, this.#guardsOn(values)), values };
    });
    return entry;
  }

  /** Makes the final plans of everything run so far. */
  finish(): void {
    for (const { entry } of this.#entries.values()) entry?.finish();
  }

  /** The estimated bytes of all entries. */
  get bytes(): number {
    return this.#entries.weight;
  }

  /** The trace, to be replayed with sizes that no call has had. */
  get resized(): Resized {
    return this.#resized;
  }

  /** The compiled entries, each with all of its guards, including those on its sizes. */
  get compiled(): GuardedEntry[] {
    const { guards } = this.#resized;
    return this.#entries.values().flatMap(({ entry, values }) => {
      if (!entry) return [];
      return [{ entry, guards: [...guards, ...this.#guardsOn(values), ...entry.guards.guards] }];
    });
  }

  #guardsOn(sizes: readonly unknown[]): Guard[] {
    return this.#resized.keys.map((source, i) => {
      return { kind: 'value', source, value: sizes[i] as number };
    });
  }
}

const bytesOf = ({ entry }: Sized): number => entry?.bytes ?? 0;

/** Returns the trace with guards on the sizes for which it can be replayed: it fits no others. */
export function withOwnSizes(result: TraceResult, frames: readonly Frame[]): TraceResult {
  if (!result.resized) return result;
  const guards = result.resized.keys.map((source): Guard => {
    return { kind: 'value', source, value: compileReader(source)(frames) as number };
  });
  return { ...result, guards: [...result.guards, ...guards] };
}
