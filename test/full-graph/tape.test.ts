/** What loops keep for backward: turn by turn, only what backward reads, and freed as backward walks back. */

import { describe, expect, it } from 'vitest';
import { memory, randn, seed, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Turn = (h: Tensor, w: Tensor) => Tensor;

const bytes = 64 * 16 * 4;

/** A loop until the data says so. */
const loopOf = (turn: Turn) =>
  toStatic(
    (x: Tensor, w: Tensor, n: Tensor) => {
      let h = x;
      let i = 0;
      while (i < n.itemSync()) {
        h = turn(h, w);
        i++;
      }
      return h.sum();
    },
    { fullGraph: true },
  );

interface Measured {
  /** Bytes that forward leaves, and its peak, above those before. */
  readonly kept: number;
  readonly peak: number;
  /** During backward, bytes below those at its start whenever a turn's gradient has been handed on. */
  readonly freed: readonly number[];
}

function measure(loop: ReturnType<typeof loopOf>, turns: number): Measured {
  return tidy(() => {
    seed(1);
    const x = randn([64, 16]).requiresGrad_();
    const w = randn([64, 16]).requiresGrad_();
    const n = tensor(turns);
    const { allocated } = memory.stats('cpu');
    memory.reset('cpu');
    const loss = loop(x, w, n);
    const forward = memory.stats('cpu');
    const { events } = memory.record(() => loss.backward());
    const freed = events.flatMap((event) =>
      event.kind === 'free' && event.op === 'whileBackward'
        ? [forward.allocated - event.allocated]
        : [],
    );
    x.grad?.dispose();
    w.grad?.dispose();
    loss.dispose();
    expect(memory.stats('cpu').allocated).toBe(allocated);
    return { kept: forward.allocated - allocated, peak: forward.peakAllocated - allocated, freed };
  });
}

/** How a figure grows from one number of turns to the next, once there are turns before and behind. */
const steps = (loop: ReturnType<typeof loopOf>, figure: 'kept' | 'peak') =>
  [4, 5, 6, 9].map((turns) => measure(loop, turns)[figure] - measure(loop, turns - 1)[figure]);

describe('full-graph/tape', () => {
  it('backward frees what a turn has saved when it has walked past the turn', () => {
    const { freed } = measure(
      loopOf((h, w) => h.mul(w).tanh()),
      6,
    );
    expect(freed).toEqual([0, 1, 2, 3, 4].map((turns) => turns * bytes));
  });

  it.each<[string, Turn, number]>([
    ['its result, which the next turn reads', (h, w) => h.mul(w).tanh(), 1],
    ['two values that backward reads', (h, w) => h.sin().mul(w).exp(), 2],
    ['nothing but shapes', (h) => h.sub(h.mean(0, { keepDim: true })), 0],
    ['nothing', (h, w) => h.add(w).mul(0.5), 0],
    [
      'nothing of a branch that is not taken',
      (h, w) => (w.sum().itemSync() > 1e9 ? h.exp() : h.add(w)),
      0,
    ],
  ])('a turn keeps %s', (_, turn, values) => {
    const loop = loopOf(turn);
    const growth = [4, 5, 6, 9].map(() => values * bytes);
    expect(steps(loop, 'kept')).toEqual(growth);
    expect(steps(loop, 'peak')).toEqual(growth);
  });
});
