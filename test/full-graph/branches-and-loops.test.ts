import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

describe('full graph', () => {
  it('if', () => {
    const f = (x: Tensor) => {
      let y = x.mul(2);
      if (x.mean().lt(5).itemSync()) y = y.add(1);
      else y = y.exp();
      return y.sum();
    };
    const g = toStatic(f, { fullGraph: true });
    for (const a of [
      [1, 2],
      [10, 20],
      [3, 4],
    ]) {
      const [x, z] = [tensor(a).requiresGrad_(), tensor(a).requiresGrad_()];
      const [r, e] = [g(x), f(z)];
      expect(r.itemSync()).toBe(e.itemSync());
      r.backward();
      e.backward();
      expect(x.grad!.dataSync()).toEqual(z.grad!.dataSync());
    }
    expect(g.stats()).toMatchObject({ graphs: 1 });
  });
  it('early return', () => {
    const f = (x: Tensor) => {
      if (x.sum().gt(0).itemSync()) return x.mul(3);
      const y = x.add(1);
      if (y.sum().gt(0).itemSync()) return y;
      return y.mul(x);
    };
    const g = toStatic(f, { fullGraph: true });
    for (const a of [
      [1, 2],
      [-1, -0.5],
      [-3, -4],
    ]) {
      expect(g(tensor(a)).dataSync()).toEqual(f(tensor(a)).dataSync());
    }
    expect(g.stats()).toMatchObject({ graphs: 1 });
  });
  it('while', () => {
    const f = (x: Tensor) => {
      let n = 0;
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        n++;
        if (n > 5) break;
      }
      return [y, n] as const;
    };
    const g = toStatic(f, { fullGraph: true });
    for (const a of [
      [1, 2],
      [0.1, 0.1],
      [200, 1],
    ]) {
      const [r, e] = [g(tensor(a)), f(tensor(a))];
      expect(r[0].dataSync()).toEqual(e[0].dataSync());
      expect(r[1]).toBe(e[1]);
    }
    expect(g.stats()).toMatchObject({ graphs: 1 });
  });
});
