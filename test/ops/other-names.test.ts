/** What PyTorch's users look for under these names. */

import { describe, expect, it } from 'vitest';
import {
  clip,
  empty,
  emptyLike,
  moveaxis,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const x = () =>
  tensor([
    [1, -2, 3],
    [4, 5, -6],
  ]);
const contents = (own: Tensor) => ({
  shape: own.shape,
  dtype: own.dtype,
  values: [...own.dataSync()],
});

/** Each call, and the same by other means. */
const names: Readonly<Record<string, readonly [(x: Tensor) => Tensor, (x: Tensor) => Tensor]>> = {
  clip: [(own) => own.clip(-1, 2), (own) => own.clamp(-1, 2)],
  'clip()': [(own) => clip(own, -1, 2), (own) => own.clamp(-1, 2)],
  moveaxis: [(own) => own.moveaxis(0, 1), (own) => own.permute(1, 0)],
  'moveaxis()': [(own) => moveaxis(own, 0, 1), (own) => own.permute(1, 0)],
  typeAs: [(own) => own.typeAs(own.gt(0)), (own) => own.bool()],
  viewAs: [(own) => own.viewAs(own.reshape(3, 2)), (own) => own.reshape(3, 2)],
  newZeros: [(own) => own.double().newZeros([2]), () => tensor([0, 0], { dtype: 'float64' })],
  newOnes: [(own) => own.newOnes([2], { dtype: 'int32' }), () => tensor(Int32Array.of(1, 1))],
  newFull: [(own) => own.newFull([1], 7), () => tensor([7])],
  newEmpty: [(own) => own.newEmpty([1]), () => tensor([0])],
  empty: [() => empty([2]), () => tensor([0, 0])],
  emptyLike: [(own) => emptyLike(own.int()), (own) => own.int().mul(0)],
  numel: [(own) => own.mul(own.numel()), (own) => own.mul(6)],
  dim: [(own) => own.mul(own.dim()), (own) => own.mul(2)],
};

describe('other names', () => {
  it.each(Object.entries(names))('%s', (_name, [call, same]) => {
    tidy(() => {
      const expected = contents(same(x()));
      expect(contents(call(x()))).toEqual(expected);
      const captured = toStatic(call, { fallback: 'error' });
      expect(contents(captured(x()))).toEqual(expected);
    });
  });

  it('equal and tolist read at once', () => {
    tidy(() => {
      expect(x().equal(x())).toBe(true);
      expect(x().equal(x().add(1))).toBe(false);
      expect(x().equal(x().reshape(3, 2))).toBe(false);
      expect(x().gt(0).tolist()).toEqual([
        [true, false, true],
        [true, true, false],
      ]);
    });
  });

  it('uniform_ and normal_ draw into a tensor, captured alike', () => {
    tidy(() => {
      const draw = (own: Tensor): Tensor => own.uniform_(2, 3).add(own.clone().normal_(100, 0.1));
      seed(3);
      const eager = contents(draw(x()));
      seed(3);
      expect(contents(toStatic(draw)(x()))).toEqual(eager);
      for (const value of eager.values) expect(Math.abs(value - 102.5)).toBeLessThan(2);
      const own = x().double();
      own.uniform_(-1, 1);
      expect(own.dtype).toBe('float64');
      expect(own.abs().amax().itemSync()).toBeLessThan(1);
      expect(() => x().int().uniform_()).toThrow('random numbers between integers');
    });
  });
});
