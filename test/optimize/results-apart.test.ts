/** Results share memory where they do eagerly, and nowhere else: what a pass shares is not handed out twice. */

import { describe, expect, it } from 'vitest';
import { noGrad, type Tensor, type ToStaticOptions, tensor, toStatic } from '../../src/index.ts';

/** Each is computed twice, of one tensor. */
const expressions: Readonly<Record<string, (y: Tensor) => Tensor>> = {
  clone: (y) => y.clone(),
  'clone of a transpose': (y) => y.t().clone(),
  contiguous: (y) => y.t().contiguous(),
  'clone of a row': (y) => y.select(0, 1).clone(),
  exp: (y) => y.exp(),
  'mul by 1': (y) => y.mul(1),
  'neg of neg': (y) => y.neg().neg(),
  sum: (y) => y.sum(0),
  'a reshaped clone': (y) => y.clone().reshape([-1]),
  transposes: (y) => y.t().t(),
  reshape: (y) => y.reshape([-1]),
  'a cast to its dtype': (y) => y.to('float32'),
  'a cast and back': (y) => y.to('float64').to('float32'),
  expand: (y) => y.select(0, 0).expand([2, 2]),
};

const from: Readonly<Record<string, (w: Tensor) => Tensor>> = {
  'an argument': (w) => w,
  'a recorded intermediate': (w) => w.mul(2),
  'a detached intermediate': (w) => w.mul(2).detach(),
};

/** What happens to both results inside: reads keep the first alive while the second is made. */
const uses: Readonly<Record<string, (p: Tensor, q: Tensor) => Tensor[]>> = {
  'read afterwards': (p, q) => [p.exp(), q.exp()],
  'not read': () => [],
};

const modes: readonly ToStaticOptions[] = [
  {},
  { memory: 'cleaned' },
  { memory: { prefer: 'bytes' } },
];

/** All results after a write to each of them in turn. */
function written(fn: (w: Tensor) => Tensor[], gradients: boolean): unknown {
  const w = tensor([
    [1, 2],
    [3, 4],
  ]);
  if (gradients) w.requiresGrad_();
  const results = fn(w);
  const seen: unknown[] = [];
  for (const [i, result] of results.entries()) {
    try {
      noGrad(() => result.add_(10 * (i + 1)));
    } catch (error) {
      seen.push((error as Error).name);
    }
    seen.push([w, ...results].map((each) => each.tolist()));
  }
  return seen;
}

describe.each(Object.entries(from))('results made of %s', (_from, of) => {
  it.each(Object.entries(expressions))('%s, twice', (_name, compute) => {
    for (const use of Object.values(uses)) {
      const fn = (w: Tensor): Tensor[] => {
        const loss = w.tanh().sum();
        const y = of(w);
        const [p, q] = [compute(y), compute(y)];
        return [loss, p, q, ...use(p, q)];
      };
      for (const gradients of [true, false]) {
        const eager = written(fn, gradients);
        for (const mode of modes) expect(written(toStatic(fn, mode), gradients)).toEqual(eager);
      }
    }
  });
});
