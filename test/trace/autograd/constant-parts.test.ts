/** Parts of a graph that run without gradients, or with them inside such a part: gradients flow where eager ones do. */

import { describe, expect, it } from 'vitest';
import { enableGrad, noGrad, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const parts: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'without gradients': (x) => noGrad(() => x.exp()),
  'with gradients inside': (x) => noGrad(() => enableGrad(() => x.exp()).add(x.sin())),
  'a view without gradients': (x) => noGrad(() => x.narrow(0, 0, 1)),
  'a write without gradients': (x) => {
    const y = x.mul(2);
    noGrad(() => y.mul_(3));
    return y;
  },
  'a write to a part without gradients': (x) => noGrad(() => x.mul(2)).mul_(x),
};

const places: Readonly<
  Record<string, (part: (x: Tensor) => Tensor, x: Tensor, on: Tensor) => Tensor>
> = {
  'of a graph': (part, x) => part(x).mul(x),
  'of a branch': (part, x, on) => (on.sum().itemSync() > 0 ? part(x).mul(x) : x),
  'of a loop': (part, x, on) => {
    let y = x;
    for (let i = 0; i < on.sum().itemSync(); i++) y = part(y).mul(x);
    return y;
  },
};

describe.each(Object.entries(places))('a part %s', (_, place) => {
  it.each(Object.entries(parts))('%s', (_, part) => {
    for (const fullGraph of [false, true]) {
      const { graphs } = expectSameAsEager(
        () => {
          const w = weights([3]);
          return {
            fn: (on: Tensor) => place(part, w.mul(1.5), on),
            args: (call) => [values([1]).add(call === 1 ? -1 : 2)],
            state: () => w,
          };
        },
        { fullGraph },
      );
      expect(graphs).toBeGreaterThan(0);
    }
  });
});
