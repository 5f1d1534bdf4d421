/** Saved values in fewer bits, on request: fewer bytes are kept, forward is exact, gradients are close. */

import { describe, expect, it } from 'vitest';
import { appliedTo } from '../../src/explain/applied.ts';
import {
  conv2d,
  crossEntropy,
  grad,
  layerNorm,
  nn,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';
import { expectBytesAsBefore, type Loss, type LossCase, outcome } from './saved-values.ts';

expectBytesAsBefore();

const losses: Record<string, LossCase> = {
  'functions of one another': { run: (x) => x.tanh().exp().sin().mean(), shape: [37, 11] },
  'a value that is read in two shapes': {
    run: (x) => {
      const y = x.tanh();
      return y.reshape([20, 16]).pow(3).sum().add(y.sigmoid().mul(y).mean());
    },
    shape: [40, 8],
  },
  'a convolution, one of whose gradients reads a shape': {
    run: (x) => {
      const y = x.tanh();
      return conv2d(y, y.narrow(0, 0, 1), undefined, { padding: 2 })
        .pow(2)
        .mean();
    },
    shape: [3, 4, 5, 6],
  },
  'an op with several results that are saved': {
    run: (x) => layerNorm(x.tanh().mul(3), [16]).pow(3).mean(),
    shape: [64, 16],
  },
  'softmax and a product': {
    run: (x) => x.mul(0.5).softmax(-1).matmul(x.sin().t()).pow(2).mean(),
    shape: [24, 24],
  },
};

/** The largest difference, relative to the largest number. */
function distance(found: readonly number[], exact: readonly number[]): number {
  const size = Math.max(...exact.map(Math.abs));
  return Math.max(...found.map((own, i) => Math.abs(own - exact[i]!))) / size;
}

/**
 * Eight unit roundoffs: a gradient has up to three factors that are computed from rounded values, of which that of the
 * sine at y = exp(tanh(x)) < e multiplies the relative error by y, and that of the tanh by two.
 */
const errors = { float16: 8 * 2 ** -11, bfloat16: 8 * 2 ** -8, int8: 8 * 2 ** -7 } as const;

describe('plan/saved-dtype', () => {
  for (const [name, { run, shape }] of Object.entries(losses)) {
    it.each(['float16', 'bfloat16', 'int8'] as const)(`${name}, %s`, (savedDtype) => {
      seed(2);
      const x = randn([...shape]).requiresGrad_();
      const half = toStatic(run, { memory: { savedDtype } });
      const [eager, plain, rounded] = [
        outcome(refcounted(run), x),
        outcome(toStatic(run), x),
        outcome(half, x),
      ];
      const part = half.programs()[0]!;
      expect(appliedTo(part)!.savedDtype).toBe(1);
      const [exact] = eager.found.gradients;
      const [gradient] = rounded.found.gradients;
      expect(plain.found).toEqual(eager.found);
      expect(rounded.found.loss).toEqual(eager.found.loss);
      expect(distance(gradient!, exact!)).toBeGreaterThan(0);
      expect(distance(gradient!, exact!)).toBeLessThan(errors[savedDtype]);
      expect(rounded.kept).toBeLessThan(plain.kept);
      expect(rounded.peak).toBe(part.record.planned!.forward.predicted.peakBytes);
      x.dispose();
    });

    it.each(['bfloat16', 'int8'] as const)(`${name}: gradients of gradients, %s`, (savedDtype) => {
      const second = (fn: Loss) => {
        let numbers: number[] = [];
        tidy(() => {
          seed(2);
          const x = randn([...shape]).requiresGrad_();
          const [slope] = grad(fn(x), [x], { createGraph: true });
          numbers = grad(slope!.pow(2).sum(), [x]).flatMap((each) => [...each.dataSync()]);
        });
        return numbers;
      };
      const rounded = toStatic(run, { memory: { savedDtype } });
      expect(distance(second(rounded), second(run))).toBeLessThan(2 ** -4);
    });
  }

  it.each([
    ['bfloat16', false],
    ['bfloat16', true],
    ['int8', false],
    ['int8', true],
  ] as const)('a training step as a whole, %s, with slices %s', (dtype, slices) => {
    const train = (savedDtype: typeof dtype | null) => {
      seed(1);
      const blocks = Array.from({ length: 4 }, () => [new nn.Linear(24, 24), new nn.Tanh()]);
      const model = new nn.Sequential(...blocks.flat(), new nn.Linear(24, 10));
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      const step = toStatic(
        (x: Tensor, labels: Tensor) => {
          const loss = crossEntropy(model.forward(x), labels);
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return loss;
        },
        { memory: { prefer: 'bytes', slices, savedDtype } },
      );
      const x = randn([256, 24]);
      const labels = tensor(Int32Array.from({ length: 256 }, (_, i) => i % 10));
      let peak = 0;
      const values = Array.from({ length: 4 }, () => {
        const { result, peak: own } = measure(() => step(x, labels));
        peak = own;
        const value = result.itemSync();
        result.dispose();
        return value;
      });
      const part = step.programs()[0]!;
      for (const each of [x, labels, optimizer, model]) each.dispose();
      const { peakBytes } = part.stages!.planned.forward.predicted;
      expect(peak).toBe(peakBytes);
      return { values, peakBytes, applied: appliedTo(part)!.savedDtype };
    };
    const [plain, rounded] = [train(null), train(dtype)];
    expect(rounded.values[0]).toBe(plain.values[0]);
    expect(distance(rounded.values, plain.values)).toBeLessThan(2 ** -10);
    expect(rounded.peakBytes).toBeLessThanOrEqual(plain.peakBytes);
    if (!slices) {
      expect([plain.applied, rounded.applied]).toEqual([0, 1]);
      expect(rounded.peakBytes).toBeLessThan(plain.peakBytes);
    }
  });

  it('rejects other dtypes, and check mode', () => {
    const savedDtype = 'bfloat16';
    expect(() => toStatic((x: Tensor) => x, { memory: { savedDtype: 'int4' as never } })).toThrow(
      /not one of the smaller dtypes[\s\S]*'int8' quarters them/,
    );
    expect(() => toStatic((x: Tensor) => x, { check: 1, memory: { savedDtype } })).toThrow(
      'check mode compares bits',
    );
  });
});
