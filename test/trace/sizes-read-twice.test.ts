/** A size that code reads which is then traced in another way is that of the same tensor when it is read again. */

import { describe, expect, it } from 'vitest';
import { stack, type Tensor, tensor, toStatic, zeros } from '../../src/index.ts';
import { describeValues } from './snapshot.ts';

interface Head {
  readonly w: Tensor;
}

type Loop = (heads: readonly Head[], x: Tensor, n: number) => unknown;

/** Each reads sizes of results in a loop that is first tried for arrays of any length, then for this one. */
const loops: Readonly<Record<string, Loop>> = {
  'a result from before the loop': (heads, x) => {
    const y = x.add(1);
    return heads.map(({ w }, i) => y.narrow(0, 0, y.size(0) - 1 - i).mul(w));
  },
  'two results of different sizes': (heads, x) => {
    const [y, z] = [x.add(1), x.narrow(0, 2, x.size(0) - 2).exp()];
    let total = zeros([]);
    heads.forEach(({ w }, i) => {
      total = total.add(
        y
          .narrow(0, 0, y.size(0) - i)
          .mul(w)
          .sum(),
      );
      total = total.add(z.narrow(0, 0, z.size(0) - i).sum());
    });
    return total;
  },
  'the second one alone, afterwards': (heads, x) => {
    const [y, z] = [x.add(1), x.narrow(0, 2, x.size(0) - 2).exp()];
    const parts = heads.map(({ w }, i) =>
      y
        .narrow(0, 0, y.size(0) - 3 - i)
        .sum()
        .mul(w),
    );
    return [...parts, z.mul(z.shape[0]!), y.mul(y.shape[0]!)];
  },
  'counted by hand': (heads, x) => {
    const y = x.mul(2);
    let total = zeros([3]);
    let i = 0;
    for (const { w } of heads)
      total = total.add(
        y
          .narrow(0, i, y.size(0) - ++i)
          .mul(w)
          .sum(0),
      );
    return total;
  },
  'a size of the argument': (heads, x) =>
    heads.map(({ w }, i) =>
      x
        .narrow(0, 0, x.size(0) - 1 - i)
        .mul(w)
        .sum(),
    ),
  'as a factor': (heads, x) => {
    const y = x.mul(2);
    return heads.map(({ w }, i) => w.mul(y.numel() - i).add(x.size(0) * i));
  },
  'as a shape': (heads, x, n) => heads.map(({ w }, i) => zeros([n - i, 3]).add(w)),
  'beside a number': (heads, x, n) =>
    stack(
      heads.map(({ w }, i) =>
        x
          .narrow(0, i, x.size(0) - n)
          .sum()
          .add(w.mul(n - i)),
      ),
    ),
};

const counted = (...shape: number[]) => {
  const length = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length }, (_, i) => ((i * 5) % 13) / 4),
    { shape },
  );
};

describe.each(Object.entries(loops))('%s', (_, loop) => {
  it.each([{}, { dynamic: true }, { fullGraph: true }, { capture: 'auto' }] as const)('%o', (o) => {
    const captured = toStatic(loop, o);
    for (const [count, size] of [
      [2, 6],
      [2, 8],
      [3, 7],
      [4, 9],
      [3, 12],
    ] as const) {
      const heads = Array.from({ length: count }, () => ({ w: counted(3) }));
      const args = [heads, counted(size, 3), count + 1] as const;
      expect(describeValues([captured(...args)])).toEqual(describeValues([loop(...args)]));
    }
    expect(captured.stats().fallbacks).toEqual([]);
  });
});
