import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { condOp, whileOp } from '../../runtime/program/control-ops.ts';
import { memory, type Tensor, tensor, tidy } from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';
import { compile } from './build.ts';

const bytes = () => memory.stats('cpu').allocated;
const values = (x: Tensor | null) => (x ? [...x.dataSync()] : []);

describe('cond', () => {
  let before = 0;
  beforeEach(() => {
    before = bytes();
  });
  afterEach(() => {
    expect(bytes()).toBe(before);
  });

  it('runs the branch that the condition says, with its gradient', () => {
    for (const start of [2, -2]) {
      tidy(() => {
        const [x, w] = [tensor([start, 3]).requiresGrad_(), tensor([5, 7]).requiresGrad_()];
        const { subgraph } = compile([x, w], ({ control }, x, w) => {
          const test = x!.sum().gt(1.5);
          const y = x!.mul(w!);
          return control(condOp, [test], [], [() => [y.exp()], () => [y.mul(3).add(x!)]]);
        });
        const eager = start > 0 ? x.mul(w).exp() : x.mul(w).mul(3).add(x);
        eager.sum().backward();
        const expected = [values(eager), values(x.grad), values(w.grad)];
        for (const t of [x, w]) {
          t.grad!.dispose();
          t.grad = null;
        }
        const [result] = subgraph.run([x, w]);
        result!.sum().backward();
        expect([values(result!), values(x.grad), values(w.grad)]).toEqual(expected);
        for (const t of [x, w]) t.grad!.dispose();
        result!.dispose();
      });
    }
  });
});

describe('while', () => {
  let before = 0;
  beforeEach(() => {
    before = bytes();
  });
  afterEach(() => {
    expect(bytes()).toBe(before);
  });

  it.each([0, 1, 5])(
    'repeats its body %i times, with gradients through every iteration',
    (turns) => {
      tidy(() => {
        const [x, w] = [tensor([0.5, 0.25]).requiresGrad_(), tensor([1.5, 0.7]).requiresGrad_()];
        const n = tensor([turns]);
        const { subgraph } = compile([x, w, n], ({ control }, x, w, n) => {
          const i = n!.mul(0);
          const [, end] = control(
            whileOp,
            [],
            [i, x!],
            [(i) => [i!.lt(n!)], (i, h) => [i!.add(1), h!.mul(w!).tanh()]],
          );
          return [end!];
        });
        let h: Tensor = x;
        for (let i = 0; i < turns; i++) h = h.mul(w).tanh();
        h.sum().backward();
        const expected = [values(h), values(x.grad), values(w.grad)];
        for (const t of [x, w]) {
          t.grad?.dispose();
          t.grad = null;
        }
        const [result] = subgraph.run([x, w, n]);
        result!.sum().backward();
        const found = [values(result!), values(x.grad), values(w.grad)];
        expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
        for (const [i, each] of found.entries()) {
          for (const [k, value] of each.entries()) expect(value).toBeCloseTo(expected[i]![k]!, 6);
        }
        for (const t of [x, w]) t.grad?.dispose();
        result!.dispose();
      });
    },
  );

  it('takes memory that grows with the iterations only by what backward reads', () => {
    const peaks = [10, 20, 40].map((turns) =>
      [false, true].map((recorded) =>
        tidy(() => {
          const x = tensor(Array.from({ length: 64 }, (_, i) => i / 64));
          if (recorded) x.requiresGrad_();
          const n = tensor([turns]);
          const { subgraph } = compile([x, n], ({ control }, x, n) => {
            const [, end] = control(
              whileOp,
              [],
              [n!.mul(0), x!],
              [(i) => [i!.lt(n!)], (i, h) => [i!.add(1), h!.mul(2).tanh()]],
            );
            return [end!];
          });
          const { result, peak } = measure(() => subgraph.run([x, n]));
          for (const each of result) each.dispose();
          return peak;
        }),
      ),
    );
    expect(peaks[1]![0]).toBe(peaks[0]![0]);
    expect(peaks[2]![0]).toBe(peaks[0]![0]);
    // tanh saves its result: 64 floats an iteration.
    expect(peaks[1]![1]! - peaks[0]![1]!).toBe(10 * 256);
    expect(peaks[2]![1]! - peaks[1]![1]!).toBe(20 * 256);
  });

  it('holds branches in its body', () => {
    tidy(() => {
      const [x, w] = [tensor([0.5, 0.25]).requiresGrad_(), tensor([1.5, 0.7]).requiresGrad_()];
      const { subgraph } = compile([x, w], ({ control }, x, w) => {
        const [, end] = control(
          whileOp,
          [],
          [x!.detach().sum().mul(0), x!],
          [
            (i) => [i!.lt(4)],
            (i, h) => {
              const [next] = control(
                condOp,
                [h!.sum().gt(1)],
                [],
                [() => [h!.mul(w!)], () => [h!.add(w!).exp()]],
              );
              return [i!.add(1), next!];
            },
          ],
        );
        return [end!];
      });
      let h: Tensor = x;
      for (let i = 0; i < 4; i++) h = h.sum().itemSync() > 1 ? h.mul(w) : h.add(w).exp();
      h.sum().backward();
      const expected = [values(h), values(x.grad), values(w.grad)];
      for (const t of [x, w]) {
        t.grad!.dispose();
        t.grad = null;
      }
      const [result] = subgraph.run([x, w]);
      result!.sum().backward(undefined, { retainGraph: true });
      result!.sum().backward();
      expect(values(result!)).toEqual(expected[0]);
      for (const [i, t] of [x, w].entries()) {
        for (const [k, g] of values(t.grad).entries()) {
          expect(g / expected[i + 1]![k]!).toBeCloseTo(2, 5);
        }
        t.grad!.dispose();
      }
      result!.dispose();
    });
  });

  it('leaves nothing behind when its body fails', () => {
    tidy(() => {
      const x = tensor([1, 2, 3]).requiresGrad_();
      const table = tensor([10, 20]);
      const { subgraph } = compile([x, table], ({ control }, x, table) => {
        const [, end] = control(
          whileOp,
          [],
          [x!.detach().sum().mul(0).to('int32'), x!],
          [
            (i) => [i!.lt(5)],
            (i, h) => [i!.add(1), h!.mul(table!.indexSelect(0, i!.reshape([1])))],
          ],
        );
        return [end!];
      });
      const start = bytes();
      expect(() => subgraph.run([x, table])).toThrow(/index/i);
      expect(bytes()).toBe(start);
    });
  });
});
