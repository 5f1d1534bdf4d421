/** Bytes of programs with branches and loops: what is predicted is what the allocator counts, on cpu and meta. */

import { describe, expect, it } from 'vitest';
import { loopGrowths, predictRun } from '../../src/7-plan/control/predict-run.ts';
import {
  deviceGuard,
  type StaticFunction,
  scan,
  type Tensor,
  tensor,
  toStatic,
  withMetaReads,
} from '../../src/index.ts';
import {
  bytesNow,
  bytesOf,
  type DeviceName,
  data,
  devices,
  measure,
} from '../run-program/memory-counter.ts';

const n = 64;

type Fn = (x: Tensor, w: Tensor, turns: Tensor) => Tensor;

/** One call: `iterations` is what the function reads, `reads` what that comes to on meta. */
interface Call {
  readonly turns: number;
  readonly reads: readonly boolean[];
}

const loop = (turns: number): Call => ({ turns, reads: [...Array(turns).fill(true), false] });

/** Forward and backward of one call, measured, and predicted of what was decided. */
function follow(
  graph: StaticFunction<Fn>,
  { turns, reads }: Call,
  device: DeviceName,
  grad: boolean,
) {
  return deviceGuard(device, () => {
    const [x, w, limit] = [data([n]), data([n], { salt: 1 }), tensor(turns)];
    if (grad) for (const each of [x, w]) each.requiresGrad_();
    const before = bytesNow(device);
    const forward = withMetaReads(reads, () => measure(() => graph(x, w, limit), device));
    const { record } = graph.programs().at(-1)!;
    // The next call runs the final plan, as another one may have run the first.
    void graph.ready();
    const { planned, decisions, donated } = record;
    const predicted = predictRun(planned!, decisions.list, donated);
    expect(forward.peak).toBe(predicted.forward.peakBytes);
    expect(forward.kept).toBe(predicted.forward.savedBytes + predicted.forward.outputBytes);
    if (grad) {
      const backward = measure(() => forward.result.backward(), device);
      expect(backward.peak).toBe(predicted.backwardPeak);
    }
    forward.result.dispose();
    for (const each of [x, w]) {
      each.grad?.dispose();
      each.grad = null;
    }
    expect(bytesNow(device)).toBe(before);
    for (const each of [x, w, limit]) each.dispose();
    return { ...predicted, planned: graph.programs().at(-1)!.stages!.planned };
  });
}

const branch: Fn = (x, w, turns) => {
  let y = x.mul(w);
  if (turns.itemSync() > 0) y = y.exp().mul(w).tanh();
  else y = y.add(1);
  return y.mul(x).sum();
};

const branches: Fn = (x, w, turns) => {
  let y = x;
  if (turns.itemSync() > 0) {
    y = y.mul(w);
    if (turns.itemSync() > 1) y = y.exp().mul(w);
  }
  if (turns.itemSync() > 2) y = y.sub(w).tanh();
  return y.sum();
};

const repeated: Fn = (x, w, turns) => {
  let h = x;
  for (let i = 0; i < turns.itemSync(); i++) h = h.mul(w).tanh();
  return h.sum();
};

const swapped: Fn = (x, w, turns) => {
  let [a, b] = [x, w.mul(2)];
  for (let i = 0; i < turns.itemSync(); i++) [a, b] = [b, a.add(1)];
  return a.mul(b).sum();
};

const nested: Fn = (x, w, turns) => {
  let h = x;
  for (let i = 0; i < turns.itemSync(); i++) {
    for (let k = 0; k < turns.itemSync(); k++) h = h.mul(w).sin();
    h = h.add(x);
  }
  return h.sum();
};

const deciding: Fn = (x, w, turns) => {
  let h = x;
  for (let i = 0; i < turns.itemSync(); i++) {
    if (i * 2 > turns.itemSync()) h = h.mul(w).exp();
    else h = h.add(w.sin());
  }
  return h.sum();
};

