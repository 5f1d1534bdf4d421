/** A thousand steps: bytes and heap stay where they are; exceptions in between leave nothing. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  crossEntropy,
  memory,
  nn,
  optim,
  relu,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { bytesNow, data } from './memory-counter.ts';

function training() {
  seed(1);
  const [hidden, output] = [new nn.Linear(8, 16), new nn.Linear(16, 4)];
  const parameters = [...hidden.parameters(), ...output.parameters()];
  const optimizer = new optim.AdamW(parameters, { lr: 1e-3 });
  const loss = (x: Tensor, labels: Tensor) =>
    crossEntropy(output.forward(relu(hidden.forward(x))), labels);
  const step = (x: Tensor, labels: Tensor) => {
    const value = loss(x, labels);
    value.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return value;
  };
  const batch = [data([4, 8]), tensor(Int32Array.of(0, 1, 2, 3))] as const;
  const dispose = () => {
    optimizer.dispose();
    for (const each of [hidden, output]) each.dispose();
    for (const each of batch) each.dispose();
  };
  return { loss, step, optimizer, batch, dispose };
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

describe('run-program/soak', () => {
  it('has the same bytes after each of 1,000 steps, and a flat heap', () => {
    const before = bytesNow();
    const { step, batch, dispose } = training();
    const run = toStatic(step);
    const take = () => {
      run(...batch).dispose();
      return bytesNow();
    };
    for (let i = 0; i < 50; i++) take();
    const steady = take();
    const { reserved } = memory.stats('cpu');
    const heaps: number[] = [];
    for (let i = 0; i < 1000; i++) {
      expect(take()).toBe(steady);
      if (i % 100 !== 99) continue;
      collect();
      heaps.push(process.memoryUsage().heapUsed);
    }
    expect(memory.stats('cpu').reserved).toBe(reserved);
    expect(run.stats().translations).toBeLessThanOrEqual(3);
    // The lowest points say whether anything piles up.
    const [early, late] = [heaps.slice(0, 5), heaps.slice(5)].map((half) => Math.min(...half));
    expect(late! - early!).toBeLessThan(2 ** 20);
    dispose();
    expect(bytesNow()).toBe(before);
  });

  it('two forwards before their backwards give the gradients of each', () => {
    const { loss, optimizer, batch, dispose } = training();
    const run = toStatic(loss);
    const [x, labels] = batch;
    const other = data([4, 8], { salt: 5 });
    const gradientOf = (values: Tensor[]) => {
      for (const value of values) value.backward();
      const gradients = optimizer.parameters.map(({ grad }) => [...grad!.dataSync()]);
      for (const value of values) value.dispose();
      optimizer.zeroGrad();
      return gradients;
    };
    const alone = gradientOf([run(other, labels), run(x, labels)]);
    const before = bytesNow();
    const [first, second] = [run(x, labels), run(other, labels)];
    expect(gradientOf([second, first])).toEqual(alone);
    expect(bytesNow()).toBe(before);
    other.dispose();
    dispose();
  });

  it('a hook that throws in backward leaves the bytes as before and a usable process', () => {
    const { loss, batch, optimizer, dispose } = training();
    const run = toStatic(loss);
    const [x, labels] = batch;
    const gradient = () => {
      const value = run(x, labels);
      value.backward();
      value.dispose();
      const result = [...optimizer.parameters[0]!.grad!.dataSync()];
      optimizer.zeroGrad();
      return result;
    };
    const expected = gradient();
    const before = bytesNow();
    const handle = optimizer.parameters[0]!.registerHook(() => {
      throw new Error('from the hook');
    });
    for (let i = 0; i < 3; i++) {
      const value = run(x, labels);
      expect(() => value.backward()).toThrow('from the hook');
      value.dispose();
      optimizer.zeroGrad();
      expect(bytesNow()).toBe(before);
    }
    handle.remove();
    expect(gradient()).toEqual(expected);
    expect(bytesNow()).toBe(before);
    dispose();
  });

  it('a refused label in a whole step changes nothing', () => {
    const { step, batch, optimizer, dispose } = training();
    const run = toStatic(step);
    const [x, labels] = batch;
    for (let i = 0; i < 3; i++) run(x, labels).dispose();
    const weights = () => optimizer.parameters.map((each) => [...each.dataSync()]);
    const [before, bytes] = [weights(), bytesNow()];
    const wrong = tensor(Int32Array.of(0, 1, 2, 9));
    expect(() => run(x, wrong)).toThrow('label 9');
    wrong.dispose();
    expect(weights()).toEqual(before);
    expect(bytesNow() - bytes).toBeLessThanOrEqual(4096);
    run(x, labels).dispose();
    dispose();
  });
});
