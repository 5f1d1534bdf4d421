/** Writes in place whose operands show the target's memory do what they do with copies of these operands. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { currentDevice } from '../../runtime/device/current.ts';
import { isOverwritten } from '../../runtime/ops/record/operand-sharing.ts';
import { type MemoryChoice, Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Write = (target: Tensor, ...operands: readonly Tensor[]) => Tensor;

const values = (count: number, salt = 0) =>
  Float32Array.from({ length: count }, (_, i) => (((i + salt) * 7919) % 1013) / 1000 + 0.25);

/** Methods that write in place and read `count` tensors: those whose result changes with them. */
function writesWith(count: number): readonly string[] {
  const outcome = (name: string, salt: number): string | null => {
    const target = tensor(values(4)).reshape(2, 2);
    const operands = Array.from({ length: count }, (_, i) =>
      tensor(values(4, salt + i)).reshape(2, 2),
    );
    try {
      (target as unknown as Record<string, Write>)[name]!(...([...operands] as [Tensor]));
      return [...target.dataSync()].join();
    } catch {
      return null;
    }
  };
  return Object.getOwnPropertyNames(Tensor.prototype).filter((name) => {
    if (
      !name.endsWith('_') ||
      /normal|exponential|cauchy|bernoulli|uniform|random|geometric/i.test(name)
    )
      return false;
    const one = outcome(name, 100);
    return one !== null && one !== outcome(name, 100 + 333);
  });
}

const methods: readonly (readonly [name: string, operands: number])[] = [
  ...writesWith(1).map((name) => [name, 1] as const),
  ...['addcmul_', 'addcdiv_', 'lerp_'].map((name) => [name, 2] as const),
];

/** A target and an operand of one square tensor; `overlaps`: elements are written before they would be read. */
interface Layout {
  readonly overlaps: boolean;
  readonly of: (base: Tensor, n: number) => readonly [target: Tensor, operand: Tensor];
}

const layouts: Readonly<Record<string, Layout>> = {
  transposed: { overlaps: true, of: (x) => [x, x.t()] },
  'a row of it': { overlaps: true, of: (x) => [x, x.select(0, 1)] },
  'a column of it': { overlaps: true, of: (x) => [x, x.narrow(1, 1, 1)] },
  'a number of it': { overlaps: true, of: (x) => [x, x.select(0, 0).select(0, 0)] },
  'the rows before': {
    overlaps: true,
    of: (x, n) => [x.narrow(0, 1, n - 1), x.narrow(0, 0, n - 1)],
  },
  'the rows after': {
    overlaps: true,
    of: (x, n) => [x.narrow(0, 0, n - 1), x.narrow(0, 1, n - 1)],
  },
  'the columns before': {
    overlaps: true,
    of: (x, n) => [x.narrow(1, 1, n - 1), x.narrow(1, 0, n - 1)],
  },
  'other rows': { overlaps: false, of: (x) => [x.select(0, 0), x.select(0, 1)] },
  'a row and a column that meet': { overlaps: true, of: (x) => [x.select(0, 1), x.select(1, 1)] },
  'the same rows': { overlaps: false, of: (x) => [x.narrow(0, 0, 2), x.narrow(0, 0, 2)] },
};

/** What an op whose gradient needs the old target says of it, too. */
function outcome(fn: (x: Tensor) => Tensor, n: number, needsGrad: boolean): string {
  return tidy(() => {
    const x = tensor(values(n * n))
      .reshape(n, n)
      .requiresGrad_(needsGrad);
    try {
      const result = fn(x);
      if (needsGrad) result.sum().backward();
      return JSON.stringify([...result.dataSync(), ...(x.grad?.dataSync() ?? [])]);
    } catch (error) {
      return (error as Error).message.split('\n')[0]!;
    } finally {
      x.grad?.dispose();
      x.dispose();
    }
  });
}

