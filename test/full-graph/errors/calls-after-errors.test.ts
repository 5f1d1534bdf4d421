/** An error of one call is an error of that call: the calls after it are one program, as if it had not been. */

import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  mseLoss,
  nn,
  optim,
  randn,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
  zeros,
} from '../../../src/index.ts';

const modes: Readonly<Record<string, ToStaticOptions>> = {
  breaks: { strict: true },
  auto: { strict: true, capture: 'auto' },
  'one program': { strict: true, fullGraph: true },
};

const gone = (...shape: number[]): Tensor => {
  const x = zeros(shape);
  x.dispose();
  return x;
};

/** A function, and what it is called with: by turns what it rejects, and what it takes. */
const cases: Readonly<Record<string, () => [(...args: Tensor[]) => unknown, Tensor[][]]>> = {
  'an input without data, after a write': () => {
    const counts = zeros([1]);
    const fn = (x: Tensor) => {
      counts.add_(1);
      return [x.mul(2), counts.clone()];
    };
    return [fn, [[gone(2)], [zeros([2])], [gone(2)], [zeros([2])], [zeros([2])]]];
  },
  'an input without data, in a training step': () => {
    const layer = new nn.Linear(3, 2);
    for (const each of layer.parameters()) each.detach().fill_(0.5);
    const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
    const fn = (x: Tensor) => {
      optimizer.zeroGrad();
      const loss = mseLoss(layer.forward(x), zeros([5, 2]));
      loss.backward();
      optimizer.step();
      return loss.detach();
    };
    return [fn, [[gone(5, 3)], [zeros([5, 3])], [zeros([5, 3])], [gone(5, 3)], [zeros([5, 3])]]];
  },
  'targets of another shape': () => {
    const weight = tensor([1, 2, 3]).requiresGrad_();
    const fn = (x: Tensor, y: Tensor) => {
      const loss = crossEntropy(x.mul(weight), y);
      loss.backward();
      return [loss.detach(), weight.grad!.clone()];
    };
    const [x, y, wrong] = [zeros([2, 3]), tensor([0, 2]).int(), tensor([0, 1, 2]).int()];
    const calls = [
      [x, wrong],
      [x, y],
      [x, wrong],
      [x, y],
    ];
    return [fn, calls];
  },
  'an empty batch, which a module rejects': () => {
    const layer = new nn.GRU(2, 3, { batchFirst: true });
    for (const each of layer.parameters()) each.detach().fill_(0.25);
    const fn = (x: Tensor) => layer.forward(x)[0].sum();
    return [fn, [5, 5, 0, 3, 0, 4].map((rows) => [zeros([rows, 2, 2])])];
  },
};

function outcomes(
  make: () => [(...args: Tensor[]) => unknown, Tensor[][]],
  mode?: ToStaticOptions,
) {
  const [fn, calls] = make();
  const run = mode ? toStatic(fn, mode) : fn;
  return calls.map((args) => {
    try {
      return JSON.stringify(run(...args));
    } catch (error) {
      return (error as Error).name;
    }
  });
}

describe.each(Object.entries(modes))('%s', (_name, mode) => {
  it.each(Object.entries(cases))('%s', (_case, make) => {
    const expected = outcomes(make);
    expect(new Set(expected).size, 'some calls fail').toBeGreaterThan(1);
    expect(outcomes(make, mode)).toEqual(expected);
  });

  it('a tensor says whether it has data, and is disposed of twice', () => {
    const fn = (x: Tensor) => {
      const before = x.disposed;
      const y = randn([2]);
      y.dispose();
      y.dispose();
      x.dispose();
      x.dispose();
      return [before, x.disposed, y.disposed];
    };
    const captured = toStatic(fn, mode);
    for (const make of [() => zeros([2]), () => gone(2), () => zeros([2]), () => gone(2)]) {
      expect(captured(make())).toEqual(fn(make()));
    }
  });
});
