/** Samples have the moments that the formulas give, gradients where they are promised, and dtype and device of the parameters. */

import { describe, expect, it } from 'vitest';
import * as d from '../../runtime/distributions/index.ts';
import {
  ArgumentError,
  AutogradError,
  DTypeError,
  grad,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

type Distribution = d.Distribution;

const draws = 3000;

const numbers = (x: Tensor): number[] => Array.from(x.dataSync(), Number);

/** Distributions with a mean and a variance; the fourth moments of some of them are large. */
const cases: Readonly<Record<string, () => Distribution>> = {
  Normal: () => new d.Normal(tensor([-1, 2]), tensor([0.5, 2])),
  LogNormal: () => new d.LogNormal(0.2, 0.4),
  HalfNormal: () => new d.HalfNormal(2),
  Uniform: () => new d.Uniform(tensor([-3, 1]), 2),
  Exponential: () => new d.Exponential(tensor([0.5, 3])),
  Laplace: () => new d.Laplace(1, 2),
  Gumbel: () => new d.Gumbel(-1, 0.7),
  Weibull: () => new d.Weibull(2, 1.5),
  Pareto: () => new d.Pareto(1, 9),
  Bernoulli: () => new d.Bernoulli(tensor([0.2, 0.9])),
  Geometric: () => new d.Geometric(tensor([0.2, 0.9])),
  Binomial: () => new d.Binomial(7, { logits: tensor([-1, 2]) }),
  OneHotCategorical: () => new d.OneHotCategorical({ logits: tensor([0, 1, -1]) }),
  Multinomial: () => new d.Multinomial(5, tensor([1, 2, 3])),
  Gamma: () => new d.Gamma(tensor([0.3, 1, 2.5, 40]), 2),
  Chi2: () => new d.Chi2(5),
  InverseGamma: () => new d.InverseGamma(8, 3),
  StudentT: () => new d.StudentT(9, 1, 2),
  Beta: () => new d.Beta(tensor([0.4, 2, 5]), tensor([0.6, 3, 0.5])),
  Dirichlet: () => new d.Dirichlet(tensor([0.5, 1, 4])),
  Poisson: () => new d.Poisson(tensor([0, 0.3, 4, 9.9, 10, 35, 900])),
  MultivariateNormal: () =>
    new d.MultivariateNormal(tensor([1, -2]), {
      covarianceMatrix: tensor([
        [2, 1],
        [1, 3],
      ]),
    }),
  Independent: () => new d.Independent(new d.Normal(tensor([1, 2]), 1), 1),
  MixtureSameFamily: () =>
    new d.MixtureSameFamily(
      new d.Categorical(tensor([0.3, 0.7])),
      new d.Normal(tensor([-2, 3]), tensor([1, 0.5])),
    ),
};

describe('samples have the mean and the variance of the formulas', () => {
  it.each(Object.entries(cases))('%s', (_, make) => {
    const before = allocated();
    tidy(() => {
      seed(7);
      const own = make();
      const drawn = own.sample([draws]);
      expect(drawn.shape).toEqual([draws, ...own.batchShape, ...own.eventShape]);
      expect(drawn.requiresGrad).toBe(false);
      const [mean, deviation] = [numbers(own.mean), numbers(own.stddev)];
      const [found, spread] = [numbers(drawn.mean(0)), numbers(drawn.std(0))];
      for (const [i, center] of mean.entries()) {
        expect(Math.abs(found[i]! - center)).toBeLessThanOrEqual(0.08 * deviation[i]!);
        expect(Math.abs(spread[i]! - deviation[i]!)).toBeLessThanOrEqual(0.12 * deviation[i]!);
      }
    });
    expect(allocated()).toBe(before);
  });

  it('classes by their probabilities', () => {
    seed(3);
    const own = new d.Categorical(
      tensor([
        [1, 1, 2],
        [0, 3, 1],
      ]),
    );
    const drawn = own.sample([draws]);
    expect(drawn.dtype).toBe('int32');
    const shares = [0, 1, 2].map((i) => numbers(drawn.eq(i).float().mean(0)));
    [0, 1, 2].forEach((i) => {
      numbers(own.probs.select(1, i)).forEach((p, j) => {
        expect(Math.abs(shares[i]![j]! - p)).toBeLessThan(0.03);
      });
    });
  });

  it('a Cauchy distribution by its quartiles', () => {
    seed(5);
    for (const own of [new d.Cauchy(1, 2), new d.HalfCauchy(2)]) {
      const below = own
        .sample([draws])
        .lt(own.icdf(tensor(0.25)))
        .float()
        .mean()
        .itemSync();
      expect(Math.abs(below - 0.25)).toBeLessThan(0.03);
    }
  });
});

describe('gradients of samples', () => {
  const { Normal, LogNormal, Uniform, Laplace, Gumbel, Cauchy } = d;
  const differentiable = Object.entries({ Normal, LogNormal, Uniform, Laplace, Gumbel, Cauchy });

  it.each(differentiable)('%s: samples move with their parameters', (_, Kind) => {
    const [a, b] = [tensor([0.5], { requiresGrad: true }), tensor([1.5], { requiresGrad: true })];
    const drawn = (first: Tensor, second: Tensor) => {
      seed(11);
      return new Kind(first, second).rsample([4]);
    };
    const step = 1e-3;
    const slope = (up: Tensor, down: Tensor) =>
      (up.sum().itemSync() - down.sum().itemSync()) / (2 * step);
    drawn(a, b).sum().backward();
    const [x, y] = [a.detach(), b.detach()];
    const first = slope(drawn(x.add(step), y), drawn(x.sub(step), y));
    const second = slope(drawn(x, y.add(step)), drawn(x, y.sub(step)));
    expect(a.grad!.itemSync()).toBeCloseTo(first, 1);
    expect(b.grad!.itemSync()).toBeCloseTo(second, 1);
  });

  /** Gradients of the mean of a function of samples, and what it is in truth. */
  const expectations: Readonly<
    Record<string, readonly [mean: (x: Tensor) => Tensor, truth: (x: Tensor) => Tensor]>
  > = {
    Gamma: [
      (x) => new d.Gamma(x, 2).rsample([draws]).square().mean(0),
      (x) => x.mul(x.add(1)).div(4),
    ],
    'Gamma, its rate': [
      (x) => new d.Gamma(3, x).rsample([draws]).mean(0),
      (x) => x.reciprocal().mul(3),
    ],
    Chi2: [(x) => new d.Chi2(x).rsample([draws]).mean(0), (x) => x.mul(1)],
    InverseGamma: [
      (x) => new d.InverseGamma(x.add(4), 2).rsample([draws]).mean(0),
      (x) => x.add(3).reciprocal().mul(2),
    ],
    StudentT: [
      (x) => new d.StudentT(x.add(6)).rsample([draws]).square().mean(0),
      (x) => x.add(6).div(x.add(4)),
    ],
    Beta: [(x) => new d.Beta(x, 1.5).rsample([draws]).mean(0), (x) => x.div(x.add(1.5))],
    Dirichlet: [
      (x) => new d.Dirichlet(x).rsample([draws]).square().mean(0),
      (x) => {
        const total = x.sum();
        return x.mul(x.add(1)).div(total.mul(total.add(1)));
      },
    ],
  };

  it.each(Object.entries(expectations))('%s: of the mean, also captured', (_, [mean, truth]) => {
    tidy(() => {
      const start = tensor([0.4, 1.3, 4], { dtype: 'float64' });
      const weights = tensor([1, -0.5, 0.25], { dtype: 'float64' });
      const slope = (fn: (x: Tensor) => Tensor) => (x: Tensor) =>
        grad([fn(x).mul(weights).sum()], [x])[0]!;
      const of = (run: (x: Tensor) => Tensor) => {
        seed(4);
        return run(start.clone().requiresGrad_()).toArraySync() as number[];
      };
      const found = of(slope(mean));
      const expected = of(slope(truth));
      found.forEach((own, i) => {
        expect(Math.abs(own - expected[i]!)).toBeLessThan(0.04 * (1 + Math.abs(expected[i]!)));
      });
      expect(of(toStatic(slope(mean), { fullGraph: true }))).toEqual(found);
    });
  });

  it('of gamma distributions have no gradients', () => {
    tidy(() => {
      const alpha = tensor([2], { requiresGrad: true });
      const y = new d.Gamma(alpha, 1).rsample().sum();
      const [first] = grad([y], [alpha], { createGraph: true });
      expect(() => grad([first!.sum()], [alpha])).toThrow(/no second gradient/);
      expect(new d.Gamma(alpha, 1).sample().requiresGrad).toBe(false);
      expect(new d.Gamma(alpha.half(), 1).rsample().dtype).toBe('float16');
    });
  });

  it('relaxed samples and straight-through ones have some', () => {
    const logits = tensor([0.2, -1, 0.4], { requiresGrad: true });
    const each = [
      new d.RelaxedBernoulli(0.7, { logits }),
      new d.RelaxedOneHotCategorical(0.7, { logits }),
      new d.OneHotCategoricalStraightThrough({ logits }),
    ];
    for (const own of each) {
      logits.grad = null;
      own
        .rsample([2])
        .mul(tensor([1, 2, 3]))
        .sum()
        .backward();
      expect(logits.grad!.abs().sum().itemSync()).toBeGreaterThan(0);
    }
    const vector = new d.OneHotCategoricalStraightThrough({ logits }).rsample();
    expect(vector.sum().itemSync()).toBeCloseTo(1);
  });

  it('others say that they have none', () => {
    const own = [new d.Binomial(2, 0.5), new d.Bernoulli(0.5), new d.Poisson(1)];
    for (const each of own) {
      expect(each.hasRsample).toBe(false);
      expect(() => each.rsample()).toThrow(/no rsample/);
    }
  });
});

it('a squashed normal distribution gives samples with finite log-probabilities', () => {
  const loc = tensor([40, -0.5], { requiresGrad: true });
  const own = new d.TransformedDistribution(new d.Normal(loc, 1), new d.TanhTransform());
  seed(1);
  const [value, logProb] = own.rsampleWithLogProb([5]);
  expect(value.select(1, 0).toArraySync()).toEqual([1, 1, 1, 1, 1]);
  expect(logProb.isfinite().all().itemSync()).toBe(1);
  expect(own.logProb(value).isfinite().all().itemSync()).toBe(0);
  logProb.sum().backward();
  expect(loc.grad!.isfinite().all().itemSync()).toBe(1);
});

it('numbers take dtype and device of tensors beside them', () => {
  const own = new d.Normal(0, tensor([1, 2], { dtype: 'float64' }));
  expect([own.loc.dtype, own.sample([2]).dtype]).toEqual(['float64', 'float64']);
  const meta = new d.Beta(tensor([1, 2], { device: 'meta' }), 3);
  expect(meta.sample([2]).device.name).toBe('meta');
  for (const dtype of ['float16', 'bfloat16'] as const) {
    const half = tensor([0.5, 4], { dtype });
    for (const each of [new d.Normal(half, 1), new d.Gamma(half, 1), new d.Poisson(half)]) {
      const drawn = each.sample([3]);
      expect([drawn.dtype, drawn.isfinite().all().itemSync()]).toEqual([dtype, 1]);
    }
  }
});

it('a batch may be expanded', () => {
  for (const [name, make] of Object.entries(cases)) {
    tidy(() => {
      const own = make();
      const larger = own.expand([2, ...own.batchShape]);
      expect([larger.constructor.name, larger.batchShape, larger.eventShape]).toEqual([
        name,
        [2, ...own.batchShape],
        own.eventShape,
      ]);
      const value = own.sample();
      const one = own.logProb(value);
      expect(larger.logProb(value).select(0, 1).tolist()).toEqual(one.tolist());
    });
  }
});

it('a captured policy draws what the eager one draws, from distributions that it returns', () => {
  const act = (logits: Tensor, spread: number) => {
    const policy = new d.Categorical({ logits });
    const noise = new d.Normal(0, spread);
    const action = policy.sample();
    return { policy, action, logProb: policy.logProb(action), noise: noise.sample([2]) };
  };
  const captured = toStatic(act, { fullGraph: true });
  for (const spread of [0.5, 1.25, 3]) {
    const logits = tensor([
      [0.1, 2, -1],
      [1, 1, 1],
    ]);
    const [expected, found] = [act, captured].map((f) => {
      seed(spread * 8);
      const { policy, action, logProb, noise } = f(logits, spread);
      return [policy.entropy(), action, logProb, noise].map((x) => x.tolist());
    });
    expect(found).toEqual(expected);
  }
});

describe('a captured function makes distributions, draws from them and is one program', () => {
  const others: typeof cases = {
    TransformedDistribution: () =>
      new d.TransformedDistribution(new d.Normal(tensor([0.5, 2]), 1), new d.TanhTransform()),
    'TransformedDistribution of several transforms': () =>
      new d.TransformedDistribution(new d.Independent(new d.Normal(tensor([0.5, 2]), 1), 1), [
        new d.ExpTransform(),
        new d.AffineTransform(tensor([[1], [0]]), 2),
      ]),
  };

  it.each(Object.entries({ ...cases, ...others }))('%s', (_, make) => {
    const draw = () => {
      const own = make();
      const value = own.sample([2]);
      return [value, own.logProb(value)];
    };
    const captured = toStatic(draw, { fullGraph: true });
    const [expected, found] = [draw, captured].map((f) => {
      seed(13);
      return f().map((x) => numbers(x));
    });
    expect(found).toEqual(expected);
    const { breaks, kernels } = captured.stats();
    expect([breaks, kernels.eager]).toEqual([[], 0]);
  });
});

describe('errors', () => {
  const wrong: Readonly<
    Record<string, readonly [() => unknown, new (...args: never[]) => Error, RegExp]>
  > = {
    'a scale below 0': [() => new d.Normal(0, -1), ArgumentError, /Normal: scale/],
    'a probability above 1': [() => new d.Bernoulli(2), ArgumentError, /Bernoulli: probs/],
    'probs and logits': [
      () => new d.Categorical({ probs: tensor([1]), logits: tensor([1]) }),
      ArgumentError,
      /needs probs or logits/,
    ],
    integers: [
      () => new d.Normal(tensor([1], { dtype: 'int32' }), 1),
      DTypeError,
      /Normal: a parameter of integers/,
    ],
    'no divergence': [
      () => d.klDivergence(new d.Normal(0, 1), new d.Laplace(0, 1)),
      ArgumentError,
      /no closed form/,
    ],
    'a mean that there is none of': [
      () => new d.TransformedDistribution(new d.Normal(0, 1), []).mean,
      ArgumentError,
      /TransformedDistribution: no mean/,
    ],
    "PyTorch's name": [
      () => (new d.Normal(0, 1) as unknown as { log_prob: unknown }).log_prob,
      ArgumentError,
      /logProb/,
    ],
  };

  it.each(Object.entries(wrong))('%s', (_, [body, type, text]) => {
    expect(body).toThrow(text);
    expect(body).toThrow(type);
  });

  it('normalized parameters are computed once: a second backward says so', () => {
    const logits = tensor([1, 2], { requiresGrad: true });
    const own = new d.Categorical({ logits });
    own.entropy().backward();
    expect(() => own.entropy().backward()).toThrow(AutogradError);
  });
});
