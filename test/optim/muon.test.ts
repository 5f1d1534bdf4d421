import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ones, optim, randn, seed, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

interface Recorded {
  readonly options: optim.MuonOptions;
  readonly shape: readonly number[];
  readonly weight: readonly number[];
  readonly grads: readonly (readonly number[])[];
  /** The weight after each step of PyTorch's, whose iteration was made to run in float64. */
  readonly after: readonly (readonly number[])[];
}

const recorded: readonly Recorded[] = JSON.parse(
  readFileSync(new URL('data/muon-steps.json', import.meta.url), 'utf8'),
);

describe("Muon takes PyTorch's steps", () => {
  it.each(recorded)('with $options', ({ options, shape, weight, grads, after }) => {
    const before = allocated();
    const w = tensor([...weight], { shape: [...shape], requiresGrad: true });
    const optimizer = new optim.Muon([w], options);
    grads.forEach((grad, step) => {
      w.grad = tensor([...grad], { shape: [...shape] });
      tidy(() => optimizer.step());
      optimizer.zeroGrad();
      [...w.dataSync()].forEach((value, i) => {
        expect(Math.abs(value - after[step]![i]!)).toBeLessThan(2e-6);
      });
    });
    optimizer.dispose();
    w.dispose();
    expect(allocated()).toBe(before);
  });
});

function trained(capture: boolean, options: optim.MuonOptions, steps = 4) {
  seed(2);
  const weights = [randn([5, 3]), randn([2, 5])].map((w) => w.requiresGrad_());
  const optimizer = new optim.Muon(weights, options);
  const step = (x: Tensor) => {
    optimizer.zeroGrad();
    const y = x.matmul(weights[0]!.t()).tanh().matmul(weights[1]!.t());
    y.square().mean().backward();
    optimizer.step();
  };
  const own = capture ? toStatic(step, { fullGraph: true }) : step;
  for (let i = 0; i < steps; i++) own(randn([4, 3]));
  return weights.map((w) => w.tolist());
}

it('a captured step has the bits of the eager one', () => {
  for (const options of [{}, { nesterov: false, weightDecay: 0 }]) {
    expect(trained(true, options)).toEqual(trained(false, options));
  }
});

it('every option acts', () => {
  const usual = JSON.stringify(trained(false, {}));
  const others: optim.MuonOptions[] = [
    { lr: 0.1 },
    { weightDecay: 0.5 },
    { maximize: true },
    { momentum: 0.5 },
    { nesterov: false },
    { nsCoefficients: [2, -1.5, 0.5] },
    { eps: 100 },
    { nsSteps: 2 },
    { adjustLrFn: 'match_rms_adamw' },
    { adjustLrFn: 'spectral_unclamped' },
  ];
  const ignored = others.filter((own) => JSON.stringify(trained(false, own)) === usual);
  expect(ignored).toEqual([]);
});

it('takes matrices alone', () => {
  expect(() => new optim.Muon([ones([3], { requiresGrad: true })])).toThrow('not a matrix');
});
