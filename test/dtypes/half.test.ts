import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unique } from '../../runtime/ops/arranging/distinct.ts';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { nonzero } from '../../runtime/ops/indexing/data-dependent.ts';
import { crossEntropy } from '../../runtime/ops/loss/class-losses.ts';
import { ones, zeros } from '../../runtime/ops/movement/create.ts';
import { arange } from '../../runtime/ops/movement/ranges.ts';
import { rand, randn } from '../../runtime/ops/random/drawn.ts';
import { histc } from '../../runtime/ops/reduce/counting.ts';
import { type HalfDType, halfFormats, isHalf } from '../../runtime/spec/half.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { expectSame } from '../expect-same.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from '../ops/eager.ts';

/** Digits after the leading one, and the smallest and largest exponent of normal numbers. */
const formats = {
  float16: { digits: 10, lowest: -14, highest: 15 },
  bfloat16: { digits: 7, lowest: -126, highest: 127 },
} as const;
const halves = Object.keys(formats) as HalfDType[];

/** The nearest number of the format, halves to even: by its definition, in float64. */
function nearest(value: number, dtype: HalfDType): number {
  const { digits, lowest, highest } = formats[dtype];
  if (!Number.isFinite(value) || value === 0) return value;
  if (value < 0) return -nearest(-value, dtype);
  const exponent = Math.max(Math.floor(Math.log2(value)), lowest);
  const unit = 2 ** (exponent - digits);
  const scaled = value / unit;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  const rounded = (up ? floor + 1 : floor) * unit;
  const limit = 2 ** highest * (2 - 2 ** -digits);
  return rounded > limit ? Infinity : rounded;
}

/** float32 numbers by their bits, so that every exponent is as likely as any other. */
const anyFloat = fc.nat(0xffffffff).map((bits) => {
  const word = new Uint32Array([bits]);
  return new Float32Array(word.buffer)[0]!;
});

const bitsOf = (x: Tensor): number[] => [...x.dataSync()];

