/** Layers take PyTorch's arguments, by position and by name. */

import { describe, expect, it } from 'vitest';
import { ArgumentError, nn, ShapeError, sum, tidy, toStatic, zeros } from '../../src/index.ts';

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

it('a wrong input names the layer, its sizes and those of the input', () => {
  tidy(() => {
    const layer = new nn.Linear(3, 4);
    const given = zeros([2, 5]);
    const message = /linear: the layer takes 3 features, not 5.*f32\[2,5\].*f32\[4,3\]/s;
    expect(() => layer.forward(given)).toThrow(ShapeError);
    expect(() => layer.forward(given)).toThrow(message);
    expect(() => toStatic(() => layer.forward(given))()).toThrow(message);
    layer.dispose();
  });
});

it('options in the place of dimensions are an error that says what to write', () => {
  tidy(() => {
    const x = zeros([2, 3]);
    expect(() => x.sum({ dim: 0 } as never)).toThrow(ArgumentError);
    expect(() => sum(x, { dim: 0 } as never)).toThrow('x.sum(0, { keepDim: true })');
    expect(() => x.amax({ keepDim: true } as never)).toThrow(ArgumentError);
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
