import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { indexPut, slice } from '../../runtime/ops/advanced-indexing/advanced-index.ts';
import { embedding } from '../../runtime/ops/advanced-indexing/embedding.ts';
import { pad } from '../../runtime/ops/arranging/padding.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { cat, dstack, hstack, stack, vstack } from '../../runtime/ops/movement/joining.ts';
import { arange, eye, linspace, onesLike } from '../../runtime/ops/movement/ranges.ts';
import { meshgrid } from '../../runtime/ops/movement/views.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, spread, type Tensor, tensor } from './eager.ts';

const float = (...shape: number[]) => tensor(spread(shape), { shape });
const int = (...values: number[]) => tensor(Int32Array.from(values));
const list = (x: Tensor) => [...x.dataSync()];

const made = new Map<string, Tensor>();

/** An operand that is there before anything is measured. */
function once(name: string, make: () => Tensor): Tensor {
  const existing = made.get(name);
  if (existing) return existing;
  const operand = make();
  made.set(name, operand);
  return operand;
}

const kept = (...values: number[]) => once(String(values), () => int(...values));
const mask = () => once('mask', () => float(3, 4).gt(0));

/** Functions that are made of several ops: nothing but what they answer may stay allocated. */
const composed: Readonly<Record<string, (x: Tensor) => Tensor | readonly Tensor[]>> = {
  'cat of mixed dtypes': (x) => cat([x, mask()]),
  stack: (x) => stack([x, x, x], -1),
  hstack: (x) => hstack([x, x]),
  vstack: (x) => vstack([x, x]),
  dstack: (x) => dstack([x, x]),
  roll: (x) => x.roll([1, 2], [0, 1]),
  'roll by whole turns': (x) => x.roll([-2, 6], [0, 1]),
  'roll of the flat tensor': (x) => x.roll(3),
  rot90: (x) => x.rot90(),
  reflect: (x) => pad(x, [1, 2, 1, 1], 'reflect'),
  replicate: (x) => pad(x, [3, 0, 0, 2], 'replicate'),
  'pad that cuts': (x) => pad(x, [-1, 1]),
  'pad that only cuts': (x) => pad(x, [-1, 0], 'replicate'),
  repeat: (x) => x.repeat([2, 1, 2]),
  repeatInterleave: (x) => x.repeatInterleave(2),
  tril: (x) => x.tril(),
  trace: (x) => x.trace(),
  eye: () => eye(3, 4),
  'bool range': () => arange(0, 3, 1, { dtype: 'bool' }),
  gather: (x) => x.gather(0, kept(0, 2, 1, 1).reshape([1, 4])),
  'scatter of a number': (x) => x.scatter(1, kept(0, 2, 1).reshape([3, 1]), 7),
  indexSelect: (x) => x.indexSelect(1, kept(3, 0)),
  indexFill: (x) => x.indexFill(0, kept(1), 2),
  embedding: (x) => embedding(x, kept(1, 1)),
  'index tensors apart': (x) => x.unsqueeze(1).index(kept(0, 1), [], kept(2, 2)),
  'index by a mask': (x) => x.index(mask()),
  indexPut: (x) => indexPut(x, [kept(0, 1), kept(1, 1)], 3),
  argsort: (x) => x.argsort(),
  topk: (x) => x.topk(2),
  kthvalue: (x) => x.kthvalue(2, 0, true),
  takeAlongDim: (x) => x.takeAlongDim(kept(1, 2).reshape([1, 2]), 1),
};

const aligned = (x: Tensor) => Math.ceil((x.numel() * x.device.elementBytes(x.dtype)) / 64) * 64;

describe('only the result stays allocated', () => {
  for (const [name, run] of Object.entries(composed)) {
    it(name, () => {
      const x = float(3, 4);
      const dispose = (outputs: readonly Tensor[]) => {
        for (const output of outputs) output.dispose();
      };
      dispose([run(x)].flat() as Tensor[]);
      const before = allocated();
      const outputs = [run(x)].flat() as Tensor[];
      const own = outputs.reduce((bytes, output) => bytes + aligned(output), 0);
      expect(allocated() - before).toBe(own);
      dispose(outputs);
      expect(allocated()).toBe(before);
      x.dispose();
    });
  }
});

