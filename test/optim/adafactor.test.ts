import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  nn,
  ones,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

interface Recorded {
  readonly options: optim.AdafactorOptions;
  readonly shapes: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  readonly grads: readonly (readonly (readonly number[])[])[];
  /** The weights after each step of PyTorch's, in float64. */
  readonly after: readonly (readonly (readonly number[])[])[];
}

const recorded: readonly Recorded[] = JSON.parse(
  readFileSync(new URL('data/adafactor-steps.json', import.meta.url), 'utf8'),
);

describe("Adafactor takes PyTorch's steps", () => {
  it.each(recorded)('with $options', ({ options, shapes, weights, grads, after }) => {
    const before = allocated();
    const made = (values: readonly number[], i: number) =>
      tensor([...values], { shape: [...shapes[i]!], dtype: 'float64' });
    const parameters = weights.map((own, i) => made(own, i).requiresGrad_());
    const optimizer = new optim.Adafactor(parameters, options);
    grads.forEach((each, step) => {
      for (const [i, parameter] of parameters.entries()) parameter.grad = made(each[i]!, i);
      tidy(() => optimizer.step());
      optimizer.zeroGrad();
      parameters.forEach((parameter, i) => {
        [...parameter.dataSync()].forEach((value, at) => {
          expect(value).toBeCloseTo(after[step]![i]![at]!, 7);
        });
      });
    });
    optimizer.dispose();
    for (const parameter of parameters) parameter.dispose();
    expect(allocated()).toBe(before);
  });
});

function trained(capture: boolean, options: optim.AdafactorOptions): number[][] {
  seed(2);
  const layer = new nn.Linear(3, 4);
  const optimizer = new optim.Adafactor(layer.parameters(), options);
  const step = (x: Tensor) => {
    optimizer.zeroGrad();
    layer.forward(x).tanh().square().mean().backward();
    optimizer.step();
  };
  const own = capture ? toStatic(step, { fullGraph: true }) : step;
  for (let i = 0; i < 4; i++) own(randn([5, 3]));
  return [...layer.parameters()].map((w) => [...w.dataSync()]);
}

it('a captured step has the bits of the eager one', () => {
  for (const options of [{}, { weightDecay: 0.1, d: 2, eps: [0.1, 0.5] }] as const) {
    expect(trained(true, options)).toEqual(trained(false, options));
  }
});

it('keeps one number for each row and each column of a matrix', () => {
  const optimizer = new optim.Adafactor([ones([2, 30, 20], { requiresGrad: true })]);
  const { rows, columns } = optimizer.stateDict().state as Record<string, Tensor[]>;
  expect([rows![0]!.shape, columns![0]!.shape]).toEqual([
    [2, 30, 1],
    [2, 1, 20],
  ]);
});

it.each([{ beta2Decay: 0.1 }, { d: 0.5 }, { eps: [-1, 0] }, { eps: [null, -1] }] as const)(
  '%j is out of range',
  (options) => {
    const parameters = [ones([3], { requiresGrad: true })];
    expect(() => new optim.Adafactor(parameters, options)).toThrow(/optimizer: /);
  },
);

it('keeps half-precision weights whose squares overflow', () => {
  tidy(() => {
    const w = tensor([300, 1, 2, 3], { dtype: 'float16' }).requiresGrad_();
    w.sum().backward();
    new optim.Adafactor([w], { lr: 0.01 }).step();
    expect([...w.dataSync()].map(Number.isFinite)).toEqual([true, true, true, true]);
    expect(w.select(0, 0).itemSync()).toBeCloseTo(298.75, 0);
  });
});
