/**
 * Branches that are taken differently from iteration to iteration, and loops that take some iterations until their
 * memory repeats: no run needs more than predicted, and the worst one needs exactly that.
 */

import { describe, expect, it } from 'vitest';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Decider } from '../../runtime/run-program/simulate/decider.ts';
import { DecidedPath } from '../../src/7-plan/control/decided-path.ts';
import { explorePaths } from '../../src/7-plan/control/explore-paths.ts';
import { predictRun } from '../../src/7-plan/control/predict-run.ts';
import { UniformPath } from '../../src/7-plan/control/uniform-path.ts';
import {
  cat,
  deviceGuard,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  withMetaReads,
} from '../../src/index.ts';
import { data, measure } from '../run-program/memory-counter.ts';
import { randomInts } from './random-program.ts';

type Fn = (x: Tensor, y: Tensor, w: Tensor, big: Tensor, k: Tensor) => Tensor;

/** The text of a function with loops and branches over tensors of several layouts, which it passes around. */
function randomText(below: (bound: number) => number, grad: boolean): string {
  const v = () => ['a', 'b', 'c', 'd'][below(4)]!;
  const statements: readonly (() => string)[] = [
    () => `${v()} = ${v()}.mul(w);`,
    () => `${v()} = ${v()}.add(${v()});`,
    () => `${v()} = ${v()}.t();`,
    () => `[${v()}, ${v()}] = [${v()}, ${v()}];`,
    () => `${v()} = cat([${v()}, ${v()}]).narrow(0, ${below(5)}, 4);`,
    () => `${v()} = big.narrow(0, ${below(5)}, 4);`,
    () => `${v()} = ${v()}.sum([0], true).expand([4, 4]);`,
    () => `[a, b, c, d] = [b, c, d, ${v()}.mul(2)];`,
    () => `{ const z = ${v()}.clone(); z.add_(1); ${v()} = z; }`,
    () => {
      if (grad) return `${v()} = ${v()}.exp().mul(${v()});`;
      const loss = `p.mul(${v()}).tanh().sum().backward()`;
      return `{ const p = ${v()}.detach().requiresGrad_(); ${loss}; ${v()} = p.grad; }`;
    },
  ];
  let loops = 0;
  const loop = (count: number, depth: number): string => {
    const i = `i${loops++}`;
    const last = below(2) === 0 ? 'k' : `${v()}.sum()`;
    return `for (let ${i} = 0; ${i} < ${last}.itemSync(); ${i}++) { ${block(count, depth)} }`;
  };
  const statement = (depth: number): string => {
    const kind = depth > 0 ? below(10) : 9;
    if (kind < 2) {
      const [then, otherwise] = [block(1 + below(2), depth - 1), block(below(3), depth - 1)];
      return `if (${v()}.sum().itemSync() > 0) { ${then} } else { ${otherwise} }`;
    }
    return kind < 4 ? loop(1 + below(3), depth - 1) : statements[below(statements.length)]!();
  };
  const block = (count: number, depth: number): string =>
    Array.from({ length: count }, () => statement(depth)).join(' ');
  // One tensor, new on all paths: of another one the caller would read which it is.
  const result = ['a.add(b).add(c).add(d)', 'b.mul(a)', 'c.mul(d).sum()'][below(3)];
  return `let [a, b, c, d] = [x, x, y, y.t()]; ${loop(2 + below(3), 2)} ${block(below(2), 1)} return ${result};`;
}

const made = (text: string): Fn =>
  new Function('cat', `return (x, y, w, big, k) => { ${text} };`)(cat);

/** Measures one run on meta, whose branches and loops read the given numbers. */
function measured(run: () => unknown, reads: readonly boolean[]): number {
  return tidy(() => withMetaReads(reads, () => measure(run, 'meta')).peak);
}

/** Notes what ops read from the device on a path. */
function readsOn(path: Decider, planned: PlannedSubgraph): boolean[] {
  const reads: boolean[] = [];
  const note = (read: boolean) => {
    reads.push(read);
    return read;
  };
  predictRun(planned, {
    branch(op) {
      const branch = path.branch(op);
      note(branch === 0);
      return branch;
    },
    iterations(op, recorded) {
      const given = path.iterations(op, recorded);
      if (typeof given === 'function') return () => note(given());
      let rest = given;
      return () => note(rest-- > 0);
    },
    element: (count) => path.element(count),
    number: () => path.number(),
  });
  return reads;
}

/** A path of chance; loops that keep values of each iteration run once at most, as predicted. */
const chance = (below: (bound: number) => number): Decider => {
  const most = 2 + below(6);
  return {
    branch: () => below(2),
    iterations: (_, recorded) => below(recorded ? 2 : most),
    element: (count) => count - 1,
    number: () => null,
  };
};

const inputs = () => [
  data([4, 4]),
  data([4, 4], { salt: 1 }),
  data([4, 4], { salt: 2 }),
  data([8, 4], { salt: 3 }),
];

