import { expect, it } from 'vitest';
import { ones, type Tensor, tensorSpec, tidy, toStatic } from '../../src/index.ts';

it('a row at a number of the program is counted by the size of the call', () => {
  const fn = (x: Tensor) => x.select(0, x.sum().itemSync() > 0 ? -1 : 0).mul(2);
  const captured = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec([null, 2])] });
  for (const n of [3, 5, 2, 5]) {
    tidy(() => {
      const x = ones([n, 2]).cumsum(0);
      expect([...captured(x).dataSync()]).toEqual([...fn(x).dataSync()]);
    });
  }
});
