import { expect, it } from 'vitest';
import { noGrad, ones, type Tensor, tensorSpec, tidy, toStatic } from '../../src/index.ts';

it('sums of tensors without elements are tensors, with and without gradients', () => {
  const fn = (x: Tensor) => x.mul(2).add(x).add(x.exp());
  const captured = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec(['n', 2])] });
  for (const n of [0, 3, 0, 1]) {
    tidy(() => {
      const x = ones([n, 2]).requiresGrad_();
      const y = captured(x);
      expect([y.shape, y.requiresGrad, y.dtype]).toEqual([[n, 2], true, 'float32']);
      y.sum().backward();
      expect(x.grad!.shape).toEqual([n, 2]);
      const z = noGrad(() => captured(ones([n, 2])));
      expect([z.shape, z.requiresGrad, z.dataSync().length]).toEqual([[n, 2], false, 2 * n]);
    });
  }
});
