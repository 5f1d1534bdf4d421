/** Results that backward reads, written between forward and backward: the error is that of eager execution. */

import { describe, expect, it, vi } from 'vitest';
import {
  type AutogradError,
  cat,
  crossEntropy,
  gelu,
  layerNorm,
  maxPool2d,
  noGrad,
  ones,
  rand,
  type Tensor,
  type ToStaticOptions,
  toStatic,
  where,
  zeros,
} from '../../src/index.ts';
import { shareOfDay } from '../share-of-day.ts';

/** Returns a loss, and a tensor that is written before backward. */
type Step = (w: Tensor, x: Tensor) => [loss: Tensor, written: Tensor];

const steps: Readonly<Record<string, Step>> = {
  'a constant': (w) => {
    const t = ones([64, 64]);
    return [t.mul(w.exp()).sum(), t];
  },
  'zeros, in a chain': (w) => {
    const t = zeros([64, 64]);
    return [t.mul(w.exp()).exp().sum(), t];
  },
  'arithmetic on constants': (w) => {
    const t = ones([64, 64]).add(2);
    return [t.mul(w.exp()).sum(), t];
  },
  'random numbers': (w) => {
    const t = rand([64, 64]);
    return [t.mul(w).sum(), t];
  },
  'a transposed copy of an input': (w, x) => {
    const t = x.t().contiguous();
    return [t.mul(w).sum(), t];
  },
  'an input': (w, x) => [x.mul(w.exp()).sum(), x],
  'the result of relu': (w) => {
    const t = w.mul(2).relu();
    return [t.mul(3).sum(), t];
  },
  'the operand of relu': (w) => {
    const t = w.mul(2);
    return [t.relu().sum(), t];
  },
  'the operand of gelu': (w) => {
    const t = w.mul(2);
    return [gelu(t).sum(), t];
  },
  'the operand of maximum': (w, x) => {
    const t = w.mul(2);
    return [t.maximum(x).sum(), t];
  },
  'the operand of max pooling': (w) => {
    const t = w.mul(2);
    return [maxPool2d(t.reshape([1, 1, 64, 64]), 2).sum(), t];
  },
  'the result of softmax': (w, x) => {
    const t = w.softmax(1);
    return [t.mul(x).sum(), t];
  },
  'the operand of a product': (w, x) => {
    const t = x.mul(2);
    return [t.matmul(w).sum(), t];
  },
  'a condition': (w, x) => {
    const t = x.gt(0.5).to('uint8');
    return [where(t.to('bool'), w, x).sum(), t];
  },
  'the operand of a loss': (w) => {
    const t = w.mul(2);
    return [crossEntropy(t, zeros([64], { dtype: 'int32' })), t];
  },
  'a view': (w, x) => {
    const t = x.mul(2);
    return [t.t().mul(w).sum(), t];
  },
  'what is expanded': (w, x) => {
    const t = x.sum(0);
    return [t.expand([64, 64]).mul(w).sum(), t];
  },
  'what is cast': (w, x) => {
    const t = x.mul(2);
    return [t.to('float64').mul(w.to('float64')).sum(), t];
  },
  'the operand of a norm': (w, x) => {
    const t = w.mul(2);
    return [layerNorm(t, [64]).mul(x).sum(), t];
  },
  'a part': (w, x) => {
    const t = x.mul(2);
    return [
      t
        .narrow(0, 0, 32)
        .mul(w.narrow(0, 0, 32))
        .sum(),
      t,
    ];
  },
  'what is joined': (w, x) => {
    const t = x.mul(2);
    return [
      cat([t, x])
        .mul(cat([w, w]))
        .sum(),
      t,
    ];
  },
  'what only forward reads': (w, x) => {
    const t = x.add(1);
    return [w.mul(t.neg()).sum(), t];
  },
};

/** The first line of the error; null: none. */
function outcome(step: Step): string | null {
  const [w, x] = [rand([64, 64], { requiresGrad: true }), rand([64, 64])];
  const [loss, written] = step(w, x);
  noGrad(() => written.add_(1));
  try {
    loss.backward();
    return null;
  } catch (error) {
    return (error as AutogradError).message.split('\n')[0]!;
  }
}

const memories: readonly NonNullable<ToStaticOptions['memory']>[] = [
  'planned',
  'cleaned',
  { prefer: 'bytes' },
];

describe.each(memories)('memory %j', (memory) => {
  it.each(Object.entries(steps))('%s', (_name, step) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const captured = toStatic(step, { memory });
    const expected = outcome(step);
    expect([outcome(captured), outcome(captured)]).toEqual([expected, expected]);
    vi.restoreAllMocks();
  });
});

/** Branches and loops, whose tapes keep the values that backward reads. */
const regions: Readonly<Record<string, (step: Step) => Step>> = {
  'in a branch of a loop': (step) => (w, x) => {
    let [loss, written] = [w.mul(0).sum(), x.mul(2)];
    for (let i = 0; i < 2 * x.ceil().max().itemSync(); i++) {
      if (x.sum().itemSync() < i) continue;
      const [each, own] = step(w, x);
      loss = loss.add(each);
      written = own;
    }
    return [loss, written];
  },
  'in a branch, for another result': (step) => (w, x) => {
    let [loss, other, written] = [w.mul(2).sum(), x, x.mul(2)];
    if (x.sum().itemSync() > 0) {
      const [each, own] = step(w, x);
      other = each;
      loss = w.exp().sum();
      written = own;
    }
    return [loss.add(other.detach().sum()), written];
  },
};

describe.each(Object.entries(regions))('%s', (_name, within) => {
  it.each(shareOfDay(Object.entries(steps)))('%s', (_name, step) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const captured = toStatic(within(step), { fullGraph: true });
    const expected = outcome(within(step));
    expect([outcome(captured), outcome(captured)]).toEqual([expected, expected]);
    vi.restoreAllMocks();
  });
});

it('most of them are errors', () => {
  const errors = Object.values(steps).filter((step) => outcome(step) !== null);
  expect(errors.length).toBeGreaterThan(12);
});
