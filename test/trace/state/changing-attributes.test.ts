/** A number that changes with every call and decides no shape is computed by the run: no trace, no plan. */

import { describe, expect, it } from 'vitest';
import { symbolicAttrs } from '../../../runtime/device/symbolic-attrs.ts';
import { isSymbolic } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { opTable } from '../../../runtime/ops/op-table.ts';
import {
  layerNorm,
  randomState,
  relu,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../../src/index.ts';
import { expectSameAsEager, weights } from '../same-as-eager.ts';
import { type Case, cases, refused } from './changing-attributes-table.ts';

const sixth = () => tensor(new Int32Array(24).map((_, i) => i % 6));

const worlds = (fn: Case['fn'], numbers: readonly number[]) => () => ({
  fn,
  args: (call: number) => {
    seed(call);
    return [weights([24, 6]), numbers[call % numbers.length], sixth()];
  },
  // Nothing draws but the op: not a trial of the call either.
  state: randomState,
});

describe('trace/changing-attributes', () => {
  for (const [name, { fn, numbers, more = 0 }] of Object.entries(cases)) {
    it(`${name}: results and gradients of 20 numbers, from two traces and two plans`, () => {
      const { stats } = expectSameAsEager(worlds(fn, numbers), { calls: numbers.length });
      expect(stats.fallbacks).toEqual([]);
      expect(stats.breaks).toEqual([]);
      expect(stats.translations).toBeLessThanOrEqual(2 + more);
      expect(stats.plans).toBeLessThanOrEqual(2 + more);
      expect(new Set(numbers).size).toBeGreaterThanOrEqual(10);
    });
  }

  for (const [name, { fn, numbers }] of Object.entries(refused)) {
    it(`${name}: refuses a number as eager execution does, and takes the next one`, () => {
      const { stats, translations } = expectSameAsEager(worlds(fn, numbers), {
        calls: 3 * numbers.length,
      });
      expect(stats.fallbacks).toEqual([]);
      // What was decided once on a number holds for every number on that side.
      expect(translations.at(-1)).toBe(translations[numbers.length]);
    });
  }

  it('a norm that a budget recomputes has the number of its run', () => {
    const layers = Array.from({ length: 12 }, () => weights([64, 64]));
    const deep = (x: Tensor, eps: number) => {
      let y = x;
      for (const layer of layers) y = relu(layerNorm(y.matmul(layer), [64], null, null, eps));
      return y.sum();
    };
    const captured = toStatic(deep, { memory: { budget: 400_000 } });
    const bitsOf = (f: typeof deep, eps: number) => {
      seed(1);
      const loss = f(weights([128, 64]), eps);
      loss.backward();
      const gradients = layers.map((layer) => [...layer.grad!.dataSync()]);
      for (const layer of layers) layer.grad = null;
      return [loss.itemSync(), ...gradients];
    };
    for (const eps of [1e-5, 1e-3, 0.1, 0.5]) {
      expect(bitsOf(captured, eps)).toEqual(bitsOf(deep, eps));
    }
    const { forward, backward } = captured.programs().at(-1)!.stages!.planned;
    const ops = [forward, backward!.plan].flatMap(({ steps }) =>
      steps.flatMap(({ op }) => op.parts ?? [op]),
    );
    const recomputed = ops.filter(({ op }) => op.name === 'standardizeByStats');
    expect(recomputed.length).toBeGreaterThan(2);
    expect(recomputed.every(({ attrs }) => isSymbolic(attrs.eps))).toBe(true);
  });

  it('every attribute that a run may compute is one in some case', () => {
    const met = new Set<string>();
    for (const { fn, numbers } of Object.values(cases)) {
      const captured = toStatic((x: Tensor, k: number, ids: Tensor) => fn(x, k, ids));
      for (const k of numbers.slice(0, 3)) captured(weights([24, 6]), k, sixth());
      for (const { stages } of captured.programs()) {
        for (const { op, attrs } of stages?.joint?.ops ?? stages?.forward.ops ?? []) {
          for (const [name, value] of Object.entries(attrs)) {
            const items = Array.isArray(value) ? value : [value];
            if (items.some(isSymbolic)) met.add(`${op.name}.${name}`);
          }
        }
      }
    }
    const all = [...opTable.values()].flatMap((op) =>
      [...symbolicAttrs(op)].map((name) => `${op.name}.${name}`),
    );
    // Written by passes alone: slicing, and recompute within a budget.
    const byPasses = /^addStandardize|ByStats\./;
    const unmet = all.filter((name) => !met.has(name) && !byPasses.test(name));
    expect(unmet).toEqual([]);
  });
});
