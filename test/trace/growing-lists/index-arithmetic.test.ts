/** Numbers computed from the index of an element: a trace for all elements takes them for what they are at each. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

type Loop = (xs: readonly Tensor[]) => Tensor;

const forward = 'let i = 0; i < xs.length; i++';
const backward = 'let i = xs.length - 1; i >= 0; i--';

/** Returns a loop over all elements; `element` and `condition` read the index `i`. */
function loop(order: string, element: string, condition: string): Loop {
  const body = `
    let y = tensor([1]);
    for (${order}) {
      const x = ${element};
      y = y.mul(2).add(x === undefined ? 100 : x);
      if (${condition}) y = y.mul(3);
    }
    return y;`;
  return new Function('tensor', `return (xs) => {${body}}`)(tensor) as Loop;
}

const indices = [
  'i',
  '2 * i - i',
  'i - 1',
  '(i + 1) * (i - 1)',
  '(i * 0.1) * 10',
  'i + 0.5 - 0.5',
  'xs.length - i - 1',
  'xs.length - (xs.length - i)',
  'i + xs.length - xs.length',
  'i % 3',
];
const factors = ['2 * i - 1', '(i * 0.1) * 10', 'i * i', 'xs.length - i', '(xs.length - i) / 3'];
const conditions = [
  'i >= 2',
  '2 >= i',
  'i === 2',
  'i - 3 !== 1 - i',
  'i * i < 4',
  '(i * 0.6) * 7.5 >= 27',
  '(i * 0.1) * 3 === 0.3',
  'xs.length - i > 2',
];

function outcome(f: Loop, length: number): string {
  return f(Array.from({ length }, (_, i) => tensor([i + 1])))
    .dataSync()
    .join();
}

it.each([forward, backward])('is what it is in JavaScript: %s', (order) => {
  const programs = [
    ...indices.map((index) => [`xs[${index}]`, 'false']),
    ...factors.map((factor) => [`xs[i].mul(${factor})`, 'false']),
    ...conditions.map((condition) => ['xs[i]', condition]),
  ] as [string, string][];
  let allAtOnce = 0;
  for (const [element, condition] of programs) {
    const body = loop(order, element, condition);
    const captured = toStatic(body);
    const lengths = [2, 3, 4, 8, 1];
    for (const length of lengths) {
      const text = `${element} if ${condition}, ${length} elements`;
      expect(outcome(captured, length), text).toBe(outcome(body, length));
    }
    if (captured.stats().translations < lengths.length) allAtOnce++;
  }
  expect(allAtOnce).toBeGreaterThan(5);
});
