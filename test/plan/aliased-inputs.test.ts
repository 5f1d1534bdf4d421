/** Passes and orders take inputs for memory of their own; calls in which one is written that another shows run as traced. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  load,
  type MemoryChoice,
  noGrad,
  save,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { data } from '../run-program/memory-counter.ts';

/** `late` can be made after `wide` is gone, if the write to `target` is none to `source`. */
function body(target: Tensor, source: Tensor, x: Tensor): Tensor {
  return noGrad(() => {
    const late = source.mul(2);
    target.fill_(7);
    const wide = x.exp().matmul(x).tanh();
    const narrow = wide.sum(0);
    return late.add(narrow);
  });
}

type Body = (x: Tensor, y: Tensor, w: Tensor) => Tensor | readonly Tensor[];

/** By what a pass would do to them, were `x` and `y` memory of their own. */
const bodies: Readonly<Record<string, Body>> = {
  'the same expression before and after a write': (x, y) => {
    const before = x.exp();
    y.mul_(0.5);
    return before.sub(x.exp());
  },
  'the same reduction before and after a write': (x, y) => {
    const before = x.sum(0);
    y.mul_(0.5);
    return before.sub(x.sum(0));
  },
  'a chain that ends behind a write': (x, y) => {
    const before = x.mul(2);
    y.fill_(3);
    return before.add(1).tanh();
  },
  'a chain with a write inside': (x, y) => {
    const t = x.mul(2);
    y.add_(t);
    return t.add(t);
  },
  'a copy that nothing writes': (x, y) => {
    const copy = x.clone();
    y.copy_(x.neg());
    return copy.mul(1);
  },
  'a neutral op': (x, y) => {
    const same = x.add(0).mul(1);
    y.mul_(x);
    return same;
  },
  'a value that is cheap to make again': (x, y, w) => {
    const cheap = x.mul(w);
    y.add_(cheap.detach());
    const other = y.exp();
    return [other.sum(0), cheap.add(cheap)];
  },
  'reads of both': (x, y) => {
    y.add_(x);
    x.mul_(2);
    y.sub_(x);
    return x.add(y);
  },
  'a branch on what was written': (x, y) => {
    const before = x.mul(2);
    y.neg_();
    return x.sum().itemSync() > 0 ? before.add(x) : before.sub(x);
  },
  'a write in a branch, before numbers that it leaves': (x, y, w) => {
    let [scaled, by] = [w, 3];
    if (w.sum().itemSync() < 100) {
      y.add_(x);
      scaled = w.mul(2);
      by = 0.5;
    } else {
      x.sub_(y);
    }
    return x.mul(scaled).mul(by);
  },
  'writes in the iterations of a loop, each before values that are carried': (x, y, w) => {
    let [sum, times] = [w.mul(2), 0];
    while (sum.abs().max().itemSync() < 1e4 && times < 3) {
      y.mul_(x);
      sum = sum.mul(x).add(times);
      times++;
    }
    return sum.add(times);
  },
};

const memories: readonly MemoryChoice[] = [
  'planned',
  { prefer: 'bytes' },
  { budget: 0 },
  'cleaned',
  'beforeUnusedValues',
];

/** `x` and `y` over one base: the same elements, shifted ones, transposed ones, or of their own. */
const layouts: Readonly<Record<string, (base: Tensor, rows: number) => readonly [Tensor, Tensor]>> =
  {
    same: (base, rows) => {
      const x = base.narrow(0, 0, rows * 3).reshape([rows, 3]);
      return [x, x.detach()];
    },
    shifted: (base, rows) => [
      base.narrow(0, 0, rows * 3).reshape([rows, 3]),
      base.narrow(0, 2, rows * 3).reshape([rows, 3]),
    ],
    columns: (base, rows) => {
      const wide = base.narrow(0, 0, rows * 6).reshape([rows, 6]);
      return [wide.narrow(1, 0, 3), wide.narrow(1, 1, 3)];
    },
    apart: (base, rows) => {
      const x = base.narrow(0, 0, rows * 3).reshape([rows, 3]);
      return [x, x.clone()];
    },
  };

