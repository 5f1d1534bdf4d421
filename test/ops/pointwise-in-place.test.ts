import { describe, expect, it } from 'vitest';
import { DTypeError } from '../../runtime/errors/errors.ts';
import { unaryInPlace } from '../../runtime/ops/in-place/pointwise-in-place.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from './eager.ts';

type Write = (x: Tensor, y: Tensor) => Tensor;

const call =
  (name: string): Write =>
  (x) =>
    (x as unknown as Record<string, () => Tensor>)[name]!();

/** In place on a fresh result, and the same out of place. */
const writes: Readonly<Record<string, readonly [Write, Write]>> = {
  ...Object.fromEntries(
    Object.keys(unaryInPlace).map((name) => [name, [call(name), call(name.slice(0, -1))]]),
  ),
  sub_: [(x, y) => x.sub_(y), (x, y) => x.sub(y)],
  'sub_ with alpha': [(x, y) => x.sub_(y, 2), (x, y) => x.sub(y.mul(2))],
  div_: [(x, y) => x.div_(y), (x, y) => x.div(y)],
  'div_ by a number': [(x) => x.div_(4), (x) => x.div(4)],
  pow_: [(x, y) => x.pow_(y), (x, y) => x.pow(y)],
  'pow_ with a number': [(x) => x.pow_(3), (x) => x.pow(3)],
  clamp_: [(x) => x.clamp_(1.2, 1.7), (x) => x.clamp(1.2, 1.7)],
  minimum_: [(x, y) => x.minimum_(y), (x, y) => x.minimum(y)],
  maximum_: [(x, y) => x.maximum_(y), (x, y) => x.maximum(y)],
  zero_: [(x) => x.zero_(), (x) => x.mul(0)],
};

describe('in-place forms have the values and gradients of the ops', () => {
  for (const [name, [inPlace, outOfPlace]] of Object.entries(writes)) {
    it(name, () => {
      const before = allocated();
      tidy(() => {
        const results = [inPlace, outOfPlace].map((write) => {
          const leaves = [[2, 3], [3]].map((shape, i) => {
            const values = spread(shape, i).map((value) => 1.5 + value / 2);
            return tensor(values, { shape, requiresGrad: true });
          }) as [Tensor, Tensor];
          const result = write(leaves[0].mul(1.1), leaves[1]);
          if (result.requiresGrad) result.sum().backward();
          const gradients = leaves.map((leaf) =>
            leaf.grad ? [...leaf.grad.dataSync()] : new Array<number>(leaf.numel()).fill(0),
          );
          for (const { grad } of leaves) grad?.dispose();
          return [[...result.dataSync()], ...gradients];
        });
        results[0]!.forEach((own, i) => {
          expectClose(own, results[1]![i]!, `${name}, ${i}`);
        });
      });
      expect(allocated()).toBe(before);
    });
  }

  it('functions of real numbers are refused for integers', () => {
    const ints = tensor(Int32Array.of(1, 2));
    expect(() => ints.exp_()).toThrow(DTypeError);
    expect(() => ints.div_(2)).toThrow(DTypeError);
    expect([...ints.neg_().clamp_(-1).dataSync()]).toEqual([-1, -1]);
    ints.dispose();
  });
});
