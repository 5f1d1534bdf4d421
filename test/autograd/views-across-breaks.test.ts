/** Views of a result that is out of reach after a graph break, one of which is written there. */

import { expect, it } from 'vitest';
import { randn, seed, type Tensor, toStatic } from '../../src/index.ts';

type Note = () => void;

const cases: Readonly<Record<string, (w: Tensor, note: Note) => () => readonly Tensor[]>> = {
  'two views of one result': (w, note) => () => {
    const h = w.mul(2);
    const [a, b] = [h.narrow(0, 0, 2), h.narrow(0, 1, 2)];
    note();
    a.mul_(3);
    return [b];
  },
  'a view of a view': (w, note) => () => {
    const a = w.mul(2).narrow(0, 0, 2);
    const b = a.narrow(1, 1, 1);
    note();
    a.tanh_();
    return [b, a];
  },
  'a view that is made after the break': (w, note) => () => {
    const h = w.mul(2);
    const a = h.narrow(0, 0, 2);
    note();
    const b = h.narrow(0, 1, 2);
    a.mul_(3);
    return [b];
  },
  'after a second break': (w, note) => () => {
    const h = w.mul(2);
    const [a, b, c] = [h.t(), h.select(0, 0), h.mul(0)];
    note();
    a.mul_(3);
    note();
    b.mul_(2);
    return [a, c];
  },
};

it.each(Object.entries(cases))('%s: as eagerly', (_name, make) => {
  const seen = (isCaptured: boolean) => {
    seed(2);
    const w = randn([4, 3]).requiresGrad_();
    const calls: unknown[] = [];
    const note: Note = () => Reflect.apply(Array.prototype.push, calls, [1]);
    const fn = make(w, note);
    const run = isCaptured ? toStatic(fn) : fn;
    return [1, 2].map(() => {
      const results = run();
      results
        .map((each) => each.sin().sum())
        .reduce((a, b) => a.add(b))
        .backward();
      return [results.map((each) => each.tolist()), w.grad!.tolist()];
    });
  };
  expect(seen(true)).toEqual(seen(false));
});