interface PlannedRun {
  readonly run: () => unknown;
  readonly planned: PlannedSubgraph;
}

/** A program whose plan is final, and a run of it; null for a function that is not one program. */
function planned(fn: Fn, grad: boolean): PlannedRun | null {
  const [x, y, w, big] = inputs() as [Tensor, Tensor, Tensor, Tensor];
  if (grad) for (const each of [x, w]) each.requiresGrad_();
  const f = toStatic(fn, { fullGraph: true });
  const k = tensor(2);
  const run = () => f(x, y, w, big, k);
  try {
    withMetaReads(Array(1000).fill(false), run);
  } catch (error) {
    // Followed iteration by iteration, a loop may read more than is given.
    if (['FullGraphError', 'DeviceError'].includes((error as Error).name)) return null;
    throw error;
  }
  void f.ready();
  const { stages } = f.programs()[0]!;
  return stages && { run, planned: stages.planned };
}

/** Hands over random functions that are one program, and returns how many they are. */
function eachOf(
  seeds: readonly number[],
  grad: boolean,
  check: (run: PlannedRun, below: (bound: number) => number, text: string) => void,
): number {
  return deviceGuard('meta', () => {
    let count = 0;
    for (const seed of seeds) {
      const below = randomInts(seed);
      const text = randomText(below, grad);
      const run = planned(made(text), grad);
      if (!run) continue;
      check(run, below, text);
      count++;
    }
    return count;
  });
}

const unowned = { alone: () => false, donated: () => false };

describe('the predicted peak of a random loop', () => {
  it('is that of its worst run, of all the highest', () => {
    let complete = 0;
    eachOf([1, 2, 4, 6, 7, 9, 10, 11], false, ({ run, planned }, below, text) => {
      const { forward, values } = planned;
      const { peakBytes } = forward.predicted;
      const explored = explorePaths(forward, values, unowned, new UniformPath(), 6_000);
      if (!explored.isComplete) return;
      complete++;
      const worst = new DecidedPath(explored.decisions, new UniformPath());
      expect(measured(run, readsOn(worst, planned)), text).toBe(peakBytes);
      for (let i = 0; i < 20; i++) {
        const reads = readsOn(chance(below), planned);
        expect(measured(run, reads), text).toBeLessThanOrEqual(peakBytes);
      }
    });
    expect(complete).toBeGreaterThan(3);
  });

  it('holds where values are kept for backward, and in it', () => {
    const count = eachOf([2, 4, 7], true, ({ planned }, below, text) => {
      const { forward, backward } = planned;
      const mostBackward = backward?.plan.predicted.peakBytes ?? 0;
      for (let i = 0; i < 40; i++) {
        const run = predictRun(planned, chance(below));
        expect(run.forward.peakBytes, text).toBeLessThanOrEqual(forward.predicted.peakBytes);
        expect(run.backwardPeak ?? 0, text).toBeLessThanOrEqual(mostBackward);
      }
    });
    expect(count).toBeGreaterThan(1);
  });
});

describe('the predicted peak is needed', () => {
  const peaks = (fn: Fn, turns: readonly number[]) => {
    const [x, y, w, big] = inputs() as [Tensor, Tensor, Tensor, Tensor];
    const f = toStatic(fn, { fullGraph: true });
    const counts = turns.map((count) => {
      const k = tensor(count);
      tidy(() => f(x, y, w, big, k));
      void f.ready();
      return tidy(() => measure(() => f(x, y, w, big, k)).peak);
    });
    return { counts, predicted: f.programs()[0]!.stages!.planned.forward.predicted.peakBytes };
  };

  it('where a loop takes as many iterations as it carries values until its memory repeats', () => {
    const { counts, predicted } = peaks(
      (x, _y, w, _big, k) => {
        let [a, b, c, d, e] = [x, x, x, x, x];
        for (let i = 0; i < k.itemSync(); i++) [a, b, c, d, e] = [b, c, d, e, e.mul(w)];
        return a.add(b).add(c).add(d).add(e);
      },
      [3, 4, 5, 6, 20],
    );
    expect(counts[0]).toBeLessThan(predicted);
    expect(counts.slice(2)).toEqual(counts.slice(2).map(() => predicted));
    expect(Math.max(...counts)).toBe(predicted);
  });

  it('where the iterations of a loop take different branches', () => {
    const { counts, predicted } = peaks(
      (x, _y, w, _big, k) => {
        let [a, b] = [x, x];
        for (let i = 0; i < k.itemSync(); i++) {
          if (i % 2 === 0 ? k.itemSync() > 1 : k.itemSync() > 9) a = b.mul(w);
          else b = b.add(w);
        }
        return a.mul(b);
      },
      [1, 2, 8],
    );
    expect(Math.max(...counts)).toBe(predicted);
  });
});
