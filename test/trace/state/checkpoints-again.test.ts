/** A checkpointed call is one in the programs of all sizes, and each iteration of a loop over tensors has its own. */

import { expect, it } from 'vitest';
import { checkpoint, type Tensor, type ToStaticOptions, toStatic } from '../../../src/index.ts';
import { values, weights } from '../same-as-eager.ts';

const w = weights([4, 4]);
const body = (t: Tensor) => t.matmul(w).tanh().mul(t.sigmoid());

/** Functions of n tensors [n, 4], and how many checkpointed calls they make. */
const forms: Readonly<
  Record<string, { fn: (xs: readonly Tensor[]) => Tensor; calls: (n: number) => number }>
> = {
  'one call': { fn: ([x]) => checkpoint(body, x!.mul(2)).sum(), calls: () => 1 },
  'two calls': { fn: ([x]) => checkpoint(body, checkpoint(body, x!)).sum(), calls: () => 2 },
  'a call in another': {
    fn: ([x]) => checkpoint((t: Tensor) => checkpoint(body, t).mul(t), x!).sum(),
    calls: () => 1,
  },
  'a call for each tensor': {
    fn: (xs) =>
      xs
        .map((x) => checkpoint(body, x))
        .reduce((a, b) => a.add(b))
        .sum(),
    calls: (n) => n,
  },
  'a call around all tensors': {
    fn: (xs) =>
      checkpoint((...own: Tensor[]) => own.map(body).reduce((a, b) => a.add(b)), ...xs).sum(),
    calls: () => 1,
  },
};

const modes: readonly ToStaticOptions[] = [{}, { dynamic: true }, { fullGraph: true }];

it.each(Object.entries(forms))('%s', (_name, { fn, calls }) => {
  for (const options of modes) {
    const captured = toStatic(fn, options);
    const gradients = (run: typeof fn, n: number) => {
      // Columns of a larger tensor: their strides vary as well.
      const xs = Array.from({ length: n }, (_, i) => values([n, 4 + n], i).narrow(1, 1, 4));
      run(xs).backward();
      const found = [...w.grad!.dataSync()];
      w.grad = null;
      return found;
    };
    const sizes = [3, 4, 5, 6, 7];
    for (const n of sizes) expect(gradients(captured, n), `${n}`).toEqual(gradients(fn, n));
    const marked = captured.programs().flatMap(({ stages }) => {
      const own = new Set(stages?.traced.ops.map(({ checkpoint }) => checkpoint));
      own.delete(undefined);
      return stages && stages.traced.ops.length > 0 ? [own.size] : [];
    });
    expect(marked).toEqual(sizes.map(calls));
  }
});
