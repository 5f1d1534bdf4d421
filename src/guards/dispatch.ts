import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Guard } from './guard.ts';
import { compileNumber, hasResultSize, numberKey } from './number-expr.ts';
import { compilePlainReader } from './plain-reads.ts';
import { sourceKey } from './source-key.ts';

/** The value that a guard requires at a location: the guard holds only if reading returns it. */
interface Fact {
  readonly key: string;
  readonly value: unknown;
  readonly read: () => (frames: readonly Frame[]) => unknown;
}

interface Guarded {
  readonly guards: { readonly guards: readonly Guard[] };
}

/**
 * Narrows the entries down to those that may fit by a single read: the fact that distinguishes most of them selects a
 * bucket. Entries that don't depend on the fact are in every bucket.
 */
export class Dispatch<T extends Guarded> {
  readonly #read: ((frames: readonly Frame[]) => unknown) | undefined;
  readonly #buckets = new Map<unknown, T[]>();
  /** Entries that don't depend on the fact. */
  readonly #others: readonly T[];

  constructor(entries: readonly T[]) {
    const facts = entries.map((entry) => new Map(entry.guards.guards.flatMap(factsWithKeys)));
    const key = bestKey(facts);
    this.#read = key === undefined ? undefined : anyFact(facts, key).read();
    this.#others = entries.filter((_, i) => key === undefined || !facts[i]!.has(key));
    if (key === undefined) return;
    entries.forEach((entry, i) => {
      const fact = facts[i]!.get(key);
      if (!fact) return;
      getOrInsert(this.#buckets, fact.value, () => []).push(entry);
    });
    for (const bucket of this.#buckets.values()) bucket.push(...this.#others);
  }

  /** Returns the entries whose guards may hold. */
  candidates(frames: readonly Frame[]): readonly T[] {
    if (!this.#read) return this.#others;
    let value: unknown;
    try {
      value = this.#read(frames);
    } catch {
      // The object that the fact reads through doesn't exist: every guard on it fails.
      return this.#others;
    }
    return this.#buckets.get(value) ?? this.#others;
  }
}

function factsWithKeys(guard: Guard): [string, Fact][] {
  return factsOf(guard).map((fact) => [fact.key, fact]);
}

function factsOf(guard: Guard): Fact[] {
  switch (guard.kind) {
    case 'gradMode':
      return [{ key: 'grad', value: guard.enabled, read: () => gradEnabled }];
    case 'value':
    case 'identity': {
      const { source, value } = guard;
      return [{ key: `is ${sourceKey(source)}`, value, read: () => compilePlainReader(source) }];
    }
    case 'number': {
      const { expr, value } = guard;
      if (hasResultSize(expr)) return [];
      const read = () => compileNumber(expr, [], compilePlainReader);
      return [{ key: `number ${numberKey(expr)}`, value, read }];
    }
    case 'tensor': {
      const { source, shape, requiresGrad } = guard;
      const of = (what: string, value: unknown, get: (tensor: Tensor) => unknown): Fact => ({
        key: `${what} ${sourceKey(source)}`,
        value,
        read: () => {
          const read = compilePlainReader(source);
          return (frames) => get(read(frames) as Tensor);
        },
      });
      return [
        of('gradient', requiresGrad, (tensor) => tensor.requiresGrad),
        ...shape.flatMap((size, dim) =>
          typeof size !== 'number' ? [] : [of(`size ${dim}`, size, (tensor) => tensor.shape[dim])],
        ),
      ];
    }
    default:
      return [];
  }
}

/** Returns the fact that leaves the fewest entries to try; undefined if none distinguishes any two. */
function bestKey(facts: readonly ReadonlyMap<string, Fact>[]): string | undefined {
  let [best, fewest]: [string | undefined, number] = [undefined, facts.length];
  for (const key of new Set(facts.flatMap((each) => [...each.keys()]))) {
    const counts = new Map<unknown, number>();
    for (const each of facts) {
      const fact = each.get(key);
      if (fact) counts.set(fact.value, (counts.get(fact.value) ?? 0) + 1);
    }
    const without = facts.filter((each) => !each.has(key)).length;
    const tries = Math.max(...counts.values()) + without;
    if (tries < fewest) [best, fewest] = [key, tries];
  }
  return best;
}

function anyFact(facts: readonly ReadonlyMap<string, Fact>[], key: string): Fact {
  return facts.find((each) => each.has(key))!.get(key)!;
}
