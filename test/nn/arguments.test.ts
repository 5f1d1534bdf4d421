/** Layers take PyTorch's arguments, by position and by name. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  nn,
  optim,
  rand,
  ShapeError,
  sum,
  type Tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

describe('constructors', () => {
  it('Linear and Bilinear take the bias by position too', () => {
    using a = new nn.Linear(3, 4, false);
    using b = new nn.Linear(3, 4, { bias: false });
    using c = new nn.Bilinear(3, 2, 4, false);
    expect([a.bias, b.bias, c.bias]).toEqual([null, null, null]);
    using d = new nn.Linear(3, 4, true);
    expect(d.bias!.shape).toEqual([4]);
  });

  it('convolutions take the kernel by name too', () => {
    tidy(() => {
      const layers = [
        new nn.Conv1d(3, 8, { kernelSize: 3, padding: 1 }),
        new nn.Conv2d(3, 8, { kernelSize: [3, 5], bias: false }),
        new nn.ConvTranspose1d(3, 8, { kernelSize: 3, stride: 2 }),
        new nn.ConvTranspose2d(3, 8, { kernelSize: 2, stride: 2 }),
      ];
      expect(layers.map(({ weight }) => weight.shape)).toEqual([
        [8, 3, 3],
        [8, 3, 3, 5],
        [3, 8, 3],
        [3, 8, 2, 2],
      ]);
      expect(layers[0]!.options).toEqual(new nn.Conv1d(3, 8, 3, { padding: 1 }).options);
      expect(layers[1]!.bias).toBe(null);
      for (const layer of layers) layer.dispose();
    });
  });

  it.each([
    ['nothing', {}],
    ['a text', '3'],
    ['too many sizes', [3, 3, 3]],
    ['0', 0],
  ])('a kernel of %s is an error that says what to write', (_name, kernel) => {
    expect(() => new nn.Conv2d(3, 8, kernel as never)).toThrow(ArgumentError);
    expect(() => new nn.Conv2d(3, 8, kernel as never)).toThrow('new nn.Conv2d(in, out, 3');
  });
});

it.each<[name: string, byPosition: () => nn.Layer, byName: () => nn.Layer]>([
  ['Softmax', () => new nn.Softmax(1), () => new nn.Softmax({ dim: 1 })],
  ['LogSoftmax', () => new nn.LogSoftmax(1), () => new nn.LogSoftmax({ dim: 1 })],
  ['ELU', () => new nn.ELU(0.5), () => new nn.ELU({ alpha: 0.5 })],
  ['CELU', () => new nn.CELU(0.5), () => new nn.CELU({ alpha: 0.5 })],
  ['LeakyReLU', () => new nn.LeakyReLU(0.5), () => new nn.LeakyReLU({ negativeSlope: 0.5 })],
  ['Hardtanh', () => new nn.Hardtanh(-1, 2), () => new nn.Hardtanh({ maxVal: 2 })],
  ['Softplus', () => new nn.Softplus(1, 3), () => new nn.Softplus({ threshold: 3 })],
  ['GELU', () => new nn.GELU('tanh'), () => new nn.GELU({ approximate: 'tanh' })],
  ['PReLU', () => new nn.PReLU(1, 0.5), () => new nn.PReLU({ init: 0.5 })],
  ['Hardshrink', () => new nn.Hardshrink(1), () => new nn.Hardshrink({ lambd: 1 })],
  ['Softshrink', () => new nn.Softshrink(1), () => new nn.Softshrink({ lambd: 1 })],
  ['GLU', () => new nn.GLU(1), () => new nn.GLU({ dim: 1 })],
  ['RReLU', () => new nn.RReLU(0.1, 0.2), () => new nn.RReLU({ upper: 0.2, lower: 0.1 })],
  ['Dropout', () => new nn.Dropout(0.3), () => new nn.Dropout({ p: 0.3 })],
  ['Flatten', () => new nn.Flatten(0, 1), () => new nn.Flatten({ startDim: 0, endDim: 1 })],
  [
    'LocalResponseNorm',
    () => new nn.LocalResponseNorm(2, 1e-4, 0.5),
    () => new nn.LocalResponseNorm(2, { beta: 0.5 }),
  ],
])('%s takes its arguments by name', (_name, byPosition, byName) => {
  const [expected, found] = [byPosition(), byName()];
  const own = ({ forward: _, ...fields }: nn.Layer) => JSON.stringify(fields);
  expect(own(found)).toBe(own(expected));
  tidy(() => {
    const x = rand([2, 4, 3]);
    const make = toStatic((x: Tensor) => byName().eval().forward(x), { fullGraph: true });
    expect(make(x).toArraySync()).toEqual(expected.eval().forward(x).toArraySync());
  });
  found.dispose();
  expected.dispose();
});

/** A layer of size 4, and an input of another size; the size that it takes stands in the error, too. */
const unfit: Readonly<Record<string, readonly [layer: () => nn.Layer, shape: number[]]>> = {
  Linear: [() => new nn.Linear(4, 2), [2, 5]],
  Conv1d: [() => new nn.Conv1d(4, 2, 3), [2, 5, 8]],
  Conv2d: [() => new nn.Conv2d(4, 2, 3), [2, 5, 8, 8]],
  ConvTranspose1d: [() => new nn.ConvTranspose1d(4, 2, 3), [2, 5, 8]],
  ConvTranspose2d: [() => new nn.ConvTranspose2d(4, 2, 3), [2, 5, 8, 8]],
  BatchNorm1d: [() => new nn.BatchNorm1d(4), [2, 5]],
  BatchNorm2d: [() => new nn.BatchNorm2d(4), [2, 5, 8, 8]],
  InstanceNorm2d: [() => new nn.InstanceNorm2d(4), [2, 5, 8, 8]],
  GroupNorm: [() => new nn.GroupNorm(2, 4), [2, 5, 8]],
  LayerNorm: [() => new nn.LayerNorm(4), [2, 5]],
  RMSNorm: [() => new nn.RMSNorm(4), [2, 5]],
};

