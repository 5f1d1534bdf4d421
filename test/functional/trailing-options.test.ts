import { afterEach, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  argsort,
  bartlettWindow,
  blackmanWindow,
  eye,
  hammingWindow,
  hannWindow,
  kaiserWindow,
  rand,
  sort,
  type Tensor,
  tidy,
  topk,
} from '../../src/index.ts';

const made: Tensor[] = [];
afterEach(() => {
  for (const own of made.splice(0)) own.dispose();
});

/** Functions with optional numbers before their options: PyTorch's keyword arguments follow any of them. */
const creators: Record<string, (n: number, options?: { readonly dtype: 'float64' }) => Tensor> = {
  arange,
  bartlettWindow,
  blackmanWindow,
  eye,
  hammingWindow,
  hannWindow,
  kaiserWindow,
};

for (const [name, create] of Object.entries(creators)) {
  it(`${name}: options follow the first argument, in the place of the other ones`, () => {
    const given = create(3, { dtype: 'float64' });
    const plain = create(3);
    made.push(given, plain);
    expect(given.dtype).toBe('float64');
    expect(given.shape).toEqual(plain.shape);
    expect(given.sub(plain).abs().max().itemSync()).toBeLessThan(1e-6);
    expect(() => create(3, { dtyp: 'float64' } as never)).toThrow('dtyp');
  });
}

type Any = (...args: readonly unknown[]) => Tensor;

it('what follows an object of options is an error, not ignored', () => {
  const dtype = { dtype: 'float64' };
  const calls: readonly (readonly [fn: unknown, args: readonly unknown[]])[] = [
    [kaiserWindow, [3, dtype, undefined, dtype]],
    ...[arange, bartlettWindow, blackmanWindow, eye, hannWindow].flatMap((fn) => [
      [fn, [3, dtype, { device: 'cpu' }]] as const,
      [fn, [3, dtype, 2]] as const,
    ]),
    [hammingWindow, [3, dtype, 0.5, 0.5, { device: 'cpu' }]],
    [kaiserWindow, [3, true, dtype, dtype]],
    ...[sort, argsort].map((fn) => [fn, [{ dim: 0 }, true]] as const),
    [sort, [{ dim: 0 }, { descending: true }]],
    [topk, [2, { dim: 0 }, false]],
  ];
  tidy(() => {
    const x = rand([3, 3]);
    for (const [fn, args] of calls) {
      const given = fn === sort || fn === argsort || fn === topk ? [x, ...args] : args;
      expect(() => (fn as Any)(...given), String((fn as Any).name)).toThrow(ArgumentError);
    }
  });
});
