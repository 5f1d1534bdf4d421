import { getOrInsert } from '../../../../runtime/collections/get-or-insert.ts';
import type { Num } from '../recording/run-numbers.ts';
import type { Statement } from './statements.ts';

/** A sequence of statements that repeats with numbers that grow by the same amounts each time. */
interface Loop {
  readonly kind: 'loop';
  readonly count: number;
  readonly body: readonly Item[];
  /** By how much each number of the body grows per iteration. */
  readonly steps: readonly number[];
  readonly key: string;
  /** The numbers of the first iteration. */
  readonly numbers: readonly Num[];
}

export type Item = Statement | Loop;

const keyOf = (item: Item): string => (item.kind === 'loop' ? item.key : item.text);

/** The most kernels in one iteration. */
const longest = 48;
const deepest = 5;

/** Returns the statements with repetitions turned into loops, nested ones included. */
export function inLoops(statements: readonly Item[]): readonly Item[] {
  let items = statements;
  for (let depth = 0; depth < deepest; depth++) {
    const next = oneLevel(items);
    if (next.length === items.length) return next;
    items = next;
  }
  return items;
}

function oneLevel(items: readonly Item[]): Item[] {
  const numbers = new Map<string, number>();
  const keys = items.map((item) => {
    const key = keyOf(item);
    return getOrInsert(numbers, key, () => numbers.size);
  });
  const found: Item[] = [];
  for (let i = 0; i < items.length; ) {
    const loop = loopAt(items, keys, i);
    found.push(loop?.loop ?? items[i]!);
    i += loop?.length ?? 1;
  }
  return found;
}

/** Returns the loop with the shortest body that begins here and has three iterations, or otherwise two. */
function loopAt(
  items: readonly Item[],
  keys: readonly number[],
  at: number,
): { readonly loop: Loop; readonly length: number } | null {
  let pair: { readonly loop: Loop; readonly length: number } | null = null;
  for (let period = 1; period <= longest && at + 2 * period <= items.length; period++) {
    if (!isSame(keys, at, at + period, period)) continue;
    const block = (k: number) => {
      const from = at + k * period;
      return items.slice(from, from + period).flatMap(({ numbers }) => numbers);
    };
    const first = block(0);
    const steps = stepsOf(first, block(1));
    if (!steps) continue;
    let count = 2;
    for (let last = block(1); at + (count + 1) * period <= items.length; count++) {
      if (!isSame(keys, at, at + count * period, period)) break;
      const next = block(count);
      const own = stepsOf(last, next);
      if (!own?.every((step, k) => step === steps[k])) break;
      last = next;
    }
    const body = items.slice(at, at + period);
    const key = `${count}(${body.map(keyOf).join(';')})${steps.join()}`;
    const loop: Loop = { kind: 'loop', count, body, steps, key, numbers: first };
    const found = { loop, length: count * period };
    if (count > 2) return found;
    if (period > 2) pair ??= found;
  }
  return pair;
}

function isSame(keys: readonly number[], a: number, b: number, count: number): boolean {
  for (let k = 0; k < count; k++) if (keys[a + k] !== keys[b + k]) return false;
  return true;
}

/** Null if a number doesn't grow by an integer. */
function stepsOf(from: readonly Num[], to: readonly Num[]): number[] | null {
  const steps: number[] = [];
  for (let k = 0; k < from.length; k++) {
    const step = stepOf(from[k]!, to[k]!);
    if (step === null) return null;
    steps.push(step);
  }
  return steps;
}

function stepOf(a: Num, b: Num): number | null {
  if (typeof a === 'number' && typeof b === 'number') {
    if (Object.is(a, b)) return 0;
    return Number.isSafeInteger(a) && Number.isSafeInteger(b) ? b - a : null;
  }
  if (typeof a === 'number' || typeof b === 'number') return null;
  if (a.id !== b.id || a.form !== b.form) return null;
  if (a.plus === b.plus) return 0;
  return a.form === 'number' ? b.plus - a.plus : null;
}
