import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import { type Guard, GuardSet } from '../guards/guard.ts';
import { compileReader, type Reader, type SourceNames } from '../guards/source.ts';
import type { Resized, TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Entry, GuardedEntry } from './entry.ts';
import { PassingSizes } from './passing-sizes.ts';

/**
 * The entries of one trace may take this much of host memory, by an estimate; the one used longest ago is
 * compiled again when its sizes return.
 */
const mostBytes = 128 * 2 ** 20;
/** So many are kept whatever they take. */
const fewest = 16;

/** Compiles the program for some sizes, which the guards are on. */
type CompileSized = (result: TraceResult, sizes: readonly Guard[]) => Entry | null;

/** An entry and the sizes that it is for; null: the trace doesn't fit them. */
interface Sized {
  readonly entry: Entry | null;
  readonly values: readonly unknown[];
}

/** The entries of one trace, one for each set of sizes: kernels and plans know their sizes exactly. */
export class SizedEntries {
  readonly guards: GuardSet;
  readonly #resized: Resized;
  readonly #compile: CompileSized;
  readonly #keys: readonly Reader[];
  readonly #entries = new RecentlyUsed<string | number, Sized>(mostBytes, bytesOf, fewest);
  /** The sizes of the last call. */
  readonly #last: unknown[];
  #lastEntry: Entry | null = null;

  /** Null where all sizes are compiled, since nothing may run eagerly. */
  readonly #passing: PassingSizes<string | number> | null;
  /** The last call's sizes are not compiled, though the trace may fit them: they have not returned so far. */
  declines = false;

  readonly names: SourceNames;

  constructor(resized: Resized, names: SourceNames, compile: CompileSized, mayDecline: boolean) {
    this.#passing = mayDecline ? new PassingSizes() : null;
    this.guards = new GuardSet(resized.guards);
    this.#resized = resized;
    this.names = names;
    this.#compile = compile;
    this.#keys = resized.keys.map(compileReader);
    this.#last = resized.keys.map(() => undefined);
  }

  /**
   * The entry for these frames, compiled when their sizes are new; undefined when the trace doesn't fit, or where it
   * `declines`.
   */
  find(frames: readonly Frame[]): Entry | undefined {
    const declined = this.declines;
    this.declines = false;
    if (!this.guards.holds(frames)) return undefined;
    if (this.#readKeys(frames) || declined) this.#lastEntry = this.#entryFor(frames);
    return this.#lastEntry?.find(frames);
  }

  /** True when the sizes are others than at the last call. */
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
    // Without making a text where one positive number says all.
    const isPlain = this.#last.length === 1 && typeof first === 'number' && first > 0;
    const key = isPlain ? first : this.#last.map(spelled).join();
    if (this.#passing && !this.#entries.has(key) && !this.#passing.isWorthCompiling(key)) {
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

  /** Makes the final plans of what has run. */
  finish(): void {
    for (const { entry } of this.#entries.values()) entry?.finish();
  }

  /** The estimated bytes of all of them. */
  get bytes(): number {
    return this.#entries.weight;
  }

  /** The trace, to play it for sizes that no call had. */
  get resized(): Resized {
    return this.#resized;
  }

  /** The compiled entries, each with all of its guards: the sizes that it is for are among them. */
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

function spelled(size: unknown): string {
  return Object.is(size, -0) ? '-0' : String(size);
}

const bytesOf = ({ entry }: Sized): number => entry?.bytes ?? 0;
