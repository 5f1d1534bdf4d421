/** Tensors whose gradients are requested become the same tensor as others, and separate ones again. */

import { describe, expect, it } from 'vitest';
import {
  grad,
  noGrad,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../../src/index.ts';
import { describeValues } from '../snapshot.ts';

interface Weights {
  a: Tensor;
  b: Tensor;
  c: Tensor;
}

const allowUnused = { allowUnused: true };

const forms: Readonly<Record<string, (w: Weights, x: Tensor) => unknown>> = {
  'a weight that is not used': ({ a, b }, x) => grad(b.mul(x).sum(), [a], allowUnused)[0] ?? x,
  'a weight that is used as well': ({ a, b }, x) => grad(a.mul(b).mul(x).sum(), [a]),
  'two weights': ({ a, b, c }, x) => grad(b.mul(c).mul(x).sum(), [a, b], allowUnused),
  'second gradients': ({ a, b, c }, x) => {
    const [first] = grad(b.mul(b).mul(x).sum(), [b], { createGraph: true });
    return grad(first!.mul(c).sum(), [a], allowUnused);
  },
  'an argument': ({ b }, x) => grad(b.mul(2).sum(), [x], allowUnused),
  'a gradient in a branch': ({ a, b }, x) =>
    x.sum().itemSync() > 0 ? grad(b.mul(x).sum(), [a], allowUnused)[0] : x.neg(),
  'after a read': ({ a, b }, x) => {
    const by = x.sum().itemSync();
    return grad(b.mul(by).sum(), [a], allowUnused)[0] ?? by;
  },
  'backward for some inputs': ({ a, b }, x) => {
    b.mul(x)
      .sum()
      .backward(undefined, { inputs: [a] });
    const found = a.grad;
    [a.grad, b.grad] = [null, null];
    return found;
  },
  'backward for all': ({ a, b }, x) => {
    b.mul(x).sum().backward();
    const found = [a.grad, b.grad];
    [a.grad, b.grad] = [null, null];
    return found;
  },
  'a write': ({ a, b }, x) => {
    noGrad(() => a.add_(1));
    return b.mul(x);
  },
};

const modes: readonly ToStaticOptions[] = [{}, { fullGraph: true }, { capture: 'auto' }];

/** Which weights are the same tensor, call by call. */
const orders: readonly (readonly (keyof Weights)[])[] = [
  ['b', 'b', 'a', 'a', 'b', 'a', 'c'],
  ['a', 'a', 'b', 'c', 'a', 'c', 'b'],
];

function results(form: (w: Weights, x: Tensor) => unknown, order: (typeof orders)[number]) {
  const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
  const own = { a: leaf(1, 2), b: leaf(3, 4), c: leaf(5, 6) };
  return order.map((key, call) => {
    const isArgument = call === order.length - 1;
    const x = isArgument ? own[key] : tensor([call + 1, 2], { requiresGrad: true });
    try {
      return describeValues([form({ ...own, b: own[key] }, x)]);
    } catch (error) {
      return (error as Error).message.split('\n')[0];
    }
  });
}

describe.each(Object.entries(forms))('%s', (_name, form) => {
  it.each(orders)('%s, %s, %s …', (...order) => {
    const expected = results(form, order);
    for (const options of modes) {
      const found = results(toStatic(form, options), order);
      expect(found, JSON.stringify(options)).toEqual(expected);
    }
  });

  it('is traced for the weights once while they stay apart', () => {
    const step = toStatic(form);
    results(step, ['b', 'b', 'b']);
    const { translations } = step.stats();
    results(step, ['b', 'b', 'b']);
    expect(step.stats().translations).toBe(translations);
  });
});
