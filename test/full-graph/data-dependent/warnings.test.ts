/** Losses warn of targets that are broadcast: of the sizes of a call, not of those that the compiler tries. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  huberLoss,
  l1Loss,
  save,
  stack,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic,
} from '../../../src/index.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const warnings = () => vi.spyOn(console, 'warn').mockImplementation(() => {});

describe('a loss of an input and a target whose sizes agree in each call', () => {
  it('has no warning about data-dependent sizes', () => {
    const warn = warnings();
    const f = toStatic(
      (x: Tensor) => {
        const [scores, rewards] = [[] as Tensor[], [] as number[]];
        let y = x;
        while (y.itemSync() < 100) {
          y = y.mul(2);
          scores.push(y.log());
          rewards.push(y.itemSync());
        }
        return huberLoss(stack(scores), tensor(rewards));
      },
      { fullGraph: true },
    );
    f(tensor(3));
    f(tensor(9));
    expect(warn).not.toHaveBeenCalled();
    huberLoss(tensor([1]), tensor([1, 2, 3]));
    expect(warn).toHaveBeenCalledOnce();
  });

  it('has no warning about sizes that save() tries', async () => {
    const warn = warnings();
    const f = toStatic((x: Tensor, y: Tensor) => l1Loss(x, y), {
      fullGraph: true,
      inputSpec: [tensorSpec(['n']), tensorSpec(['m'])],
    });
    f(tensor([1, 2, 3]), tensor([3, 2, 1]));
    await save(f);
    expect(warn).not.toHaveBeenCalled();
    l1Loss(tensor([1]), tensor([1, 2, 3]));
    expect(warn).toHaveBeenCalledOnce();
  });
});