describe.each(halves)('%s', (dtype) => {
  const { encode, decode } = halfFormats[dtype];
  const everyBits = Uint16Array.from({ length: 65536 }, (_, i) => i);

  it('numbers survive the way through float32', () => {
    const lost = everyBits.filter((bits) => {
      const value = decode(bits);
      return Number.isNaN(value) ? !Number.isNaN(decode(encode(value))) : encode(value) !== bits;
    });
    expect([...lost]).toEqual([]);
  });

  it('rounds to the nearest, halves to even, subnormals and overflow included', () => {
    fc.assert(
      fc.property(anyFloat, (value) => {
        const expected = nearest(value, dtype);
        expect(decode(encode(value))).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
    // Half-way between neighbours everywhere.
    const uneven = everyBits.filter((bits) => {
      if (bits % 7 > 0 || bits >= (dtype === 'float16' ? 0x7bff : 0x7f7f)) return false;
      const middle = (decode(bits) + decode(bits + 1)) / 2;
      return encode(middle) !== (bits % 2 === 0 ? bits : bits + 1);
    });
    expect([...uneven]).toEqual([]);
  });

  it('kernels convert every value with the same bits', () => {
    tidy(() => {
      const x = tensor(everyBits, { dtype });
      const wide = x.float().dataSync();
      expectSame([...wide], Array.from(everyBits, decode));
      const back = tensor(wide as Float32Array).to(dtype);
      const expected = Array.from(wide, encode);
      expectSame(bitsOf(back), expected);
      const doubles = x.double();
      expectSame([...doubles.dataSync()], [...wide]);
      expectSame(bitsOf(doubles.to(dtype)), expected);
    });
    fc.assert(
      fc.property(fc.array(anyFloat, { minLength: 1, maxLength: 9 }), (values) => {
        tidy(() => {
          const x = tensor(Float32Array.from(values));
          expect(bitsOf(x.to(dtype))).toEqual(values.map(encode));
        });
      }),
      { numRuns: 200 },
    );
  });

  it('takes 2 bytes an element, and widened copies last as long as a kernel', () => {
    const before = allocated();
    const x = ones([8, 64], { dtype });
    expect(allocated() - before).toBe(1024);
    const y = x.matmul(x.t());
    expect(y.dtype).toBe(dtype);
    expect(allocated() - before).toBe(1024 + 128);
    expect([...y.float().dataSync()]).toEqual(new Array(64).fill(64));
    x.dispose();
    y.dispose();
  });

  it('goes in from numbers and bits, and out as bits and numbers', () => {
    tidy(() => {
      const x = tensor([1, 0.1, -2], { dtype });
      expect(x.dataSync()).toBeInstanceOf(Uint16Array);
      expect(bitsOf(x)).toEqual([1, 0.1, -2].map(encode));
      expect(bitsOf(tensor(new Uint16Array([0x3c01, 7]), { dtype }))).toEqual([0x3c01, 7]);
      expect(bitsOf(tensor(new Float32Array([0.1]), { dtype }))).toEqual([encode(0.1)]);
      expect(x.narrow(0, 1, 1).itemSync()).toBe(decode(encode(0.1)));
      expect(bitsOf(zeros([2], { dtype }))).toEqual([0, 0]);
      expect([...arange(0, 3, 1, { dtype }).float().dataSync()]).toEqual([0, 1, 2]);
    });
    expect(() => tensor(new Uint16Array(2))).toThrow('no dtype for this kind of array');
  });

  it('is read as numbers by every function whose result depends on the data', () => {
    const given = [1.5, -3, 0, 2, -0, NaN, 1.5, -3, -0.25];
    const reading: Record<string, (x: Tensor) => readonly Tensor[]> = {
      unique: (x) => unique(x, { returnInverse: true, returnCounts: true }),
      histc: (x) => [histc(x.nanToNum(), 4)],
      'histc of a range': (x) => [histc(x, 5, -2, 3)],
      nonzero: (x) => [nonzero(x)],
      maskedSelect: (x) => [x.maskedSelect(x.gt(0))],
      'item and lists': (x) => [tensor([x.select(0, 1).itemSync(), ...(x.tolist() as number[])])],
      repeatInterleave: (x) => [
        x.repeatInterleave(tensor([2, 0, 1, 1, 0, 3, 1, 0, 2]).to('int32')),
      ],
    };
    for (const [name, read] of Object.entries(reading)) {
      const numbers = (x: Tensor) =>
        read(x).map((own) => [own.shape, [...own.to('float64').dataSync()]]);
      const x = tensor(given);
      expect(numbers(x.to(dtype)), name).toEqual(numbers(x));
    }
  });

  it('rounds once per op', () => {
    tidy(() => {
      const [a, b] = [0.1, 0.7].map((v) => decode(encode(v))) as [number, number];
      const x = tensor([a], { dtype });
      expect(x.mul(b).itemSync()).toBe(decode(encode(a * b)));
      expect(x.add(tensor([b], { dtype })).itemSync()).toBe(decode(encode(a + b)));
    });
  });

  it('trains: gradients have the dtype of their tensors', () => {
    const before = allocated();
    tidy(() => {
      const x = tensor(spread([2, 1, 5, 5]), { shape: [2, 1, 5, 5], dtype });
      const w = tensor(spread([3, 1, 3, 3], 1), { shape: [3, 1, 3, 3], dtype, requiresGrad: true });
      const scores = conv2d(x, w).relu().flatten(1);
      crossEntropy(scores, tensor(new Int32Array([1, 4]))).backward();
      expect(w.grad!.dtype).toBe(dtype);
      const [wide, wideW] = [x.float(), w.detach().float().requiresGrad_()];
      crossEntropy(
        conv2d(wide, wideW).relu().flatten(1),
        tensor(new Int32Array([1, 4])),
      ).backward();
      const close = { relative: 0.05, absolute: 0.01 };
      expectClose(w.grad!.float().dataSync(), wideW.grad!.dataSync(), 'gradient', close);
      w.grad!.dispose();
      wideW.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('random numbers stay below 1', () => {
    tidy(() => {
      const x = rand([20_000], { dtype });
      expect(x.dtype).toBe(dtype);
      expect(x.float().amax().itemSync()).toBeLessThan(1);
      expect(randn([3], { dtype }).dtype).toBe(dtype);
    });
  });
});

it('isHalf names the two', () => {
  expect(halves.every(isHalf)).toBe(true);
  expect(isHalf('float32')).toBe(false);
});