const bits = (each: Tensor): string => {
  const { buffer, byteOffset, byteLength } = each.dataSync();
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
};

/** The bits of the results, of the memory under the inputs and of the gradient. */
function outcome(fn: Body, layout: string, rows: number, needsGrad: boolean): string {
  const base = arange(rows * 6 + 9)
    .to('float32')
    .mul(0.01);
  const [x, y] = layouts[layout]!(base, rows);
  const w = data([rows, 3], { salt: 3 }).requiresGrad_(needsGrad);
  const run = () => [fn(x, y, w)].flat() as Tensor[];
  try {
    const results = run();
    if (needsGrad) results.at(-1)!.sum().backward();
    return [...results, base, ...(w.grad ? [w.grad] : [])].map(bits).join();
  } catch (error) {
    return [(error as Error).constructor.name, bits(base)].join();
  }
}

describe('plan/aliased inputs', () => {
  it('two inputs of one memory are read and written in the order of the source', () => {
    const fn = toStatic(body);
    const x = data([16, 16], { salt: 2 });
    for (let call = 0; call < 4; call++) {
      const results = [fn, body].map((run) => {
        const [base, other] = [data([8, 16]), data([8, 16], { salt: 1 })];
        const source = call % 2 ? base.detach() : other.detach();
        const result = run(base, source, x);
        const values = [...result.dataSync(), ...base.dataSync(), ...other.dataSync()];
        for (const each of [base, other, source, result]) each.dispose();
        return values;
      });
      expect(results[0]).toEqual(results[1]);
    }
    expect(fn.programs()[0]!.stages!.planned.forward.reordered).toBe(true);
    expect(fn.stats().fallbacks).toEqual([]);
    x.dispose();
  });

  describe.each([3, 700])('%i rows', (rows) => {
    it.each(Object.keys(bodies))('%s: as eagerly in every layout', (name) => {
      const fn = bodies[name]!;
      const different: string[] = [];
      const all = Object.keys(layouts).flatMap((layout) =>
        [false, true].map((needsGrad) => ({ layout, needsGrad })),
      );
      const eager = all.map((given) => {
        return { ...given, expected: outcome(fn, given.layout, rows, given.needsGrad) };
      });
      for (const memory of memories) {
        for (const fullGraph of [false, true]) {
          for (const needsGrad of [false, true]) {
            const captured = toStatic(fn, { memory, fullGraph });
            for (const { layout, expected } of eager.filter(
              (each) => each.needsGrad === needsGrad,
            )) {
              if (outcome(captured, layout, rows, needsGrad) === expected) continue;
              different.push(`${JSON.stringify(memory)} ${layout} ${needsGrad} ${fullGraph}`);
            }
          }
        }
      }
      expect(different).toEqual([]);
    });
  });

  it('a loaded program takes none that were not so when it was saved', async () => {
    const fn = (x: Tensor, y: Tensor) => {
      const before = x.exp();
      y.mul_(0.5);
      return before.sub(x.exp());
    };
    const captured = toStatic(fn);
    const [x, y] = [data([4, 3]), data([4, 3], { salt: 1 })];
    captured(x, y);
    const apart = (await load(await save(captured))) as typeof fn;
    expect([...apart(x, y).dataSync()]).toEqual([...fn(x, y).dataSync()]);
    expect(() => apart(x, x.detach())).toThrow(/another tensor of its memory/);
    captured(x, x.detach());
    const together = (await load(await save(captured))) as typeof fn;
    const [one, other] = [data([4, 3]), data([4, 3])];
    const expected = [...fn(one, one.detach()).dataSync()];
    expect([...together(other, other.detach()).dataSync()]).toEqual(expected);
    expect([...other.dataSync()]).toEqual([...one.dataSync()]);
  });
});
