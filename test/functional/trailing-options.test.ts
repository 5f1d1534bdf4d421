import { afterEach, expect, it } from 'vitest';
import {
  arange,
  bartlettWindow,
  blackmanWindow,
  eye,
  hammingWindow,
  hannWindow,
  type Tensor,
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
