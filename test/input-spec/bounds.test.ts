/** What a specification promises of sizes needs no guard: one trace for both ways of asking. */

import { describe, expect, it } from 'vitest';
import {
  ones,
  optionalSpec,
  type StaticFunction,
  type Tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
type Fn = (...args: any[]) => unknown;

/** What the trace relies on of sizes. */
function sizeGuards(fn: StaticFunction<Fn>): string[] {
  return fn.explain({ guards: true }).match(/.*(shape\[|\.size).*/g) ?? [];
}

function numberGuards(fn: StaticFunction<Fn>): number {
  const kinds = fn.programs().flatMap(({ trace }) => trace.guards.map(({ kind }) => kind));
  return kinds.filter((kind) => kind === 'number' || kind === 'value' || kind === 'truthy').length;
}

describe('bounds', () => {
  const fn = (x: Tensor) => {
    const [n = 0] = x.shape;
    let y = x.mul(2);
    if (n > 1) y = y.add(1);
    if (n >= 2 && n !== 0 && n <= 64) y = y.add(2);
    if (!n) return x;
    if (n * 2 + 1 < 5 || 100 - n < 36) return x.neg();
    return y.add(Math.max(n, 1) >= 2 ? 4 : 8);
  };

  it('answer what the function asks of a size, without a guard', () => {
    const f = toStatic(fn as Fn, {
      fullGraph: true,
      inputSpec: [tensorSpec([{ min: 2, max: 64 }, 3])],
    });
    for (const n of [2, 3, 64, 5]) {
      tidy(() => {
        const x = ones([n, 3]);
        expect([...(f(x) as Tensor).dataSync()]).toEqual([...(fn(x) as Tensor).dataSync()]);
      });
    }
    expect(f.stats()).toMatchObject({ translations: 1, graphs: 1, sizes: 4 });
    expect(numberGuards(f)).toBe(0);
    expect(sizeGuards(f)).toEqual([]);
  });

  it('leave open what they do not answer: a guard on the relation, and a trace for each side', () => {
    const f = toStatic(fn as Fn, { fullGraph: true, inputSpec: [tensorSpec([{ min: 0 }, 3])] });
    for (const n of [2, 3, 64, 65, 1, 0, 80]) {
      tidy(() => {
        const x = ones([n, 3]);
        expect([...(f(x) as Tensor).dataSync()]).toEqual([...(fn(x) as Tensor).dataSync()]);
      });
    }
    expect(f.stats().translations).toBeGreaterThan(1);
    expect(numberGuards(f)).toBeGreaterThan(0);
  });

  it('of one dimension are those of its name', () => {
    const both = (x: Tensor, y: Tensor) => (y.shape[0]! > 1 ? x.sum().add(y.sum()) : x.sum());
    const f = toStatic(both as Fn, {
      fullGraph: true,
      inputSpec: [tensorSpec([{ name: 'n', min: 2 }]), tensorSpec(['n'])],
    });
    tidy(() => {
      for (const n of [2, 9]) f(ones([n]), ones([n]));
    });
    expect(f.stats().translations).toBe(1);
    expect(numberGuards(f)).toBe(0);
  });
});

describe('equal sizes', () => {
  it('are one number: comparing them asks nothing, broadcasting and matmul neither', () => {
    const fn = (x: Tensor, y: Tensor, { z }: { z: Tensor }) => {
      if (x.shape[1] !== y.shape[0]) throw new RangeError('inner sizes');
      if (x.shape[0]! * 2 !== z.shape[0]! + x.shape[0]!) throw new RangeError('rows');
      const product = x.matmul(y);
      const scaled = product.mul(z.unsqueeze(1)).add(x.mean(1).unsqueeze(1));
      return scaled.reshape([z.shape[0]! * y.shape[1]!]).sum();
    };
    const f = toStatic(fn as Fn, {
      fullGraph: true,
      inputSpec: [tensorSpec(['n', 'k']), tensorSpec(['k', 'm']), { z: tensorSpec(['n']) }],
    });
    for (const [n, k, m] of [
      [2, 3, 4],
      [1, 1, 1],
      [5, 1, 2],
      [3, 3, 3],
      [7, 2, 1],
    ] as const) {
      tidy(() => {
        const args = [ones([n, k]).mul(3), ones([k, m]), { z: ones([n]) }] as const;
        expect((f(...args) as Tensor).itemSync()).toBe((fn(...args) as Tensor).itemSync());
      });
    }
    expect(f.stats()).toMatchObject({ translations: 1, graphs: 1, sizes: 5 });
    expect(f.programs()[0]!.trace.guards.filter(({ kind }) => kind === 'number')).toEqual([]);
  });

  it('of what may be missing are looked up where it is there', () => {
    const fn = (x: Tensor, mask?: Tensor) => (mask ? x.mul(mask.shape[0]!) : x.mul(x.shape[0]!));
    const f = toStatic(fn as Fn, {
      fullGraph: true,
      inputSpec: [tensorSpec(['n']), optionalSpec(tensorSpec(['n']))],
    });
    for (const [n, there] of [
      [3, true],
      [4, true],
      [2, false],
      [5, false],
      [6, true],
    ] as const) {
      tidy(() => {
        const args = there ? [ones([n]), ones([n])] : [ones([n])];
        expect([...(f(...args) as Tensor).dataSync()]).toEqual(new Array(n).fill(n));
      });
    }
    expect(f.stats().translations).toBe(2);
  });
});
