import { expect, it } from 'vitest';
import { ones, type Tensor, toStatic } from '../../src/index.ts';
import { values, weights } from '../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor) => Tensor[];

/** What the uses of the weight in the captured function are, so many of them. */
const functions: Readonly<Record<string, Fn>> = {
  'one use': (x, w) => [x.mul(w)],
  'two uses': (x, w) => [x.mul(w).add(w.tanh())],
  'two uses of two results': (x, w) => [x.mul(w), w.tanh()],
  'three uses': (x, w) => [w.tanh().mul(w), w.mul(x).sub(2)],
};

/** The weight is used before, after and between two calls, so that the gradients of each go on from others. */
function gradients(fn: Fn, rows: number): unknown {
  const [x, w] = [values([rows, 3], 1), weights([rows, 3], 2)];
  const before = w.sigmoid();
  const first = fn(x, w);
  const between = w.mul(w);
  const second = fn(before, w);
  const all = [before, ...first, between, ...second, w.sin()];
  all
    .reduce((sum, each) => sum.add(each))
    .sum()
    .backward();
  const made = { shape: w.grad!.shape, values: [...w.grad!.dataSync()] };
  w.grad = ones([rows, 3]);
  fn(x, w)[0]!.sum().backward();
  return [made, [...w.grad.dataSync()]];
}

it.each(Object.keys(functions))('contributions are added up, to none or some rows: %s', (name) => {
  const fn = functions[name]!;
  for (const rows of [0, 1, 4]) {
    expect(gradients(toStatic(fn, { strict: true }), rows), `${rows} rows`).toEqual(
      gradients(fn, rows),
    );
  }
});
