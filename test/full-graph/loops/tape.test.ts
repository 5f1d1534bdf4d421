/** What loops keep for backward: iteration by iteration, only what backward reads, and freed as backward walks back. */

import { describe, expect, it } from 'vitest';
import {
  keepLoop,
  memory,
  noGrad,
  randn,
  type StaticFunction,
  seed,
  stack,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';

type Turn = (h: Tensor, w: Tensor) => Tensor;

const bytes = 64 * 16 * 4;

type Loop = (x: Tensor, w: Tensor, n: Tensor) => Tensor;

/** A loop until the data says so. */
const loopOf = (turn: Turn) =>
  toStatic(
    ((x, w, n) => {
      let h = x;
      let i = 0;
      while (i < n.itemSync()) {
        h = turn(h, w);
        i++;
      }
      return h.sum();
    }) as Loop,
    { fullGraph: true },
  );

interface Measured {
  /** Bytes that forward leaves, and its peak, above those before. */
  readonly kept: number;
  readonly peak: number;
  /** During backward, bytes below those at its start whenever an iteration's gradient has been handed on. */
  readonly freed: readonly number[];
}

function measure(loop: StaticFunction<Loop>, turns: number): Measured {
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

/** How a figure grows from one number of iterations to the next, once there are iterations before and behind. */
const steps = (loop: StaticFunction<Loop>, figure: 'kept' | 'peak') =>
  [4, 5, 6, 9].map((turns) => measure(loop, turns)[figure] - measure(loop, turns - 1)[figure]);

describe('full-graph/tape', () => {
  it('backward frees what an iteration has saved when it has walked past the iteration', () => {
    const { freed } = measure(
      loopOf((h, w) => h.mul(w).tanh()),
      6,
    );
    expect(freed).toEqual([0, 1, 2, 3, 4].map((turns) => turns * bytes));
  });

  it.each<[string, Turn, number]>([
    ['its result, which the next iteration reads', (h, w) => h.mul(w).tanh(), 1],
    ['two values that backward reads', (h, w) => h.sin().mul(w).exp(), 2],
    ['nothing but shapes', (h) => h.sub(h.mean(0, { keepDim: true })), 0],
    ['nothing', (h, w) => h.add(w).mul(0.5), 0],
    [
      'nothing of a branch that is not taken',
      (h, w) => (w.sum().itemSync() > 1e9 ? h.exp() : h.add(w)),
      0,
    ],
  ])('an iteration keeps %s', (_, turn, values) => {
    const loop = loopOf(turn);
    const growth = [4, 5, 6, 9].map(() => values * bytes);
    expect(steps(loop, 'kept')).toEqual(growth);
    expect(steps(loop, 'peak')).toEqual(growth);
  });
});

/** Above the bytes before, where no gradient is recorded. */
function peakWithout(loop: StaticFunction<Loop>, turns: number): number {
  return tidy(() => {
    const given = [randn([64, 16]), randn([64, 16]), tensor(turns)] as const;
    const { allocated } = memory.stats('cpu');
    memory.reset('cpu');
    noGrad(() => loop(...given)).dispose();
    return memory.stats('cpu').peakAllocated - allocated;
  });
}

/** Loops of all forms, and how many values an iteration keeps for backward. */
const forms: [string, Loop, number][] = [
  [
    'for',
    (x, w, n) => {
      let h = x;
      for (let i = 0; i < n.itemSync(); i++) h = h.mul(w).tanh();
      return h.sum();
    },
    1,
  ],
  [
    'do',
    (x, w, n) => {
      let [h, i] = [x, 0];
      do h = h.mul(w).tanh();
      while (++i < n.itemSync());
      return h.sum();
    },
    1,
  ],
  [
    'a loop inside a loop',
    (x, w, n) => {
      let h = x;
      for (let i = 0; i < n.itemSync(); i++) {
        for (let k = 0; k < n.mul(0).add(3).itemSync(); k++) h = h.mul(w).tanh();
      }
      return h.sum();
    },
    3,
  ],
  [
    'break',
    (x, w, n) => {
      let [h, i] = [x, 0];
      while (h.sum().itemSync() < 1e9) {
        if (i >= n.itemSync()) break;
        h = h.mul(w).tanh();
        i++;
      }
      return h.sum();
    },
    1,
  ],
  [
    'continue',
    (x, w, n) => {
      let h = x;
      for (let i = 0; i < n.itemSync(); i++) {
        h = h.mul(w).tanh();
        if (h.sum().itemSync() < 1e9) continue;
        h = h.exp();
      }
      return h.sum();
    },
    1,
  ],
  [
    'a jump to a loop around',
    (x, w, n) => {
      let [h, i] = [x, 0];
      outer: while (true) {
        for (;;) {
          if (i++ >= n.itemSync()) break outer;
          h = h.mul(w).tanh();
          if (h.sum().itemSync() < 1e9) continue outer;
        }
      }
      return h.sum();
    },
    1,
  ],
  [
    'a number of iterations that the host knows',
    (x, w, n) => {
      let h = x;
      for (let i = 0; i < 100; i++) {
        keepLoop();
        if (i >= n.itemSync()) break;
        h = h.mul(w).tanh();
      }
      return h.sum();
    },
    1,
  ],
];

describe('full-graph/tape, of every form of loop', () => {
  it.each(forms)('%s: the same peak for any number of iterations, without gradients', (_, fn) => {
    const loop = toStatic(fn, { fullGraph: true });
    const [first, ...others] = [4, 5, 9, 17].map((turns) => peakWithout(loop, turns));
    expect(others).toEqual([first, first, first]);
  });

  it.each(forms)('%s: exactly what backward needs more with each iteration', (_, fn, values) => {
    const loop = toStatic(fn, { fullGraph: true });
    expect(steps(loop, 'kept')).toEqual(Array(4).fill(values * bytes));
    expect(steps(loop, 'peak')).toEqual(Array(4).fill(values * bytes));
  });

  it('a list: its elements, and what backward needs of them', () => {
    const loop = toStatic(
      ((x, w, n) => {
        const all = [x];
        let h = x;
        for (let i = 0; i < n.itemSync(); i++) {
          h = h.mul(w).tanh();
          all.push(h);
        }
        return stack(all).sum();
      }) as Loop,
      { fullGraph: true },
    );
    const [first, second] = [4, 8].map((turns) => peakWithout(loop, turns));
    // In the list, and in the tensor that is made of it.
    expect(second! - first!).toBe(4 * 2 * bytes);
    expect(steps(loop, 'kept')).toEqual(Array(4).fill(bytes));
  });

  it('with a budget for what backward needs: no more, and as exactly', () => {
    const [, fn, values] = forms[0]!;
    const loop = toStatic(fn, { fullGraph: true, memory: { budget: 16 * bytes } });
    expect(steps(loop, 'kept')).toEqual(Array(4).fill(values * bytes));
    expect(steps(loop, 'peak')).toEqual(Array(4).fill(values * bytes));
  });
});
