/** Programs with redundant work: the passes that remove it act, keep every bit, and never raise the peak. */

import { describe, expect, it } from 'vitest';
import { opTable } from '../../runtime/ops/op-table.ts';
import { passNames } from '../../src/5-optimize/passes.ts';
import { type DType, full, noGrad, relu, Tensor, tensor, toStatic } from '../../src/index.ts';
import type { StaticFunction } from '../../src/to-static.ts';

const special = [0, -0, 1, -1, 0.5, -2.5, 1e-30, Infinity, -Infinity, Number.NaN, 3e38, -1e-40];

/** A generator of numbers from 0 to 1: that of Steele and others, "Fast splittable generators" (2014). */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

type Op = (all: readonly Tensor[], pick: () => number) => Tensor;

const at = (all: readonly Tensor[], pick: () => number): Tensor =>
  all[Math.floor(pick() * all.length)]!;

/** Each takes and gives tensors of shape [n, n]. */
const ops: readonly Op[] = [
  (all, pick) => at(all, pick).mul(1),
  (all, pick) => at(all, pick).div(1),
  (all, pick) => at(all, pick).sub(0),
  (all, pick) => at(all, pick).add(0),
  (all, pick) => at(all, pick).neg(),
  (all, pick) => at(all, pick).neg().neg(),
  (all, pick) => relu(relu(at(all, pick))),
  (all, pick) => relu(at(all, pick)),
  (all, pick) => at(all, pick).abs().abs(),
  (all, pick) => at(all, pick).floor().ceil(),
  (all, pick) => at(all, pick).t(),
  (all, pick) => at(all, pick).t().t(),
  (all, pick) => {
    const x = at(all, pick);
    return x.reshape([x.numel()]).reshape([...x.shape]);
  },
  (all, pick) => at(all, pick).to('float64').to('float32'),
  (all, pick) => at(all, pick).clone(),
  (all, pick) => at(all, pick).tanh(),
  (all, pick) => at(all, pick).exp(),
  (all, pick) => at(all, pick).add(at(all, pick)),
  (all, pick) => at(all, pick).mul(at(all, pick)),
  (all, pick) => {
    const x = at(all, pick);
    return x.add(
      full([...x.shape], 2)
        .mul(3)
        .add(full([...x.shape], 0.1)),
    );
  },
];

/** The same function for a seed each time it runs; it writes to some of its tensors. */
function program(seed: number, length: number, writes: boolean) {
  return (x: Tensor, y: Tensor): Tensor[] => {
    const pick = random(seed);
    const all = [x, y];
    for (let i = 0; i < length; i++) {
      if (writes && pick() < 0.2) noGrad(() => at(all, pick).mul_(0.5));
      all.push(ops[Math.floor(pick() * ops.length)]!(all, pick));
    }
    if (writes) noGrad(() => x.add_(1));
    return [all[all.length - 1]!, all[all.length - 2]!.sum()];
  };
}

function inputs(n: number, pick: () => number, grad: boolean): [Tensor, Tensor] {
  const make = (strided: boolean) => {
    const values = Array.from({ length: n * n }, () => {
      return pick() < 0.2 ? special[Math.floor(pick() * special.length)]! : pick() * 4 - 2;
    });
    const made = tensor(Float32Array.from(values)).reshape([n, n]);
    return strided ? made.t() : made;
  };
  const [x, y] = [make(pick() < 0.3), make(pick() < 0.3)];
  return grad ? [x, y.clone().requiresGrad_()] : [x, y];
}

const bits = (t: Tensor | null): number[] | null =>
  t && Array.from(new Uint32Array(Float32Array.from(t.dataSync()).buffer), canonical);