const inner = (turns: number): boolean[] => [...Array(turns).fill(true), false];
const nestedLoop = (turns: number): Call => {
  const reads = Array.from({ length: turns }, () => [true, ...inner(turns)]).flat();
  return { turns, reads: [...reads, false] };
};
const decidingLoop = (turns: number): Call => {
  const reads = Array.from({ length: turns }, (_, i) => [true, i * 2 > turns]).flat();
  return { turns, reads: [...reads, false] };
};

const cases: readonly (readonly [string, Fn, readonly Call[]])[] = [
  ['a branch', branch, [1, 0].map((turns) => ({ turns, reads: [turns > 0] }))],
  [
    'branches in branches, and one behind the other',
    branches,
    [
      { turns: 0, reads: [false, false] },
      { turns: 1, reads: [true, false, false] },
      { turns: 2, reads: [true, true, false] },
      { turns: 3, reads: [true, true, true] },
    ],
  ],
  ['a loop', repeated, [0, 1, 2, 20].map(loop)],
  ['carried values that change places', swapped, [0, 1, 2, 3, 20].map(loop)],
  ['a loop in a loop', nested, [0, 1, 2, 4].map(nestedLoop)],
  ['a branch in a loop', deciding, [0, 1, 2, 7].map(decidingLoop)],
];

describe.each([
  ['with gradients', true],
  ['without', false],
])('%s', (_, grad) => {
  it.each(cases)(
    '%s: predicted bytes are measured bytes, equal on cpu and meta',
    (_, fn, calls) => {
      const [cpu, meta] = devices.map((device) => {
        const graph = toStatic(fn, { fullGraph: true });
        return calls.map((call) => {
          const { forward, backwardPeak, planned } = follow(graph, call, device, grad);
          expect(planned.forward.predicted.lowerBoundBytes).toBeGreaterThan(0);
          return { forward, backwardPeak };
        });
      });
      expect(cpu).toEqual(meta);
    },
  );
});

describe('the prediction of a program', () => {
  it.each([branch, branches])('with branches is that of the way that needs most (%#)', (fn) => {
    const graph = toStatic(fn, { fullGraph: true });
    follow(graph, { turns: 0, reads: [] }, 'cpu', true);
    const peaks = [0, 1, 2, 3].map((turns) => follow(graph, { turns, reads: [] }, 'cpu', true));
    const { predicted } = peaks[0]!.planned.forward;
    expect(predicted.peakBytes).toBe(Math.max(...peaks.map(({ forward }) => forward.peakBytes)));
    expect(predicted.lowerBoundBytes).toBeLessThanOrEqual(predicted.peakBytes);
    expect(predicted.lowerBoundBytes).toBeGreaterThan(predicted.peakBytes / 2);
  });

  it('with a loop that keeps nothing holds for any number of iterations', () => {
    const graph = toStatic(repeated, { fullGraph: true });
    for (const turns of [3, 4, 50]) {
      const { forward, planned } = follow(graph, loop(turns), 'cpu', false);
      expect(forward.peakBytes).toBe(planned.forward.predicted.peakBytes);
      expect(loopGrowths(planned)).toEqual([]);
    }
  });

  it.each(devices)('with a loop that keeps values grows with every iteration, on %s', (device) => {
    const graph = toStatic(repeated, { fullGraph: true });
    const { planned } = follow(graph, loop(1), device, true);
    const [growth, ...others] = loopGrowths(planned);
    expect(others).toEqual([]);
    const { baseBytes, bytesPerIteration, fromIterations } = growth!;
    // mul keeps what it is given, tanh its result, which is what the next iteration is given.
    expect(bytesPerIteration).toBe(bytesOf(n));
    expect(fromIterations).toBeLessThanOrEqual(1);
    const kept: number[] = [];
    for (const turns of [1, 2, 10, 40]) {
      const { forward, backwardPeak } = follow(graph, loop(turns), device, true);
      expect(forward.peakBytes).toBe(baseBytes + turns * bytesPerIteration);
      kept.push(forward.savedBytes);
      // What backward takes beside what is kept doesn't depend on the number of iterations.
      expect(backwardPeak).toBe(follow(graph, loop(2), device, true).backwardPeak);
    }
    expect(kept.map((bytes) => bytes - kept[0]!)).toEqual([0, 1, 9, 39].map((i) => i * bytesOf(n)));
  });

  it('is printed with how it grows', () => {
    const graph = toStatic(repeated, { fullGraph: true });
    follow(graph, loop(5), 'cpu', true);
    expect(graph.explain()).toMatch(/of n iterations of the loop at .*: \d+ \+ n \* 256 bytes/);
    const [, measured, planned] = /(\d+) bytes measured, (\d+) planned/.exec(graph.explain())!;
    expect(measured).toBe(planned);
  });

  it('of scan, which is followed row by row, is that of any program', () => {
    const rows = toStatic(
      (x: Tensor, w: Tensor) => {
        const [end, all] = scan((h: Tensor, row: Tensor) => [h.add(row), h.mul(row)], w, x);
        return end.sum().add(all.sum());
      },
      { fullGraph: true },
    );
    for (const device of devices) {
      deviceGuard(device, () => {
        const [x, w] = [data([4, n]).requiresGrad_(), data([n], { salt: 1 })];
        const { result, peak } = measure(() => rows(x, w), device);
        const { predicted } = rows.programs().at(-1)!.stages!.planned.forward;
        expect(peak).toBe(predicted.peakBytes);
        for (const each of [result, x, w]) each.dispose();
      });
    }
  });
});

