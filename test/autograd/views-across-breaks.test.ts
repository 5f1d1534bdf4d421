/** Views of a result that is out of reach after a graph break, one of which is written there. */

import { expect, it } from 'vitest';
import { memory, randn, seed, type Tensor, toStatic } from '../../src/index.ts';

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
  'views without gradients yet': (w, note) => () => {
    const h = w.detach().mul(2);
    const [a, b] = [h.narrow(0, 0, 2), h.narrow(0, 1, 2)];
    note();
    a.mul_(w.narrow(0, 0, 2));
    return [b];
  },
  'one view, from which no gradient flows afterwards': (w, note) => () => {
    const a = w.mul(2).narrow(0, 0, 2);
    note();
    a.fill_(3);
    return [a];
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
    const note: Note = () => process.uptime();
    const fn = make(w, note);
    const captured = toStatic(fn);
    const run = isCaptured ? captured : fn;
    const seen = [1, 2].map(() => {
      const results = run();
      results
        .map((each) => each.sin().sum())
        .reduce((a, b) => a.add(b))
        .backward();
      const values = results.map((each) => each.tolist());
      for (const each of results) each.dispose();
      return [values, w.grad!.tolist()];
    });
    expect(captured.stats().breaks.length > 0).toBe(isCaptured);
    return seen;
  };
  expect(seen(true)).toEqual(seen(false));
});

it('memory of a result goes with the last of its views', () => {
  const w = randn([256, 64]).requiresGrad_();
  const fn = toStatic((w: Tensor) => {
    const h = w.mul(2);
    const [a, b] = [h.narrow(0, 0, 2), h.narrow(0, 1, 2)];
    process.uptime();
    return [a, b] as const;
  });
  const after = [1, 2, 3].map(() => {
    for (const each of fn(w)) each.dispose();
    return memory.stats('cpu').allocated;
  });
  expect(new Set(after).size).toBe(1);
});

it.each<[what: string, viewsOf: (x: Tensor) => readonly Tensor[]]>([
  ['one view', (x) => [x.mul(2).t().reshape([-1])]],
  [
    'two views',
    (x) => {
      const flat = x.mul(2).t().reshape([-1]);
      return [flat.narrow(0, 0, 2), flat.narrow(0, 1, 2)];
    },
  ],
])('%s of a copy that a reshape made, with any number of rows', (_, viewsOf) => {
  const gradients = (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor) => {
    const fn = wrap((x) => {
      const views = viewsOf(x);
      process.uptime();
      views[0]!.mul_(3);
      return views.reduce<Tensor>((sum, view) => sum.add(view.sin().sum()), x.sum());
    });
    return [2, 3, 4, 5, 2].map((rows) => {
      seed(rows);
      const x = randn([rows, 3]).requiresGrad_();
      const y = fn(x);
      y.backward();
      return [y.itemSync(), x.grad!.tolist()];
    });
  };
  expect(gradients((fn) => toStatic(fn))).toEqual(gradients((fn) => fn));
});