describe('zero-size tensors', () => {
  const ops: Readonly<Record<string, readonly [(x: Tensor) => Tensor, Shape]>> = {
    cat: [(x) => cat([x, x]), [0, 3]],
    'cat with something': [(x) => cat([x, float(2, 3)]), [2, 3]],
    stack: [(x) => stack([x, x], 1), [0, 2, 3]],
    flip: [(x) => x.flip([0, 1]), [0, 3]],
    roll: [(x) => x.roll(1, 0), [0, 3]],
    pad: [(x) => pad(x, [1, 1, 0, 2]), [2, 5]],
    'pad circular': [(x) => pad(x, [1, 1], 'circular'), [0, 5]],
    repeat: [(x) => x.repeat([2, 2]), [0, 6]],
    slice: [(x) => x.slice(0, 0, 5, 2), [0, 3]],
    diagonal: [(x) => x.diagonal(), [0]],
    unfold: [(x) => x.unfold(1, 2, 1), [0, 2, 2]],
    tril: [(x) => x.tril(), [0, 3]],
    gather: [(x) => x.gather(0, zeros([0, 3], { dtype: 'int32' })), [0, 3]],
    scatter: [(x) => x.scatter(0, zeros([0, 3], { dtype: 'int32' }), 1), [0, 3]],
    'indexSelect of none': [(x) => x.indexSelect(1, zeros([0], { dtype: 'int32' })), [0, 0]],
    index: [(x) => x.index(slice(), int(2, 0)), [0, 2]],
    indexPut: [(x) => indexPut(x, [zeros([0], { dtype: 'int32' })], 1), [0, 3]],
    sort: [(x) => x.sort(0)[0], [0, 3]],
    topk: [(x) => x.topk(0)[0], [0, 0]],
    masked: [(x) => x.maskedSelect(x.gt(0)), [0]],
    nonzero: [(x) => x.nonzero(), [0, 2]],
    'eye of nothing': [() => eye(0, 3), [0, 3]],
  };
  for (const [name, [run, shape]] of Object.entries(ops)) {
    it(name, () => {
      tidy(() => {
        const x = zeros([0, 3]).requiresGrad_();
        const y = run(x);
        expect(y.shape).toEqual(shape);
        if (!y.requiresGrad) return;
        y.sum().backward();
        expect(x.grad!.shape).toEqual([0, 3]);
        x.grad!.dispose();
      });
    });
  }
});

describe('the meta device', () => {
  it('infers shapes of everything that depends on none of the data', () => {
    deviceGuard('meta', () =>
      tidy(() => {
        const x = zeros([4, 6]).requiresGrad_();
        const places = zeros([4], { dtype: 'int32' });
        const y = cat([x.tril(), pad(x, [1, -1])], 1).index(places, slice(1, null, 3));
        expect(y.shape).toEqual([4, 4]);
        y.sort()[0].topk(2)[0].sum().backward();
        expect(x.grad!.shape).toEqual([4, 6]);
        expect(() => x.nonzero()).toThrow('no data to read');
        x.grad!.dispose();
      }),
    );
  });
});

describe('ranges', () => {
  it('have the bounds, steps and dtypes that are asked for', () => {
    tidy(() => {
      expect(list(arange(4))).toEqual([0, 1, 2, 3]);
      expect(list(arange(5, 0, -2))).toEqual([5, 3, 1]);
      expect(arange(2, null, 1, { dtype: 'int32' }).dtype).toBe('int32');
      expect(list(linspace(-1, 1, 5))).toEqual([-1, -0.5, 0, 0.5, 1]);
      expect(list(linspace(3, 9, 1))).toEqual([3]);
      // A rounding error must not truncate an integer to the one before, at the end or elsewhere.
      for (const steps of [3, 7, 50, 99, 1000]) {
        for (const end of [4, -4, 999, -1023]) {
          for (const start of [0, 3, -3, 12, -12, 500, -500]) {
            const whole = list(linspace(start, end, steps, { dtype: 'int32' }));
            const exact = whole.map((_, i) => {
              return Math.trunc((start * (steps - 1) + i * (end - start)) / (steps - 1)) + 0;
            });
            expect(whole).toEqual(exact);
          }
        }
      }
      // As in PyTorch, bounds of integers are truncated before the steps are computed.
      const truncated = (start: number, end: number, steps: number) =>
        list(linspace(start, end, steps, { dtype: 'int32' }));
      expect(truncated(0.5, 4.9, 5)).toEqual([0, 1, 2, 3, 4]);
      expect(truncated(-2.7, 2.7, 6)).toEqual([-2, -1, 0, 0, 1, 2]);
      expect(truncated(9.5, -1.5, 4)).toEqual([9, 5, 2, -1]);
      expect(truncated(1.5, 9, 1)).toEqual([1]);
      for (const bound of [Number.NaN, Infinity, -Infinity, 1e12]) {
        expect(() => linspace(bound, 5, 4, { dtype: 'int32' })).toThrow(
          'linspace: a number that int32 does not hold',
        );
        expect(() => linspace(0, bound, 4, { dtype: 'int32' })).toThrow(
          'linspace: a number that int32 does not hold',
        );
      }
      expect(list(linspace(0, 1, 3, { dtype: 'bool' }))).toEqual([0, 1, 1]);
      // In float64, too, the last number is the end itself.
      for (let steps = 2; steps < 100; steps++) {
        for (const [start, end] of [
          [0, 1],
          [-1.7, 2.3],
          [0.1, 0.3],
          [3.1, -9.7],
        ] as const) {
          const numbers = list(linspace(start, end, steps, { dtype: 'float64' }));
          expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([steps, start, end]);
        }
      }
      expect(onesLike(int(1, 2)).dtype).toBe('int32');
      const [rows, columns] = meshgrid([int(1, 2), int(3, 4, 5)]);
      expect(list(rows!)).toEqual([1, 1, 1, 2, 2, 2]);
      expect(list(columns!)).toEqual([3, 4, 5, 3, 4, 5]);
    });
  });
});