describe('the peak of a loop as a person writes it', () => {
  const whiles: Fn = (x, w, turns) => {
    let h = x;
    let i = turns.itemSync();
    while (i > 0) {
      h = h.mul(w).tanh();
      i--;
    }
    return h.sum();
  };
  const rows = (all: Tensor, w: Tensor): Tensor => {
    let h = w;
    for (const row of all) h = h.mul(row).tanh();
    return h.sum();
  };
  const peakOfRows = (count: number, grad: boolean, device: DeviceName): number =>
    deviceGuard(device, () => {
      const [all, w] = [data([count, n]), data([n], { salt: 1 })];
      if (grad) w.requiresGrad_();
      const graph = toStatic(rows, { fullGraph: true });
      graph(all, w).dispose();
      const { result, peak } = measure(() => graph(all, w), device);
      for (const each of [result, all, w]) each.dispose();
      return peak;
    });
  const peakOfWhile = (turns: number, grad: boolean, device: DeviceName): number => {
    const graph = toStatic(whiles, { fullGraph: true });
    return follow(graph, loop(turns), device, grad).forward.peakBytes;
  };

  it.each(devices)(
    'is the same for any number of iterations where nothing is saved, on %s',
    (device) => {
      for (const peakOf of [peakOfWhile, peakOfRows]) {
        const peaks = [3, 4, 12, 48].map((turns) => peakOf(turns, false, device));
        expect(peaks).toEqual(peaks.map(() => peaks[0]));
      }
    },
  );

  it.each(devices)('and else grows by what backward reads of an iteration, on %s', (device) => {
    for (const peakOf of [peakOfWhile, peakOfRows]) {
      const peaks = [3, 4, 12, 48].map((turns) => peakOf(turns, true, device));
      const grown = peaks.map((peak) => (peak - peaks[0]!) / bytesOf(n));
      expect(grown).toEqual([0, 1, 9, 45]);
    }
  });
});

describe('what dies at a control op', () => {
  it('is freed at its last use inside', () => {
    const fn: Fn = (x, w, turns) => {
      let big = x.add(w);
      // In the branch each value but the last dies at once.
      if (turns.itemSync() > 0) big = big.mul(2).mul(w).exp();
      return big.sum();
    };
    const graph = toStatic(fn, { fullGraph: true });
    const { forward } = follow(graph, { turns: 1, reads: [true] }, 'cpu', false);
    // Two vectors at a time, the number that is compared, and its truth value.
    expect(forward.peakBytes).toBeLessThanOrEqual(2 * bytesOf(n) + 2 * 64);
  });
});
