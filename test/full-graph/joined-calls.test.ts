/** Calls on shapes that only the run knows, where they follow one another. */

import { describe, expect, it } from 'vitest';
import { grad, stack, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { callsOf, type Given, lengths, type Net, neverEmpty, states } from './run-shapes.ts';
import { sameAsEager } from './suite.ts';

describe('calls that follow one another', () => {
  it('are one program: nothing that only they read leaves it, and views stay views', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      const turned = all.t().mul(2).t();
      return turned.mul(v.select(0, 0)).add(1).square().sum(0);
    };
    const { graph } = sameAsEager(f, lengths(2, 5, 1), { never: [neverEmpty] });
    expect(callsOf(graph)).toEqual(['stack, t, mul, t, mul, add, square, sum']);
    const [call] = graph
      .programs()[0]!
      .stages!.planned.forward.steps.flatMap(({ call }) => call ?? []);
    const { steps } = call!.at([null, 3]).forward;
    expect(steps.filter(({ op }) => op.op.name === 'contiguous')).toEqual([]);
    expect(steps.flatMap(({ op }) => op.parts?.map((part) => part.op.name) ?? [])).toEqual([
      ...['mul', 'addScalar', 'powScalar'],
    ]);
  });

  it('with what others read of them, gradients inside and outside in eager order', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      const scaled = all.mul(v.select(0, 2)).mul(v.select(0, 2));
      const [first, second] = [scaled.sum(0), scaled.mul(all).mean(0)];
      return [first.mul(second).add(v.select(0, 2)), scaled.mul(3), second.mul(v.select(0, 1))];
    };
    const { graph } = sameAsEager(f, lengths(3, 5, 1, 6), { never: [neverEmpty] });
    expect(callsOf(graph)).toEqual(['stack, mul, mul, sum, mul, mean', 'mul']);
  });

  it('and are undone by one op where the program goes backward itself', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      const weights = all.mul(v.select(0, 1)).softmax(0);
      const loss = weights.mul(all).mul(all).mul(v.select(0, 1)).mean();
      loss.mul(v.select(0, 1).sum()).backward();
      return loss.detach();
    };
    const { graph } = sameAsEager(f, lengths(3, 1, 5), { never: [neverEmpty] });
    expect(callsOf(graph).map((name) => name.split(', ').length)).toEqual([7, 7]);
  });

  it('stay apart where somebody looks at a gradient between them', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      const mean = all.mul(v.select(0, 1)).mean(0);
      const rows = all.mul(mean).sum(0).mul(2);
      const [gradient] = grad([rows.sum()], [mean]);
      return gradient!.mul(2);
    };
    const { graph } = sameAsEager(f, lengths(3, 1, 5), { never: [neverEmpty] });
    expect(callsOf(graph).length).toBeGreaterThan(2);
    const results: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n)).mul(v.select(0, 1));
      return { all, sum: all.square().sum(0), rest: all.detach().mul(2).mean() };
    };
    expect(callsOf(sameAsEager(results, lengths(3, 1), { never: [neverEmpty] }).graph)).toEqual([
      'stack, mul',
      'square, sum, detach, mul, mean',
    ]);
    const static_ = toStatic(results, { fullGraph: true }) as (...given: Given) => {
      all: Tensor;
      sum: Tensor;
    };
    const gradients = [results as typeof static_, static_].map((fn) =>
      tidy(() => {
        const { all, sum } = fn(...lengths(3)[0]!());
        all.retainGrad();
        sum.sum().backward();
        return [...all.grad!.dataSync()];
      }),
    );
    expect(gradients[1]).toEqual(gradients[0]);
  });

  it('refuse shapes as one of them does', () => {
    const f: Net = (x, wx, wh, n, v) => {
      const all = stack(states(x, wx, wh, n));
      return all
        .mul(2)
        .t()
        .matmul(x.narrow(0, 0, 5))
        .add(v.sum())
        .sum();
    };
    const { graph } = sameAsEager(f, lengths(5), {
      never: [neverEmpty, ['one iteration', 't < length', 'matmul() takes five rows']],
    });
    expect(callsOf(graph)).toEqual(['stack, mul, t, matmul']);
    expect(() => tidy(() => graph(...lengths(2)[0]!()))).toThrow(/inner dimensions/);
    tidy(() => graph(...lengths(5)[0]!()));
    expect(graph.stats()).toMatchObject({ translations: 1 });
  });
});