/** All NaNs are alike. */
function canonical(word: number): number {
  return (word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word;
}

describe('redundant work', () => {
  const seed = Number(process.env.REDUNDANT_SEED ?? 1);
  const runs = Number(process.env.REDUNDANT_RUNS ?? 60);

  it(`is removed from ${runs} random programs, which keep their bits and their peaks (REDUNDANT_SEED=${seed})`, {
    timeout: 600_000,
  }, () => {
    const applied = new Map<string, number>();
    let smaller = 0;
    for (let i = 0; i < runs; i++) {
      const pick = random(seed + i);
      const n = [1, 2, 5, 16, 33][Math.floor(pick() * 5)]!;
      const [grad, writes] = [pick() < 0.6, pick() < 0.3];
      const make = program(seed + i, 4 + Math.floor(pick() * 12), writes && !grad);
      // Which ops fusion joins may turn on one op more or less, and the peak with it.
      const fuses = i % 2 === 1;
      const passes = { fusePointwise: fuses, fuseRows: fuses, fuseUpdates: fuses };
      const results = [null, { simplify: true }, { simplify: false }].map((memory) => {
        const given = inputs(n, random(seed + i + 7), grad);
        const f = memory ? toStatic(make, { memory, passes, check: 1, strict: true }) : make;
        const [out, sum] = f(...given);
        if (grad && sum!.requiresGrad) sum!.backward();
        const parts = 'programs' in f ? (f as StaticFunction<typeof make>).programs() : [];
        const seen = [out!, sum!, ...given, given[1].grad].map(bits);
        return { seen, parts };
      });
      const [eager, simplified, plain] = results;
      const text = `program ${seed + i}`;
      expect(simplified!.seen, text).toEqual(eager!.seen);
      expect(plain!.seen, text).toEqual(eager!.seen);
      const counted = simplified!.parts[0]!.stages!.passes;
      for (const [name, counts] of Object.entries(counted)) {
        if (counts.applied > 0) applied.set(name, (applied.get(name) ?? 0) + 1);
      }
      const [after, before] = [simplified!, plain!].map(({ parts }) => parts[0]!.stages!.planned);
      const peaks = [after!, before!].map(({ forward, backward }) => {
        const { peakBytes, savedBytes, outputBytes } = forward.predicted;
        const late = backward?.plan.predicted.peakBytes ?? 0;
        return { peakBytes, late: savedBytes + outputBytes + late };
      });
      if (fuses) continue;
      expect(peaks[0]!.peakBytes, `${text}: peak`).toBeLessThanOrEqual(peaks[1]!.peakBytes);
      expect(peaks[0]!.late, `${text}: peak of backward`).toBeLessThanOrEqual(peaks[1]!.late);
      if (after!.forward.steps.length < before!.forward.steps.length) smaller++;
    }
    for (const name of ['shareSubexpressions', 'simplify', 'foldConstants']) {
      expect(passNames).toContain(name);
      expect(applied.get(name) ?? 0, name).toBeGreaterThan(runs / 20);
    }
    expect(smaller).toBeGreaterThan(runs / 6);
  });

  const extremes = [0, 1, 2, 3, 127, 128, 255, 256, 32767, 65504, 2 ** 24 + 1, 2 ** 31 - 1];
  const dtypes: readonly DType[] = ['float32', 'float64', 'float16', 'bfloat16', 'int32', 'uint8'];
  const unary: readonly ((x: Tensor) => Tensor)[] = [
    (x) => x.mul(1),
    (x) => x.neg(),
    (x) => relu(x),
    (x) => x.abs(),
    (x) => x.floor(),
    (x) => x.ceil(),
    (x) => x.to('float64'),
    (x) => x.to('int32'),
    (x) => x.to('float32'),
    (x) => x.to('float16'),
    (x) => x.to('uint8'),
  ];

  it.each(dtypes)(
    'of %s keeps every bit: negative zero, NaN, infinities, overflow, dtype',
    (dtype) => {
      const floating = !['int32', 'uint8'].includes(dtype);
      const values = floating
        ? [...special, ...extremes, ...extremes.map((each) => -each)]
        : dtype === 'int32'
          ? [...extremes, ...extremes.map((each) => -each), -(2 ** 31)]
          : extremes.slice(0, 7);
      const x = tensor(values, { dtype });
      let applied = 0;
      for (const first of unary) {
        const make = (x: Tensor): Tensor[] =>
          unary.map((second) => {
            const back = second(first(x));
            return back.dtype === x.dtype ? back : back.to(x.dtype);
          });
        const f = toStatic(make, { strict: true });
        const [eager, traced] = [make(x), f(x)];
        expect(traced.map(bits64), String(first)).toEqual(eager.map(bits64));
        expect(traced.map((each) => each.dtype)).toEqual(eager.map((each) => each.dtype));
        applied += f.programs()[0]!.stages!.passes.simplify!.applied;
      }
      expect(applied).toBeGreaterThan(unary.length / 2);
    },
  );
});

/** Of values of any dtype, as float64 holds them. */
function bits64(t: Tensor): string[] {
  return Array.from(t.dataSync(), (value) => (Object.is(value, -0) ? '-0' : String(value)));
}

it('an op done twice is done once only where that changes no bit, whatever the op', () => {
  const values = [0, -0, 0.3, -0.3, 1, -1, 2.5, -2.5, 1e-30, Infinity, -Infinity, Number.NaN];
  const unary = [...opTable.values()].filter(({ kernel, operands }) => {
    return kernel.kind === 'pointwise' && operands.length === 1;
  });
  const names = unary.map(({ name }) => name).filter((name) => name in Tensor.prototype);
  expect(names.length).toBeGreaterThan(40);
  for (const name of names) {
    const twice = (x: Tensor) => {
      const once = (x as unknown as Record<string, () => Tensor>)[name]!();
      return (once as unknown as Record<string, () => Tensor>)[name]!();
    };
    const bits = (y: Tensor) => [...y.dataSync()].map(Number);
    let expected: number[];
    try {
      expected = bits(twice(tensor(values)));
    } catch {
      continue; // The op takes numbers, or refuses its own result.
    }
    expect(bits(toStatic(twice)(tensor(values))), name).toEqual(expected);
  }
});
