/** Arguments as PyTorch's users write them: sizes one by one, null where nothing is meant. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  instanceNorm,
  layerNorm,
  mean,
  ShapeError,
  sum,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  where,
} from '../../src/index.ts';

const x = () =>
  tensor(
    Float32Array.from({ length: 6 }, (_, i) => i),
    { shape: [2, 3] },
  );
const contents = (own: Tensor) => ({ shape: own.shape, values: [...own.dataSync()] });

const variadic: Readonly<Record<string, readonly [(x: Tensor) => Tensor, (x: Tensor) => Tensor]>> =
  {
    reshape: [(own) => own.reshape(3, -1), (own) => own.reshape([3, -1])],
    'reshape to one': [(own) => own.reshape(-1), (own) => own.reshape([-1])],
    view: [(own) => own.view(3, 2), (own) => own.view([3, 2])],
    permute: [(own) => own.permute(1, 0), (own) => own.permute([1, 0])],
    expand: [
      (own) => own.reshape(1, 6).expand(2, -1),
      (own) => own.reshape([1, 6]).expand([2, -1]),
    ],
    repeat: [(own) => own.repeat(1, 2), (own) => own.repeat([1, 2])],
    tile: [(own) => own.tile(2), (own) => own.tile([2])],
    flip: [(own) => own.flip(0, 1), (own) => own.flip([0, 1])],
  };

describe('sizes one by one or in an array', () => {
  it.each(Object.entries(variadic))('%s', (_name, [single, listed]) => {
    tidy(() => {
      expect(contents(single(x()))).toEqual(contents(listed(x())));
      const captured = toStatic(single, { fallback: 'error' });
      expect(contents(captured(x()))).toEqual(contents(listed(x())));
    });
  });

  it.each([
    ['an object', (own: Tensor) => own.repeat({ dim: 0 } as never)],
    ['a text', (own: Tensor) => own.expand('2' as never, 3)],
    ['an array among numbers', (own: Tensor) => own.permute([1], 0)],
  ])('rejects %s', (_name, call) => {
    tidy(() => {
      expect(() => call(x())).toThrow(ArgumentError);
      return null;
    });
  });

  it('a view that would have to copy is an error that says so', () => {
    tidy(() => {
      expect(() => x().permute(1, 0).view(6)).toThrow(ShapeError);
      expect(() => x().permute(1, 0).view(6)).toThrow('reshape()');
      expect(x().viewAs(x().reshape(6)).shape).toEqual([6]);
    });
  });
});

describe('null stands for nothing', () => {
  it('for all dimensions of a reduction', () => {
    tidy(() => {
      expect(sum(x(), null).itemSync()).toBe(15);
      expect(mean(x(), null, { keepDim: true }).shape).toEqual([1, 1]);
      expect(x().amax(null).itemSync()).toBe(5);
    });
  });

  it('for running values, weights and biases', () => {
    tidy(() => {
      const images = x().reshape(1, 2, 3);
      const plain = contents(instanceNorm(images));
      expect(contents(instanceNorm(images, null, null))).toEqual(plain);
      expect(contents(instanceNorm(images, null))).toEqual(plain);
      expect(contents(layerNorm(x(), [3], null, null, 1e-5))).toEqual(
        contents(layerNorm(x(), [3])),
      );
    });
  });

  it('running values by position are those of the options', () => {
    tidy(() => {
      const images = x().reshape(1, 2, 3);
      const state = () => [tensor([0, 0]), tensor([1, 1])] as const;
      const [m, v] = state();
      const [runningMean, runningVar] = state();
      instanceNorm(images, m, v, { momentum: 0.5 });
      instanceNorm(images, { runningMean, runningVar, momentum: 0.5 });
      expect(contents(m)).toEqual(contents(runningMean));
      expect(contents(v)).toEqual(contents(runningVar));
    });
  });
});

it('options in the place of a number are an error that names it', () => {
  tidy(() => {
    expect(() => layerNorm(x(), [3], null, null, { eps: 1 } as never)).toThrow(/layerNorm: eps/);
    expect(() => x().leakyRelu({ slope: 1 } as never)).toThrow(ArgumentError);
    // Also after a call that was right, whose kernel is known.
    x().leakyRelu(0.1);
    expect(() => x().leakyRelu('0.1' as never)).toThrow(ArgumentError);
  });
});

it('where() of two numbers', () => {
  tidy(() => {
    expect(contents(where(x().gt(2), 1, 0)).values).toEqual([0, 0, 0, 1, 1, 1]);
    expect(contents(where(x().gt(2), 0.5, -1)).values).toEqual([-1, -1, -1, 0.5, 0.5, 0.5]);
  });
});
