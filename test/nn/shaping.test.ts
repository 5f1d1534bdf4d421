import { describe, expect, it } from 'vitest';
import * as nn from '../../runtime/nn/index.ts';
import { arange } from '../../runtime/ops/movement/ranges.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type Tensor, tensor } from '../ops/eager.ts';

const values = (x: Tensor) => [...x.dataSync()];

describe('modules that arrange', () => {
  it('Flatten joins dimensions from one to another, Unflatten is its opposite', () => {
    tidy(() => {
      const x = arange(24).reshape([2, 3, 2, 2]);
      expect(new nn.Flatten().forward(x).shape).toEqual([2, 12]);
      expect(new nn.Flatten(1, 2).forward(x).shape).toEqual([2, 6, 2]);
      expect(() => new nn.Flatten(2, 1).forward(x)).toThrow('flatten: the dimensions are in');
      const back = new nn.Unflatten(1, [3, -1]).forward(new nn.Flatten(1, 2).forward(x));
      expect(back.shape).toEqual([2, 3, 2, 2]);
      expect(values(back)).toEqual(values(x));
    });
  });

  it('PixelShuffle spreads channels over pixels, PixelUnshuffle takes them back', () => {
    tidy(() => {
      const x = arange(8).reshape([1, 4, 1, 2]);
      const large = new nn.PixelShuffle(2).forward(x);
      expect(large.shape).toEqual([1, 1, 2, 4]);
      expect(values(large)).toEqual([0, 2, 1, 3, 4, 6, 5, 7]);
      expect(values(new nn.PixelUnshuffle(2).forward(large))).toEqual(values(x));
    });
  });

  it('ChannelShuffle lets the channels of the groups take turns', () => {
    tidy(() => {
      const x = arange(4).reshape([1, 4, 1, 1]);
      expect(values(new nn.ChannelShuffle(2).forward(x))).toEqual([0, 2, 1, 3]);
    });
  });

  it('borders', () => {
    tidy(() => {
      const row = tensor([[1, 2, 3]]);
      const padded = (module: nn.Layer) => values(module.forward(row));
      expect(padded(new nn.ConstantPad1d([1, 0], 9))).toEqual([9, 1, 2, 3]);
      expect(padded(new nn.ZeroPad1d(1))).toEqual([0, 1, 2, 3, 0]);
      expect(padded(new nn.ReflectionPad1d(2))).toEqual([3, 2, 1, 2, 3, 2, 1]);
      expect(padded(new nn.ReplicationPad1d([2, 0]))).toEqual([1, 1, 1, 2, 3]);
      expect(padded(new nn.CircularPad1d([1, 1]))).toEqual([3, 1, 2, 3, 1]);
      const plane = tensor([[[1, 2]]]);
      expect(new nn.ZeroPad2d([1, 0, 2, 0]).forward(plane).shape).toEqual([1, 3, 3]);
    });
  });

  it('Bilinear multiplies both sides', () => {
    tidy(() => {
      using layer = new nn.Bilinear(2, 2, 1);
      layer.weight.detach().copy_(
        tensor([
          [
            [1, 2],
            [3, 4],
          ],
        ]),
      );
      layer.bias!.detach().fill_(1);
      const y = layer.forward(
        tensor([
          [1, 2],
          [0, 1],
        ]),
        tensor([
          [1, 1],
          [1, 0],
        ]),
      );
      expect(values(y)).toEqual([1 + (1 + 3 * 2) + (2 + 4 * 2), 1 + 3]);
    });
  });

  it('lists of parameters have names, also after a move', () => {
    using list = new nn.ParameterList([tensor([1]), tensor([2])]);
    using dict = new nn.ParameterDict({ a: tensor([1]) });
    dict.set('b', tensor([2, 3]));
    expect(Object.keys(list.stateDict())).toEqual(['0', '1']);
    expect(Object.keys(dict.stateDict())).toEqual(['a', 'b']);
    expect([list.parameters().length, list.length, list.at(-1)!.itemSync()]).toEqual([2, 2, 2]);
    list.to('meta');
    dict.to('meta');
    expect([list.at(0)!.device.name, dict.get('b')!.device.name]).toEqual(['meta', 'meta']);
    expect(dict.get('b')!.requiresGrad).toBe(true);
  });

  it('modules are found by name, frozen together and cast', () => {
    using model = new nn.Sequential(new nn.Linear(2, 2), new nn.Sequential(new nn.ReLU()));
    const names = Array.from(model.namedModules(), ([name]) => name);
    expect(names).toEqual(['', '0', '1', '1.0']);
    expect(Array.from(model.namedChildren(), ([name]) => name)).toEqual(['0', '1']);
    model.requiresGrad_(false);
    expect(model.parameters().map((own) => own.requiresGrad)).toEqual([false, false]);
    model.requiresGrad_();
    expect(model.parameters().map((own) => own.requiresGrad)).toEqual([true, true]);
    expect(model.to('int32').parameters()[0]!.dtype).toBe('float32');
  });
});
