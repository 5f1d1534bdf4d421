/** Writes in place to pre-existing tensors, in branches and loops: as often as eagerly, seen by whom eagerly. */

import { describe, expect, it } from 'vitest';
import { nn, noGrad, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { sameAsEager } from './suite.ts';

const x = (...values: number[]) => tensor(values);
const both = [() => [x(0, 0), x(1, 2)], () => [x(5, 5), x(-1, -2)]];

describe('writes in a branch', () => {
  it('happen in their branch only', () => {
    sameAsEager((buffer: Tensor, y: Tensor) => {
      if (y.sum().itemSync() > 0) buffer.add_(y);
      return y.mul(2);
    }, both);
  });

  it('are seen behind the branch, and by views', () => {
    sameAsEager((buffer: Tensor, y: Tensor) => {
      const first = buffer.select(0, 0);
      if (y.sum().itemSync() > 0) buffer.copy_(y);
      else first.fill_(7);
      return [buffer.mul(2), first.add(1)];
    }, both);
  });

  it('through a view made outside are seen in the branch', () => {
    sameAsEager((buffer: Tensor, y: Tensor) => {
      const first = buffer.select(0, 0);
      let seen = y;
      if (y.sum().itemSync() > 0) {
        first.add_(3);
        seen = buffer.mul(10);
        buffer.zero_();
        seen = seen.add(first);
      }
      return seen;
    }, both);
  });

  it('on both branches, in branches inside one another', () => {
    sameAsEager(
      (buffer: Tensor, y: Tensor) => {
        const s = y.sum().itemSync();
        if (s > 0) {
          if (s > 2) buffer.mul_(2);
          else buffer.sub_(1);
          buffer.add_(y);
        } else buffer.fill_(-1);
        return buffer.sum();
      },
      [...both, () => [x(1, 1), x(0.5, 0.25)]],
    );
  });

  it('of what the branch may have handed through', () => {
    sameAsEager((buffer: Tensor, y: Tensor) => {
      let z = buffer;
      if (y.sum().itemSync() > 0) z = buffer.mul(2);
      z.add_(100);
      return [z.mul(1), buffer.mul(1)];
    }, both);
  });
});

describe('writes in a loop', () => {
  it('happen once per iteration', () => {
    const count = (buffer: Tensor, y: Tensor) => {
      let turns = 0;
      while (buffer.sum().itemSync() < 10 && turns < 5) {
        buffer.add_(y);
        turns++;
      }
      return turns;
    };
    sameAsEager(
      count,
      [...both, () => [x(20, 0), x(1, 1)], () => [x(9, 0), x(1, 1)], () => [x(0, 0), x(0.5, 0.5)]],
      {
        never: [['no iteration', 'buffer.sum()', 'the iteration itself asks whether there is one']],
      },
    );
  });

  it('to a row, and to what is carried', () => {
    sameAsEager(
      (buffer: Tensor, y: Tensor) => {
        let state = y;
        while (state.sum().itemSync() < 20) {
          buffer.select(0, 1).add_(state.sum());
          state = state.mul(2).abs();
          state.add_(1);
        }
        return [state, buffer.sum()];
      },
      [...both, () => [x(1, 2), x(15, 15)], () => [x(1, 2), x(5, 5)]],
    );
  });

  it('to the start of what is carried: it is the same tensor', () => {
    sameAsEager(
      (buffer: Tensor, y: Tensor) => {
        let state = buffer;
        let turns = 0;
        while (state.sum().itemSync() < 20) {
          state.add_(y.abs());
          if (turns > 1) state = state.mul(2);
          turns++;
        }
        return state.mul(1);
      },
      [...both, () => [x(20, 10), x(1, 1)], () => [x(10, 5), x(4, 4)]],
    );
  });

  it('of a loop in a loop, with break', () => {
    sameAsEager(
      (buffer: Tensor, y: Tensor) => {
        outer: while (buffer.sum().itemSync() < 30) {
          while (y.sum().itemSync() < 4) {
            y.add_(1);
            if (buffer.max().itemSync() > 8) break outer;
          }
          buffer.add_(y);
          y.sub_(2);
        }
        return buffer.sum();
      },
      [...both, () => [x(20, 20), x(1, 1)]],
      {
        never: [
          ['no iteration', 'buffer.sum()', 'the iteration itself asks whether there is one'],
          ['no iteration', 'y.sum()', 'the iteration itself asks whether there is one'],
        ],
      },
    );
  });

  it('to running statistics of a module', () => {
    const make = (scale: number) => () => {
      const norm = new nn.BatchNorm1d(2);
      const data = tensor(
        [1, 2, 3, 5].map((each) => each * scale),
        { shape: [2, 2] },
      );
      return [norm, data, Object.values(norm.stateDict())];
    };
    sameAsEager(
      (norm: nn.BatchNorm1d, data: Tensor) =>
        noGrad(() => {
          let h = data;
          let turns = 0;
          while (h.abs().sum().itemSync() > 0.5 && turns < 3) {
            h = norm.forward(h).mul(0.5);
            turns++;
          }
          return h;
        }),
      [make(1), make(0), make(10)],
      { never: [['no iteration', 'h.abs()', 'the iteration itself asks whether there is one']] },
    );
  });
});

describe('writes that eager execution refuses', () => {
  const refusal = (f: (w: Tensor, y: Tensor) => Tensor, given: readonly number[]) => {
    const [w, y] = [x(1, 2).requiresGrad_(), x(...given)];
    try {
      return tidy(() => [...f(w, y).dataSync(), ...w.dataSync()]);
    } catch (error) {
      const { name, message } = error as Error;
      return [name, message.split('\n')[0]!.replace(/of \w+:/, 'of an op:'), ...w.dataSync()];
    } finally {
      w.dispose();
      y.dispose();
    }
  };

  it.each<[string, (w: Tensor, y: Tensor) => Tensor]>([
    [
      'to a leaf where gradients are recorded',
      (w, y) => {
        if (y.sum().itemSync() > 0) w.add_(y);
        return y.mul(2);
      },
    ],
    [
      'to what a branch has saved for backward',
      (w, y) => {
        const h = w.mul(1);
        let z = h;
        if (y.sum().itemSync() > 0) z = h.square();
        noGrad(() => h.mul_(2));
        z.sum().backward();
        return y.mul(2);
      },
    ],
  ])('%s', (_, f) => {
    const graph = toStatic(f, { fullGraph: true });
    expect(refusal(graph, [1, 2])).toEqual(refusal(f, [1, 2]));
    expect(refusal(f, [1, 2])[0]).toBe('AutogradError');
  });
});

it('is made once where a decision behind it breaks the graph', () => {
  const fn = (x: Tensor, buffer: Tensor) => {
    let mode = 'even';
    try {
      if (x.sum().itemSync() > 0) throw new TypeError('odd');
    } catch (error) {
      mode = (error as Error).message;
    }
    buffer.add_(x);
    return [mode, x.mul(2)];
  };
  const graph = toStatic(fn, { capture: 'auto' });
  for (const value of [1, -1, 2]) {
    const written = [fn, graph].map((call) =>
      tidy(() => {
        const buffer = tensor([0.5, 1]);
        return [(call(tensor([value, 0.25]), buffer) as unknown[])[0], ...buffer.dataSync()];
      }),
    );
    expect(written[1]).toEqual(written[0]);
  }
});

it("through which gradients flow goes to the view that a decision chose, with capture: 'auto'", () => {
  const fn = (w: Tensor) => {
    const h = w.mul(1);
    const row = h.sum().itemSync() > 0 ? h.select(0, 0) : h.select(0, 1);
    row.mul_(3);
    const loss = h.square().sum();
    loss.backward();
    return [loss.detach(), row.detach()];
  };
  const graph = toStatic(fn, { capture: 'auto' });
  for (const value of [1, -1, 2]) {
    const [expected, actual] = [fn, graph].map((call) =>
      tidy(() => {
        const w = tensor(
          [
            [value, 2],
            [0.25, -1.5],
          ],
          { requiresGrad: true },
        );
        return [...call(w), w.grad!].map((each) => [...each.dataSync()]);
      }),
    );
    expect(actual).toEqual(expected);
  }
});
