import type { Frame } from '../bytecode/frame.ts';
import { type Guard, GuardSet } from '../guards/guard.ts';
import { compileReader, type Reader, type SourceNames } from '../guards/source.ts';
import type { Resized, TraceResult } from '../traces/trace-result.ts';
import type { Entry, GuardedEntry } from './entry.ts';

/** More sets of sizes than this at one entry: the one used longest ago is compiled again when it returns. */
const sizesLimit = 32;

/** An entry and the sizes that it is for. */
interface Sized {
  readonly entry: Entry | null;
  readonly values: readonly unknown[];
}

/** The entries of one trace, one for each set of sizes: kernels and plans know their sizes exactly. */
export class SizedEntries {
  readonly guards: GuardSet;
  readonly #resized: Resized;
  readonly #compile: (result: TraceResult) => Entry | null;
  readonly #keys: readonly Reader[];
  /** Null: the trace doesn't fit those sizes. In the order of last use. */
  readonly #entries = new Map<string, Sized>();
  /** The sizes of the last call. */
  readonly #last: unknown[];
  #lastEntry: Entry | null = null;

  readonly names: SourceNames;

  constructor(
    resized: Resized,
    names: SourceNames,
    compile: (result: TraceResult) => Entry | null,
  ) {
    this.guards = new GuardSet(resized.guards);
    this.#resized = resized;
    this.names = names;
    this.#compile = compile;
    this.#keys = resized.keys.map(compileReader);
    this.#last = resized.keys.map(() => undefined);
  }

  /** The entry for these frames, compiled when their sizes are new; undefined when the trace doesn't fit. */
  find(frames: readonly Frame[]): Entry | undefined {
    if (!this.guards.holds(frames)) return undefined;
    if (this.#readKeys(frames)) this.#lastEntry = this.#entryFor(frames);
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
    const key = this.#last.map((size) => (Object.is(size, -0) ? '-0' : String(size))).join();
    let sized = this.#entries.get(key);
    if (sized === undefined) {
      const result = this.#resized.at(frames);
      sized = { entry: result && this.#compile(result), values: [...this.#last] };
      if (this.#entries.size >= sizesLimit) {
        this.#entries.delete(this.#entries.keys().next().value!);
      }
    }
    this.#entries.delete(key);
    this.#entries.set(key, sized);
    return sized.entry;
  }

  /** The trace, to play it for sizes that no call had. */
  get resized(): Resized {
    return this.#resized;
  }

  /** What is compiled, with all guards of each: the sizes that it is for are among them. */
  get compiled(): GuardedEntry[] {
    const { keys, guards } = this.#resized;
    return [...this.#entries.values()].flatMap(({ entry, values }) => {
      if (!entry) return [];
      const sizes = keys.map((source, i): Guard => {
        return { kind: 'value', source, value: values[i] as number };
      });
      return [{ entry, guards: [...guards, ...sizes, ...entry.guards.guards] }];
    });
  }
}
