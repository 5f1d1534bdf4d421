/** Filled views of which several elements are one place in memory. PyTorch writes them, too, but can't differentiate them. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic, zeros } from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

type Fill = (x: Tensor) => [base: Tensor, loss: Tensor];

/** What is filled, the base afterwards, the loss, and the gradient of `x`. */
const fills: Readonly<
  Record<string, [fill: Fill, base: number[], loss: number, gradient: number[]]>
> = {
  'all rows': [
    (x) => {
      const y = x.mul(2);
      const view = y.expand([3, 4]).fill_(5);
      return [y, y.sum().add(view.mul(view).sum())];
    },
    [5, 5, 5],
    315,
    [0, 0, 0],
  ],
  'some rows, by a tensor': [
    (x) => {
      const y = x.mul(2);
      const view = y.expand([2, 3, 4]).narrow(1, 1, 2);
      view.fill_(tensor(3));
      return [y, y.mul(y).sum().add(view.sum())];
    },
    [2, 3, 3],
    70,
    [8, 0, 0],
  ],
  'by a number that is computed': [
    (x) => {
      const y = x.mul(2);
      const view = y.expand([3, 4]).fill_(x.detach().sum().itemSync());
      return [y, y.sum().add(view.sum())];
    },
    [6, 6, 6],
    90,
    [0, 0, 0],
  ],
  'transposed; the base is written later': [
    (x) => {
      const y = x.mul(2);
      const view = y.expand([3, 4]);
      const before = view.mul(1);
      view.transpose(0, 1).zero_();
      y.add_(1);
      return [y, before.sum().add(view.sum())];
    },
    [1, 1, 1],
    60,
    [8, 8, 8],
  ],
};

it.each(Object.entries(fills))('%s', (_, [fill, base, loss, gradient]) => {
  const before = allocated();
  tidy(() => {
    for (const run of [fill, toStatic(fill), toStatic(fill, { fullGraph: true })]) {
      const x = tensor([[1], [2], [3]], { requiresGrad: true });
      const [y, total] = run(x);
      total.backward();
      expect([y.flatten().tolist(), total.itemSync()]).toEqual([base, loss]);
      expect(x.grad!.flatten().tolist()).toEqual(gradient);
    }
  });
  expect(allocated()).toBe(before);
});

it('other fills of expanded tensors write each place once', () => {
  tidy(() => {
    const rows = () => zeros([1, 3]).expand([3, 3]);
    const filled = [rows().indexPut_([0], 5), rows().fillDiagonal_(5)];
    for (const each of filled) expect(each.tolist()).toEqual(Array(3).fill([5, 5, 5]));
  });
});
