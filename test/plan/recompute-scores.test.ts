/** Scores of attention that backward recomputes: fewer bytes are kept, with eager execution's bits. */

import { describe, expect, it } from 'vitest';
import { appliedTo } from '../../src/explain/applied.ts';
import {
  type DType,
  dropout,
  grad,
  matmul,
  nn,
  optim,
  randn,
  refcounted,
  scaledDotProductAttention,
  seed,
  softmax,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';
import { expectBytesAsBefore, numbersOf, outcome } from './saved-values.ts';

expectBytesAsBefore();

type Attention = (q: Tensor, k: Tensor, v: Tensor) => Tensor;

const byHand: Attention = (q, k, v) => matmul(softmax(matmul(q.mul(0.25), k.transpose(-1, -2))), v);

const attentions: Record<string, Attention> = {
  'by hand': byHand,
  'by hand, with dropout': (q, k, v) =>
    matmul(dropout(softmax(matmul(q, k.transpose(-1, -2)).mul(0.25)), 0.3), v),
  'softmax by hand': (q, k, v) => {
    const scores = matmul(q.mul(0.25), k.transpose(-1, -2));
    const powers = scores.sub(scores.amax(-1, { keepDim: true })).exp();
    return matmul(powers.div(powers.sum(-1, { keepDim: true })), v);
  },
  'in one function': (q, k, v) => scaledDotProductAttention(q, k, v),
  causal: (q, k, v) => scaledDotProductAttention(q, k, v, { isCausal: true }),
  'causal, with dropout': (q, k, v) =>
    scaledDotProductAttention(q, k, v, { isCausal: true, dropoutP: 0.2 }),
  masked: (q, k, v) => {
    const [queries, keys] = [q.shape.at(-2)!, k.shape.at(-2)!];
    const attnMask = tensor(
      Array.from({ length: queries * keys }, (_, i) => i % keys === 0 || (i * 7) % 3 > 0),
      { shape: [queries, keys] },
    );
    return scaledDotProductAttention(q, k, v, { attnMask });
  },
};

interface Sizes {
  readonly heads: readonly number[];
  readonly queries: number;
  readonly keys: number;
  readonly features: number;
}

const sizes: Record<string, Sizes> = {
  'one batch': { heads: [4], queries: 48, keys: 48, features: 8 },
  'several heads': { heads: [3, 2], queries: 33, keys: 33, features: 4 },
  'more keys than queries': { heads: [2, 3], queries: 17, keys: 40, features: 8 },
};

function inputsOf({ heads, queries, keys, features }: Sizes, dtype: DType) {
  seed(3);
  const inputOf = (length: number) => {
    const x = randn([...heads, length, features]);
    const own = x.to(dtype);
    if (own !== x) x.dispose();
    return own.requiresGrad_();
  };
  return [inputOf(queries), inputOf(keys), inputOf(keys)] as const;
}

/** Three layers, since what one attention keeps is no more than what its own backward needs at a time. */
const around =
  (attend: Attention): Attention =>
  (q, k, v) => {
    const [first, keys] = [q.mul(1.5), k.mul(0.5)];
    return attend(attend(attend(first, keys, v), keys, v), keys, v)
      .pow(2)
      .mean();
  };

describe('plan/recompute-scores', () => {
  for (const [name, attend] of Object.entries(attentions)) {
    describe(name, () => {
      const run = around(attend);
      for (const [title, given] of Object.entries(sizes)) {
        it.each(['float32', 'float64'] as const)(`${title}, %s`, (dtype) => {
          const inputs = inputsOf(given, dtype);
          const traced = toStatic(run, { memory: { prefer: 'bytes' } });
          const plainly = toStatic(run, { memory: { prefer: 'bytes', recomputeScores: false } });
          const [eager, plain, again] = [
            outcome(refcounted(run), ...inputs),
            outcome(plainly, ...inputs),
            outcome(traced, ...inputs),
          ];
          const part = traced.programs()[0]!;
          expect(appliedTo(part)!.recomputeScores).toBe(1);
          expect(again.found).toEqual(eager.found);
          expect(plain.found).toEqual(eager.found);
          expect(again.kept).toBeLessThan(plain.kept);
          expect(again.peak).toBeLessThanOrEqual(plain.peak);
          expect(again.peak).toBe(part.record.planned!.forward.predicted.peakBytes);
          for (const x of inputs) x.dispose();
        });
      }

      it('gradients of gradients', () => {
        const second = (fn: Attention) =>
          numbersOf(() => {
            const inputs = inputsOf(sizes['one batch']!, 'float32');
            seed(7);
            const y = fn(...inputs);
            const [slope] = grad(y.mul(y), [inputs[0]!], { createGraph: true });
            return [y, slope!, ...grad(slope!.pow(2).sum(), [inputs[1]!])];
          });
        const traced = toStatic(run, { memory: { prefer: 'bytes' } });
        expect(second(traced)).toEqual(second(run));
        expect(appliedTo(traced.programs()[0]!)!.recomputeScores).toBe(1);
      });
    });
  }

  it('keeps weights that the caller gets', () => {
    const run = (q: Tensor, k: Tensor, v: Tensor) => {
      const options = { returnWeights: true } as const;
      const [out, weights] = scaledDotProductAttention(q, k, v, options);
      return [out.mul(2), weights] as const;
    };
    const traced = toStatic(run, { memory: { prefer: 'bytes' } });
    const inputs = inputsOf(sizes['one batch']!, 'float32');
    const results = traced(...inputs);
    expect(appliedTo(traced.programs()[0]!)!.recomputeScores).toBe(0);
    for (const x of [...results, ...inputs]) x.dispose();
  });

  describe('in a whole step', () => {
    function trained(memory: ToStaticOptions['memory'] | 'eager', p = 0) {
      seed(11);
      const layers = [1, 2, 3].map(() => new nn.MultiheadAttention(16, 4, { dropout: p }));
      const parameters = layers.flatMap((layer) => layer.parameters());
      const optimizer = new optim.SGD(parameters, { lr: 0.1 });
      const step = (x: Tensor) => {
        let y = x;
        for (const layer of layers) [y] = layer.forward(y, y, y, { needWeights: false });
        const loss = y.pow(2).mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      const traced = memory === 'eager' ? null : toStatic(step, { memory: memory! });
      const fn = traced ?? refcounted(step);
      const x = randn([4, 64, 16]);
      const losses: number[] = [];
      let peak = 0;
      for (let i = 0; i < 3; i++) {
        seed(13 + i);
        const run = measure(() => fn(x));
        losses.push(...(run.result.dataSync() as Float32Array));
        peak = run.peak;
        run.result.dispose();
      }
      const found = parameters.map((each) => [...each.dataSync()]);
      const part = traced?.programs().at(-1);
      x.dispose();
      optimizer.dispose();
      for (const layer of layers) layer.dispose();
      return { found: [losses, ...found], peak, part };
    }

    it.each([0, 0.25])('dropout %d', (p) => {
      const eager = trained('eager', p);
      const plain = trained({ prefer: 'bytes', recomputeScores: false }, p);
      const again = trained({ prefer: 'bytes' }, p);
      expect(again.found).toEqual(eager.found);
      expect(plain.found).toEqual(eager.found);
      expect(appliedTo(again.part!)!.recomputeScores).toBe(1);
      expect(again.peak).toBeLessThan(plain.peak);
      expect(again.peak).toBe(again.part!.stages!.planned.forward.predicted.peakBytes);
    });

    it('costs no arithmetic elsewhere within a budget, and keeps it', () => {
      const { peak } = trained({ recomputeScores: false });
      let last = 0;
      for (const part of [0.9, 0.8, 0.7, 0.6]) {
        const budget = Math.floor(peak * part);
        const plain = trained({ budget, recomputeScores: false });
        const again = trained({ budget });
        expect(again.found).toEqual(plain.found);
        const [own, others] = [again, plain].map((each) => each.part!.stages!.recompute!);
        expect(own!.bytes).toBeLessThanOrEqual(budget);
        expect(again.peak).toBe(own!.bytes);
        expect(own!.share).toBeLessThanOrEqual(others!.share);
        expect(own!.share).toBeGreaterThanOrEqual(last);
        last = own!.share;
      }
    });

    it('needs no more bytes by default', () => {
      const plain = trained({ recomputeScores: false });
      const byDefault = trained({});
      expect(byDefault.found).toEqual(plain.found);
      expect(byDefault.peak).toBeLessThanOrEqual(plain.peak);
    });
  });
});