describe('mistakes say what was given and what to do', () => {
  const mistakes: Readonly<Record<string, readonly [() => unknown, string, string]>> = {
    'cat of nothing': [() => cat([]), 'cat: no tensors', 'an empty array'],
    'cat of scalars': [() => cat([tensor(1)]), "cat: the shapes don't fit", 'f32[]'],
    'cat of other sizes': [
      () => cat([float(2, 3), float(2, 4)]),
      "cat: the shapes don't fit together",
      'f32[2,3], f32[2,4]',
    ],
    'stack of other shapes': [() => stack([float(2), float(3)]), 'stack:', 'f32[2], f32[3]'],
    'split sizes': [() => float(5).split([2, 2]), "split: the sizes don't add up", '[2,2]'],
    'chunks of none': [() => float(5).chunk(0), 'chunk: the number of chunks', '0'],
    'a step backwards': [() => float(5).slice(0, 4, 0, -1), 'slice: not a range', 'step -1'],
    'a diagonal of one dimension': [() => float(3).diagonal(), 'diagonal: no such', 'dimension 1'],
    'windows too large': [() => float(3).unfold(0, 4, 1), 'unfold: no such windows', 'size 4'],
    'a dimension flipped twice': [() => float(2, 2).flip([0, -2]), 'flip: a dimension', '[0,-2]'],
    'too few repetitions': [() => float(2, 2).repeat([2]), 'repeat: fewer counts', '[2]'],
    'reflection too wide': [() => pad(float(3), [3, 0], 'reflect'), 'pad: the amounts', '[3,0]'],
    'padding cut too much': [() => pad(float(3), [-2, -2]), 'pad: the amounts', '[-2,-2]'],
    'k too large': [() => float(3).topk(4), 'topk: more values than there are', 'k 4'],
    'steps that never arrive': [() => arange(0, 3, -1), 'arange: the step never', 'by -1'],
    'float indices': [
      () => float(3).gather(0, float(3)),
      'gather: indices must be integers',
      'f32[3]',
    ],
    'a vector of weights': [() => embedding(float(3), int(1)), 'embedding:', 'f32[3]'],
    'places of movedim': [() => float(2, 3).movedim([0, 1], [1, 1]), 'movedim:', '[1,1]'],
    'sizes of unflatten': [() => float(6).unflatten(0, [4, -1]), 'unflatten:', '[4,-1]'],
  };
  for (const [name, [make, what, given]] of Object.entries(mistakes)) {
    it(name, () => {
      const before = allocated();
      let thrown: unknown;
      try {
        tidy(() => {
          make();
        });
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(TostaticError);
      const error = thrown as TostaticError;
      expect(error.message).toContain(what);
      expect(error.given).toContain(given);
      expect(error.at?.file).toContain('arranging.test.ts');
      expect(allocated()).toBe(before);
    });
  }
});

describe('order', () => {
  const orderOf = (values: readonly number[], descending: boolean) =>
    values
      .map((_, i) => i)
      .sort((a, b) => {
        const [x, y] = descending ? [values[b]!, values[a]!] : [values[a]!, values[b]!];
        return x < y ? -1 : x > y ? 1 : Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      });

  it('is stable, with NaN the largest and −0 equal to 0, in both directions', () => {
    const special = [
      NaN,
      0,
      -0,
      Infinity,
      -Infinity,
      1,
      -1,
      1e-40,
      -1e-40,
      3e38,
      -3e38,
      1,
      NaN,
      -0,
    ];
    for (const descending of [false, true]) {
      tidy(() => {
        const [values, places] = tensor(special).sort(0, descending);
        expect(list(places)).toEqual(orderOf(special.map(Math.fround), descending));
        expect(list(values)).toEqual(list(places).map((place) => Math.fround(special[place]!)));
      });
    }
  });

  it('holds for all integers', () => {
    const special = [0, -1, 2 ** 31 - 1, -(2 ** 31), 16777217, 16777216, -1, 7];
    for (const descending of [false, true]) {
      tidy(() => {
        const [, places] = int(...special).sort(0, descending);
        expect(list(places)).toEqual(orderOf(special, descending));
        expect(list(int(...special).topk(3, 0, descending)[1])).toEqual(
          orderOf(special, descending).slice(0, 3),
        );
      });
    }
  });

  it('is the same whether the first values are kept or all are sorted', () => {
    tidy(() => {
      const x = int(...Array.from({ length: 200 }, (_, i) => (i * 37) % 53)).reshape([2, 100]);
      for (const largest of [false, true]) {
        const [values, places] = x.sort(1, largest);
        for (const k of [0, 1, 5, 31, 32, 100]) {
          const [some, at] = x.topk(k, 1, largest);
          expect(list(some)).toEqual(list(values.narrow(1, 0, k)));
          expect(list(at)).toEqual(list(places.narrow(1, 0, k)));
        }
      }
    });
  });

  it('has the same order at every length, with sorts by pairs and by digits', () => {
    for (const length of [1, 2, 63, 64, 65, 2048, 8191, 8192, 8193, 20_000]) {
      // Odd values among many that occur twice, and keys of all 32 bits.
      const floats = Array.from({ length }, (_, i) =>
        i % 501 === 7
          ? Number.NaN
          : i % 3
            ? Math.sin(i) * 10 ** ((i % 60) - 30)
            : ((i * 7919) % 97) - 48,
      ).map(Math.fround);
      const integers = floats.map((own) => (own * 2 ** 31) | 0);
      for (const descending of [false, true]) {
        tidy(() => {
          expect(list(tensor(floats).sort(0, descending)[1])).toEqual(orderOf(floats, descending));
          const [, places] = tensor(Int32Array.from(integers)).sort(0, descending);
          expect(list(places)).toEqual(orderOf(integers, descending));
        });
      }
    }
  });

  it('groups equal values: unique of every dtype, both zeros as 0 and each NaN apart', () => {
    const values = [3, -0, Number.NaN, 1, 0, 3, Number.NaN, 250, 1, 3];
    const plain = { distinct: [0, 1, 3, 250], inverse: [2, 0, -1, 1, 0, 2, -1, 3, 1, 2] };
    for (const dtype of ['float32', 'float64', 'float16', 'bfloat16', 'int32', 'uint8'] as const) {
      tidy(() => {
        const isFloat = dtype.includes('float');
        const own = isFloat ? values : values.map((x) => (Number.isNaN(x) ? 250 : x));
        const x = tensor(own, { dtype, requiresGrad: isFloat }).reshape([2, 5]);
        const [distinct, inverse, counts] = x.unique({ returnInverse: true, returnCounts: true });
        expect(distinct!.requiresGrad).toBe(false);
        expect(list(distinct!.to('float64'))).toEqual([
          ...plain.distinct,
          ...(isFloat ? [Number.NaN, Number.NaN] : []),
        ]);
        let missing = 4;
        const places = plain.inverse.map((at) => (at < 0 ? (isFloat ? missing++ : 3) : at));
        expect(inverse!.shape).toEqual([2, 5]);
        expect(list(inverse!)).toEqual(places);
        expect(list(counts!)).toEqual(isFloat ? [2, 2, 3, 1, 1, 1] : [2, 2, 3, 3]);
      });
    }
    tidy(() => expect(tensor([], { shape: [0] }).unique()[0]!.shape).toEqual([0]));
  });

  it('of bool values puts false first', () => {
    tidy(() => expect(list(tensor([true, false, true, false]).argsort())).toEqual([1, 3, 0, 2]));
  });

  it('of a row too long for packed ranks is the same', () => {
    tidy(() => {
      const length = 2 ** 21 + 3;
      const x = arange(length, null, 1, { dtype: 'int32' }).mul(-1);
      const places = x.argsort();
      expect(places.narrow(0, 0, 2).dataSync()).toEqual(Int32Array.of(length - 1, length - 2));
    });
  });
});
