/**
 * More bytes never cost more arithmetic, for random networks of layers, gates and shortcuts, also where slices and masks
 * are weighed against none.
 */

import { expect, it } from 'vitest';
import { deviceGuard, gelu, nn, relu } from '../../../src/index.ts';
import { randomInts } from '../../plan/random-program.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { type Forward, stepPlans } from './step-plans.ts';

/** The plans of a training step of some random layers, by their budget. */
function randomStep(number: number, slices: boolean) {
  const below = randomInts(number * 7919 + 13);
  const width = 16 * (1 + below(4));
  const linears: nn.Linear[] = [];
  const linear = () => {
    const layer = new nn.Linear(width, width);
    linears.push(layer);
    return layer;
  };
  const kinds: readonly (() => Forward)[] = [
    () => {
      const a = linear();
      return (y) => gelu(a.forward(y));
    },
    () => {
      const [a, b] = [linear(), linear()];
      return (y) => y.add(b.forward(relu(a.forward(y))));
    },
    () => {
      const [a, b] = [linear(), linear()];
      return (y) => a.forward(y).tanh().mul(b.forward(y).sigmoid());
    },
  ];
  const layers = Array.from({ length: 3 + below(4) }, () => kinds[below(kinds.length)]!());
  const lossOf: Forward = (x) =>
    layers
      .reduce((y, layer) => layer(y), x)
      .pow(2)
      .mean();
  const { plan } = stepPlans(linears, lossOf, [256 * (1 + below(3)), width]);
  return (budget: number | null) => plan({ slices, prefer: 'bytes', budget });
}

const shares = [0.36, 0.38, 0.4, 0.44, 0.45, 0.46, 0.48, 0.5, 0.55, 0.6, 0.7, 0.8, 1];

it.each(shareOfDay([4, 7, 8]))('random step %i', (number) => isMonotone(number, false, shares));

it.each(shareOfDay([3, 9], 2))('random step %i in slices', (number) => {
  isMonotone(number, true, [0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 1]);
});

function isMonotone(number: number, slices: boolean, shares: readonly number[]): void {
  deviceGuard('meta', () => {
    const plan = randomStep(number, slices);
    const most = plan(null).planned.forward.predicted.peakBytes;
    let least = Number.POSITIVE_INFINITY;
    let fitting = 0;
    let repeating = 0;
    for (const share of shares) {
      const { bytes, budget, share: again } = plan(Math.floor(most * share)).recompute!;
      if (bytes > budget) {
        // Once a budget is held, larger ones are.
        expect(fitting).toBe(0);
        continue;
      }
      fitting++;
      if (again > 0) repeating++;
      expect(again).toBeLessThanOrEqual(least);
      least = Math.min(least, again);
    }
    expect(fitting).toBeGreaterThan(4);
    expect(repeating).toBeGreaterThan(2);
    expect(least).toBe(0);
  });
}