/** `copied`: the operands are copies, so that none shares the target's memory. */
function program(name: string, operands: number, { of }: Layout, n: number, copied: boolean) {
  return (x: Tensor): Tensor => {
    const base = x.mul(1.5);
    const [target, operand] = of(base, n);
    const given = copied ? operand.clone() : operand;
    const write = (target as unknown as Record<string, Write>)[name]!;
    if (operands === 1) write.call(target, given);
    else write.call(target, given, given);
    return base.mul(base);
  };
}

/** The others go into programs in the same way. */
const often = new Set(['add_', 'copy_']);

const memories: readonly MemoryChoice[] = ['planned', { prefer: 'bytes' }];

describe('ops/overlapping operands', () => {
  it('finds the methods that write in place', () => {
    const names = methods.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['add_', 'mul_', 'copy_', 'maximum_', 'pow_']));
    expect(names.length).toBeGreaterThan(20);
  });

  it.each(methods)('%s: as with copies, eagerly and captured', (name, operands) => {
    const different: string[] = [];
    for (const [title, layout] of Object.entries(layouts)) {
      for (const n of [3, 40]) {
        for (const needsGrad of [false, true]) {
          const expected = outcome(program(name, operands, layout, n, true), n, needsGrad);
          const fn = program(name, operands, layout, n, false);
          const check = (way: string, run: (x: Tensor) => Tensor) => {
            const found = outcome(run, n, needsGrad);
            // Of several ops; their gradients read operands that the last one has written, and say so.
            if (found === expected || /^backward of|^toStatic: a part would/.test(found)) return;
            different.push(`${way}, ${title}, ${n}, ${needsGrad}`);
          };
          check('eagerly', fn);
          const isCaptured = often.has(name) || (n === 3 && title === 'transposed');
          if (!isCaptured) continue;
          for (const memory of n === 3 ? memories.slice(0, 1) : memories) {
            const captured = toStatic(fn, { memory, fullGraph: true });
            check(JSON.stringify(memory), captured);
            check(`${JSON.stringify(memory)} again`, captured);
          }
        }
      }
    }
    expect(different).toEqual([]);
  });

  it('only where an element would be read too late is there a copy', () => {
    for (const [title, layout] of Object.entries(layouts)) {
      const captured = toStatic(program('add_', 1, layout, 4, false), { fullGraph: true });
      const x = tensor(values(16)).reshape(4, 4);
      captured(x).dispose();
      const { ops } = captured.programs()[0]!.stages!.traced;
      const copies = ops.filter(({ op }) => op.name === 'contiguous').length;
      expect([title, copies]).toEqual([title, layout.overlaps ? 1 : 0]);
      x.dispose();
    }
  });

  it('offsets that change from call to call, and sizes', () => {
    const shifted = (x: Tensor, from: number, to: number) => {
      const base = x.mul(2);
      const rows = base.shape[0]! - 3;
      base.narrow(0, to, rows).add_(base.narrow(0, from, rows));
      return base;
    };
    const apart = (x: Tensor, from: number, to: number) => {
      const base = x.mul(2);
      const rows = base.shape[0]! - 3;
      base.narrow(0, to, rows).add_(base.narrow(0, from, rows).clone());
      return base;
    };
    const captured = toStatic(shifted, { dynamic: true });
    for (const rows of [4, 9, 5, 30]) {
      for (let from = 0; from < 4; from++) {
        for (let to = 0; to < 4; to++) {
          const x = tensor(values(rows * 5)).reshape(rows, 5);
          const results = [apart, captured].map((run) => [...run(x, from, to).dataSync()]);
          expect([rows, from, to, results[1]]).toEqual([rows, from, to, results[0]]);
        }
      }
    }
  });

  it('an operand that comes from outside of a branch, a loop or the function', () => {
    const inside = (operand: (x: Tensor) => Tensor) => ({
      branch: (x: Tensor) => {
        const y = operand(x);
        if (x.sum().itemSync() > 0) x.add_(y);
        return x.mul(2);
      },
      loop: (x: Tensor) => {
        const y = operand(x);
        for (let i = 0; i < 3 && x.sum().itemSync() > 0; i++) x.add_(y);
        return x.mul(2);
      },
      chosen: (x: Tensor) => {
        const y = operand(x);
        let target = x.mul(2);
        if (x.sum().itemSync() > 0) {
          if (x.sum().itemSync() < 2) target = x.t();
          else target = x.narrow(0, 0, x.shape[0]!);
          target.add_(y);
        }
        return target.mul(2);
      },
      carried: (x: Tensor) => {
        let y = operand(x);
        for (let i = 0; x.sum().itemSync() < 1e4; i++) {
          x.add_(y);
          y = operand(i % 2 ? x : x.mul(1));
        }
        return x.mul(2);
      },
    });
    type Operand = (x: Tensor) => Tensor;
    // A copy would be one of another time: `t()` and its kin are read when they are used.
    const late: Readonly<Record<string, readonly [Operand, Operand]>> = {
      transposed: [(x) => x.t(), (x) => x.t()],
      row: [(x) => x.select(0, 1), (x) => x.select(0, 1)],
    };
    for (const [title, [operand]] of Object.entries(late)) {
      for (const [flow, fn] of Object.entries(inside(operand))) {
        const results = [fn, toStatic(fn), toStatic(fn, { fullGraph: true })].map((run) => {
          const x = tensor(values(36)).reshape(6, 6);
          return [[...run(x).dataSync()], [...x.dataSync()]];
        });
        expect([title, flow, results[1]]).toEqual([title, flow, results[0]]);
        expect([title, flow, results[2]]).toEqual([title, flow, results[0]]);
      }
    }
  });

  it('two arguments over one memory', () => {
    const fn = (target: Tensor, operand: Tensor) => target.add_(operand).mul(2);
    for (const [title, { of }] of Object.entries(layouts)) {
      const captured = toStatic(fn);
      for (const n of [3, 40]) {
        const [expected, eager, ...rest] = ['copied', 'eager', 'captured', 'again'].map((way) => {
          const base = tensor(values(n * n)).reshape(n, n);
          const [target, operand] = of(base, n);
          const run = way === 'copied' || way === 'eager' ? fn : captured;
          const result = run(target, way === 'copied' ? operand.clone() : operand);
          return [[...result.dataSync()], [...base.dataSync()]];
        });
        for (const found of [eager, ...rest])
          expect([title, n, found]).toEqual([title, n, expected]);
      }
      expect(captured.stats().fallbacks).toEqual([]);
    }
  });

  it('elements in common are found by their places', () => {
    const view = (rank: number) =>
      fc.record({
        shape: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: rank, maxLength: rank }),
        strides: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: rank, maxLength: rank }),
        offset: fc.integer({ min: 0, max: 12 }),
      });
    const both = fc.integer({ min: 0, max: 3 }).chain((rank) => fc.tuple(view(rank), view(rank)));
    let overlapping = 0;
    let apart = 0;
    fc.assert(
      fc.property(both, ([a, b]) => {
        const [target, operand] = [a, b].map((each) => ({
          ...each,
          dtype: 'float32' as const,
          device: currentDevice(),
        }));
        const [places, others] = [target!, operand!].map(placesOf);
        const isSame =
          a.offset === b.offset &&
          a.shape.every((size, d) => size === b.shape[d] || b.shape[d] === 1) &&
          a.shape.every(
            (size, d) => size === 1 || (b.shape[d] === 1 ? 0 : b.strides[d]) === a.strides[d],
          );
        const expected = !isSame && places!.some((place) => others!.includes(place));
        if (expected) overlapping++;
        else apart++;
        const fits = a.shape.every((size, d) => b.shape[d] === size || b.shape[d] === 1);
        if (fits) expect(isOverwritten(target!, operand!)).toBe(expected);
      }),
      { numRuns: 3000 },
    );
    expect(overlapping).toBeGreaterThan(200);
    expect(apart).toBeGreaterThan(200);
  });
});

function placesOf({ shape, strides, offset }: Pick<Tensor, 'shape' | 'strides' | 'offset'>) {
  let places = [offset];
  shape.forEach((size, d) => {
    const steps = Array.from({ length: size }, (_, i) => i * strides[d]!);
    places = places.flatMap((place) => steps.map((step) => place + step));
  });
  return places;
}
