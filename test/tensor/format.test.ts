import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { arange } from '../../runtime/ops/movement/ranges.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { numbersOf } from '../../runtime/spec/stored-numbers.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { tensor } from '../ops/eager.ts';

/** What PyTorch prints, with JavaScript's words for true, false and None of its `torch.`. */
const printed: Readonly<Record<string, readonly [make: () => unknown, text: string]>> = {
  'whole floats end in a point': [() => tensor([1, 2, -3]), 'tensor([ 1.,  2., -3.])'],
  'others have 4 digits': [() => tensor([0.5, 2]), 'tensor([0.5000, 2.0000])'],
  'a scalar': [() => tensor(3.25), 'tensor(3.2500)'],
  'integers are aligned': [() => tensor(new Int32Array([1, 20, -3])), 'tensor([ 1, 20, -3])'],
  'truth values': [() => tensor([true, false]), 'tensor([ true, false])'],
  'large ones are scientific': [() => tensor([1e-5, 1]), 'tensor([1.0000e-05, 1.0000e+00])'],
  'a wide range is scientific': [() => tensor([0.001, 1000.5]), 'tensor([1.0000e-03, 1.0005e+03])'],
  'large whole numbers': [() => tensor([1, 2000]), 'tensor([1.0000e+00, 2.0000e+03])'],
  'nan and inf take the width of the rest': [
    () => tensor([Number.NaN, 1.5, Infinity, -Infinity]),
    'tensor([   nan, 1.5000,    inf,   -inf])',
  ],
  'only nan': [() => tensor([Number.NaN, 0]), 'tensor([nan, 0.])'],
  'rows and columns': [
    () =>
      tensor([
        [1, 2],
        [3, 4],
      ]),
    'tensor([[1., 2.],\n        [3., 4.]])',
  ],
  'planes are set apart': [() => zeros([2, 1, 2]), 'tensor([[[0., 0.]],\n\n        [[0., 0.]]])'],
  'lines end at 80 columns': [
    () => arange(25, { dtype: 'float32' }),
    'tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24.])',
  ],
  'long ones are shortened': [
    () => arange(1001, { dtype: 'int32' }),
    'tensor([   0,    1,    2,  ...,  998,  999, 1000])',
  ],
  'in every dimension': [
    () => zeros([100, 100], { dtype: 'uint8' }),
    'tensor([[0, 0, 0,  ..., 0, 0, 0],\n        [0, 0, 0,  ..., 0, 0, 0],\n        [0, 0, 0,  ..., 0, 0, 0],\n        ...,\n        [0, 0, 0,  ..., 0, 0, 0],\n        [0, 0, 0,  ..., 0, 0, 0],\n        [0, 0, 0,  ..., 0, 0, 0]], dtype=uint8)',
  ],
  'other dtypes are named': [
    () => tensor([0.1], { dtype: 'float64' }),
    'tensor([0.1000], dtype=float64)',
  ],
  'halves by their numbers': [
    () => tensor([0.1, 65504], { dtype: 'float16' }),
    'tensor([9.9976e-02, 6.5504e+04], dtype=float16)',
  ],
  nothing: [() => zeros([0]), 'tensor([])'],
  'nothing of a shape': [() => zeros([0, 3]), 'tensor([], size=[0, 3])'],
  'nothing of integers': [() => zeros([0], { dtype: 'int32' }), 'tensor([], dtype=int32)'],
  'a leaf': [() => tensor([1], { requiresGrad: true }), 'tensor([1.], requiresGrad=true)'],
  'a result': [
    () => tensor([1], { requiresGrad: true }).mul(2),
    'tensor([2.], gradFn=<mulScalar>)',
  ],
  'on meta': [
    () => deviceGuard('meta', () => zeros([2, 3])),
    "tensor(..., device='meta', size=[2, 3], dtype=float32)",
  ],
  // Zeros alone count as one column wide, in PyTorch too.
  'a long last line takes no suffix': [
    () => zeros([23], { dtype: 'float64' }),
    'tensor([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],\n       dtype=float64)',
  ],
};

const numbersIn = (text: string) => text.match(/-?\d+\.\d*(e[+-]\d+)?/g);

describe('toString prints like PyTorch', () => {
  it('the sign of zero in any notation', () => {
    tidy(() => {
      const last = (others: number[]) => numbersIn(String(tensor([...others, -0])))!.at(-1);
      expect([[1], [0.5], [1, 2000]].map(last)).toEqual(['-0.', '-0.0000', '-0.0000e+00']);
    });
  });

  for (const [name, [make, text]] of Object.entries(printed)) {
    it(name, () => {
      tidy(() => {
        expect(String(make())).toBe(text);
      });
    });
  }

  it('a disposed tensor says so', () => {
    const x = zeros([2]);
    x.dispose();
    expect(String(x)).toBe('tensor(..., size=[2], dtype=float32, disposed)');
  });

  it('console.log shows the same', async () => {
    using x = tensor([1, 2]);
    expect(inspect(x)).toBe('tensor([1., 2.])');
    expect(await x.toStringAsync()).toBe('tensor([1., 2.])');
  });

  it('a long tensor is read at its corners alone, whatever its strides', () => {
    const read = vi.spyOn(cpu, 'downloadSync');
    tidy(() => {
      const huge = tensor([[1.5], [2]])
        .reshape(2, 1, 1)
        .expand(2, 1e6, 1e6);
      expect(String(huge)).toMatch(/^tensor\(\[\[\[1\.5000, 1\.5000, 1\.5000, {2}\.\.\., 1\.5000/);
      const elements = read.mock.calls.reduce((sum, [meta]) => sum + sizeOf(meta.shape), 0);
      expect(elements).toBe(2 * 6 * 6);
    });
    read.mockRestore();
  });

  it('strides and offsets make no difference to the text', () => {
    const values = Float32Array.from({ length: 9 * 8 * 20 }, (_, i) => 1.5 + (i % 97));
    const x = tensor(values, { shape: [9, 8, 20] });
    tidy(() => {
      for (const own of [
        x,
        x.permute(2, 0, 1),
        x.permute(1, 2, 0).narrow(1, 2, 17),
        x.slice(2, 1, 20, 2).expand(3, 9, 8, 10),
        x.flip(0).half(),
        x.reshape(-1).slice(0, 3, 1439),
      ]) {
        expect(String(own)).toBe(String(own.clone()));
        const whole = [...numbersOf(own.dataSync(), own.dtype)];
        expect(String(own)).toContain(whole[0]!.toFixed(4));
        expect(String(own)).toContain(whole.at(-1)!.toFixed(4));
      }
    });
    x.dispose();
  });
});
