/**
 * Steps that add up gradients over several batches, and batches of changing sizes: one trace serves all sizes,
 * which takes its guards apart from those of each size, and what a step hands over must follow both.
 */

import { describe, expect, it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { mseLoss, nn, randn, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { Choices } from './choices.ts';
import { optimizers } from './optimizers.ts';
import { bitsOf } from './run-steps.ts';

const nets: Readonly<Record<string, () => nn.Module>> = {
  linear: () => new nn.Linear(4, 3),
  'two layers': () => new nn.Sequential(new nn.Linear(4, 6), new nn.ReLU(), new nn.Linear(6, 3)),
  'batch norm and dropout': () =>
    new nn.Sequential(
      new nn.Linear(4, 6),
      new nn.BatchNorm1d(6),
      new nn.ReLU(),
      new nn.Dropout(0.3),
      new nn.Linear(6, 3),
    ),
};

/** Whether step number `call` starts without gradients, and whether it updates (and then drops them). */
const patterns: Readonly<Record<string, (call: number) => readonly [boolean, boolean]>> = {
  'zero first': () => [true, true],
  'zero last': () => [false, true],
  'every second': (call) => [false, call % 2 === 1],
  'every third, from the first on': (call) => [false, call % 3 === 0],
};

const sizes: Readonly<Record<string, readonly number[]>> = {
  'one size': [5, 5, 5, 5, 5],
  'a smaller last batch': [5, 5, 3, 5, 3],
  'another size at each step': [5, 3, 6, 2, 7],
};

interface Given {
  readonly net: string;
  readonly pattern: string;
  readonly optimizer: string;
  readonly batches: readonly number[];
}

function run(given: Given, isCaptured: boolean): Map<string, string> {
  seed(3);
  const net = nets[given.net]!() as nn.Module & { forward(x: Tensor): Tensor };
  const parameters = [...net.parameters()];
  const optimizer = optimizers[given.optimizer]!(new Choices(5), parameters);
  let call = 0;
  const step = (x: Tensor, y: Tensor): Tensor => {
    const [starts, updates] = patterns[given.pattern]!(call++);
    if (starts) optimizer.zeroGrad();
    const loss = mseLoss(net.forward(x), y);
    loss.backward();
    if (updates) {
      optimizer.step();
      if (!starts) optimizer.zeroGrad();
    }
    return loss.detach();
  };
  const once = isCaptured ? toStatic(step, { fallback: 'error' }) : step;
  const bits = new Map<string, string>();
  given.batches.forEach((size, i) => {
    const [x, y] = [randn([size, 4]), randn([size, 3])];
    const loss = tidy(() => once(x, y));
    bits.set(`loss ${i}`, bitsOf(loss));
    parameters.forEach((own, p) => {
      bits.set(`parameter ${p} after ${i}`, bitsOf(own));
      bits.set(`gradient ${p} after ${i}`, own.grad ? bitsOf(own.grad) : 'none');
    });
    for (const each of [loss, x, y]) each.dispose();
  });
  optimizer.zeroGrad();
  optimizer.dispose();
  net.dispose();
  return bits;
}

/** Every fifth one: all of them over patterns, kinds of sizes and nets. */
const some = (rest: number) => Object.keys(optimizers).filter((_, i) => i % 5 === rest % 5);

describe.each(Object.keys(patterns))('gradients are dropped: %s', (pattern) => {
  it.each(Object.keys(sizes))('%s: every net and optimizer as eagerly', (name) => {
    withCaptureSession(() => {
      for (const [i, net] of Object.keys(nets).entries()) {
        for (const optimizer of some(3 * i + name.length + pattern.length)) {
          const given = { net, pattern, optimizer, batches: sizes[name]! };
          expect(run(given, true), `${net}, ${optimizer}`).toEqual(run(given, false));
        }
      }
    });
  });
});