it.each(Object.entries(unfit))(
  '%s: a wrong input names the layer, its sizes and those of the input',
  (name, [make, shape]) => {
    const layer = make();
    tidy(() => {
      const given = zeros(shape);
      // A convolution in one dimension is computed as one in two.
      const family = name.replace(/[12]d$/, '');
      const message = new RegExp(`${family}.*takes 4 |${family}.*normalizes \\[4\\]`, 'i');
      expect(() => layer.forward(given)).toThrow(ShapeError);
      expect(() => layer.forward(given)).toThrow(message);
      expect(() => layer.forward(given)).toThrow(/input f32\[2,.*5/);
      expect(() => toStatic(() => layer.forward(given))()).toThrow(message);
    });
    layer.dispose();
  },
);

it('options stand in the place of dimensions, or are an error that names them', () => {
  tidy(() => {
    const x = zeros([2, 3]);
    expect(x.sum({ dim: 0 }).shape).toEqual([3]);
    expect(sum(x, { dim: 1, keepDim: true }).shape).toEqual([2, 1]);
    expect(x.amax({ keepDim: true }).shape).toEqual([1, 1]);
    expect(() => x.sum({ axis: 0 } as never)).toThrow(ArgumentError);
    expect(() => x.softmax({ dim: 0 } as never)).toThrow(ArgumentError);
  });
});

it('places are typed as int32', () => {
  tidy(() => {
    const [, places] = zeros([4], { dtype: 'float64' }).topk(2);
    const typed: Int32Array = places.dataSync();
    const drawn: Int32Array = zeros([4]).add(1).multinomial(2).dataSync();
    expect(typed.length + drawn.length).toBe(4);
  });
});

it.each<[name: string, call: () => unknown]>([
  ['uniform_', () => nn.init.uniform_(zeros([2]), { a: 5 }, 6)],
  ['truncNormal_', () => nn.init.truncNormal_(zeros([2]), { std: 0.1 }, undefined, -1)],
  ['Softplus', () => new nn.Softplus({ beta: 2 }, 20)],
  ['Hardtanh', () => new nn.Hardtanh({ minVal: -2 }, 1)],
  ['LocalResponseNorm', () => new nn.LocalResponseNorm(2, { alpha: 1 }, undefined, 1)],
  ['StepLR', () => new optim.StepLR(new optim.SGD([zeros([1])], { lr: 1 }), { stepSize: 2 }, 0.1)],
])('%s refuses arguments by name and by position at once', (name, call) => {
  expect(() => tidy(call)).toThrow(`${name}: arguments by name and by position`);
});
