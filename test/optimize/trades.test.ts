/** Choices of what backward recomputes, and the trades of single values in them, by the bytes that are counted roughly. */

import { describe, expect, it } from 'vitest';
import type { Program } from '../../runtime/program/program.ts';
import { cheapestKept } from '../../src/5-optimize/recompute/cheapest-kept.ts';
import { Choice, type Cost } from '../../src/5-optimize/recompute/choice.ts';
import { ForwardFacts } from '../../src/5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../../src/5-optimize/recompute/forward-of-step.ts';
import { recomputeInBackward } from '../../src/5-optimize/recompute/recompute-in-backward.ts';
import { RecomputeSearch } from '../../src/5-optimize/recompute/recompute-search.ts';
import { Trades } from '../../src/5-optimize/recompute/trades.ts';
import { roughBytes } from '../../src/7-plan/plan.ts';
import { sourceOf } from '../../src/check/sources.ts';
import {
  crossEntropy,
  deviceGuard,
  gelu,
  nn,
  optim,
  type Tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';

/** The traced program of a training step; layers of several widths, so that values differ in bytes per arithmetic. */
function stepOf(widths: readonly number[], batch: number): Program {
  return deviceGuard('meta', () => {
    const layers = widths.slice(1).map((width, i) => new nn.Linear(widths[i]!, width));
    const model = new nn.Sequential(...layers);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = toStatic((x: Tensor, labels: Tensor) => {
      let y = x;
      for (const layer of layers) y = gelu(layer.forward(y)).mul(2);
      const loss = crossEntropy(y, labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    });
    const inputs = [zeros([batch, widths[0]!]), zeros([batch], { dtype: 'int32' })] as const;
    step(...inputs).dispose();
    const { program } = sourceOf(step.programs().at(-1)!.stages!.planned)!;
    for (const each of [...inputs, optimizer, model]) each.dispose();
    return program;
  });
}

const sizes = [
  [[8, 8, 8, 8, 8, 8, 8], 64],
  [[16, 64, 8, 32, 8, 64, 16, 10], 32],
  [[4, 4, 32, 4, 4, 32, 4, 4, 32, 4], 128],
  [[32, 16, 16, 48, 16, 16, 48, 16, 8], 256],
] as const;

const costOf: Cost = (program, enough) => roughBytes(program, new Set(), enough);
const shares = [0.85, 0.7, 0.6, 0.5];

describe.each(sizes)('layers %j, batch %i', (widths, batch) => {
  const program = stepOf(widths, batch);
  const facts = new ForwardFacts(program, forwardOfStep(program));
  const most = costOf(program);
  const all = cheapestKept(facts, 0, new Set());
  const choiceOf = (stays: Choice['stays'], brief: Choice['brief']) =>
    new Choice(recomputeInBackward(facts, stays, brief), stays, brief, costOf);
  const least = choiceOf(all, new Set());
  const budgets = shares.map((share) => Math.floor(least.bytes + share * (most - least.bytes)));

  it('are told apart by a budget as by all their bytes', () => {
    for (const budget of [least.bytes - 1, least.bytes, ...budgets, most - 1, most]) {
      for (const each of [program, least.program]) {
        const bytes = costOf(each);
        const found = costOf(each, budget);
        expect(found <= budget).toBe(bytes <= budget);
        if (bytes > budget) expect(found).toBe(bytes);
      }
    }
    const choice = choiceOf(all, new Set());
    // Asked for a large budget first, it answers for smaller ones.
    for (const budget of [most, ...budgets, least.bytes, least.bytes - 1]) {
      expect(choice.fits(budget)).toBe(least.bytes <= budget);
    }
    expect(choice.bytes).toBe(least.bytes);
  });

  it('keep more of what they recompute while it fits', () => {
    expect(least.work).toBeGreaterThan(0);
    for (const budget of budgets) {
      const trades = new Trades(facts, choiceOf, budget);
      const more = trades.keepingMore(least);
      expect(more.work).toBeLessThan(least.work);
      expect(costOf(more.program)).toBeLessThanOrEqual(budget);
      const other = trades.exchanged(trades.nearby(more, [least]));
      expect(other.work).toBeLessThanOrEqual(more.work);
      expect(costOf(other.program)).toBeLessThanOrEqual(budget);
    }
  });

  it('are found within each budget, with no more arithmetic than for a smaller one', () => {
    let before = 0;
    for (const budget of budgets) {
      const { work, program: found } = new RecomputeSearch(facts, costOf).within(budget);
      expect(costOf(found)).toBeLessThanOrEqual(budget);
      expect(work).toBeGreaterThanOrEqual(before);
      before = work;
    }
    expect(before).toBeGreaterThan(0);
  });
});
