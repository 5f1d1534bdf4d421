/** Objects of every kind that branches and loops of the program make of data, and that leave it. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, Tensor, tensor, toStatic } from '../../../src/index.ts';

/** `v` is a number of the data, `x` the argument. */
const objects = {
  closure: '((n) => () => n)(v)',
  'bound function': '((a) => a).bind(null, v)',
  'bound function of one of two functions': '(flag ? (a, b) => a + b : (a) => a).bind(null, v, 2)',
  'bound builtin': 'Math.max.bind(null, v, 1)',
  generator: 'walk(v)',
  'generator that has begun': 'begun(walk(v))',
  'generator of constants': 'walk(5)',
  'generator of constants that has begun': 'begun(walk(5))',
  'generator of a tensor': 'walk(x.mul(2))',
  'generator with an outer variable': '((n) => (function* () { yield n; })())(v)',
  'generator with a shared variable':
    'begun((function* (n) { const f = () => n++; yield f(); yield f(); })(2))',
  'array iterator': '[v, x].values()',
  'array iterator that has begun': 'begun([1, 2, v].entries())',
  'iterator of constants': 'begun([1, 2].values())',
  'iterator of a Map': 'new Map([[1, v]]).entries()',
  'iterator of a Map that has begun': 'begun(new Map([[1, v], [2, 3]]).values())',
  'iterator of a constant Map': 'new Map([[1, 2]]).entries()',
  'iterator of a Set': 'new Set([v]).values()',
  promise: 'Promise.resolve(v)',
  'object around iterators': '({ a: [v].values(), b: ((n) => n).bind(null, [v]) })',
};

const places = [
  'if (v > 0.05) held = OBJECT;',
  'held = v > 0.05 ? OBJECT : OBJECT;',
  'while (v > k) { held = OBJECT; k++; }',
  'for (let i = 0; i < 2; i++) { if (v > i) { held ??= OBJECT; if (flag) break; } }',
  'for (let i = 0; i < 2; i++) { held = OBJECT; if (v > i + 1) break; }',
];

const modes = [{ capture: 'auto' }, { fullGraph: true }] as const;

interface World {
  readonly fn: (x: Tensor, flag: boolean) => Tensor;
  readonly held: () => unknown;
}

function worldOf(object: string, place: string): World {
  const make = new Function(`'use strict';
    let held = null, k = 0;
    const walk = function* (n) { yield 1; yield n; };
    const begun = (iterator) => { iterator.next(); return iterator; };
    const fn = (x, flag) => {
      const v = x.sum().itemSync();
      ${place.replaceAll('OBJECT', object)}
      return x.add(1);
    };
    return { fn, held: () => held };`);
  return make() as World;
}

/** Everything that the object contains, after which iterators are done. */
async function contentOf(value: unknown): Promise<unknown> {
  if (value instanceof Tensor) return value.toArraySync();
  if (typeof value === 'function') return contentOf(value());
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Promise) return contentOf(await value);
  const parts =
    Symbol.iterator in value ? [...(value as Iterable<unknown>)] : Object.entries(value);
  return Promise.all(parts.map(contentOf));
}

describe('an object that a branch or loop of the program makes', () => {
  it.each(Object.entries(objects))('has its content outside: %s', async (name, object) => {
    const number = Object.keys(objects).indexOf(name);
    for (const [i, place] of places.entries()) {
      if ((i + number) % 2 === 1) continue;
      const [eager, captured] = [worldOf(object, place), worldOf(object, place)];
      const options = modes[Math.floor((i + number) / 2) % 2]!;
      const run = toStatic(captured.fn, { strict: true, ...options });
      for (const v of [1, 0, 3, 2]) {
        try {
          run(tensor([v]), true);
        } catch (error) {
          // A program that can't make it says so.
          if (!(error instanceof FullGraphError)) throw error;
          expect(object, place).toMatch(/Set|Map|Promise|function\*|walk/);
          break;
        }
        eager.fn(tensor([v]), true);
        const [actual, expected] = [captured.held(), eager.held()].map(contentOf);
        expect(await actual, `${place} with ${v}`).toEqual(await expected);
      }
    }
  });
});
