import { describe, expect, it } from 'vitest';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { maxPool2d } from '../../runtime/ops/convolution/max-pool.ts';
import type { NestedArray } from '../../runtime/ops/core/create.ts';
import { crossEntropy } from '../../runtime/ops/loss/class-losses.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { sum } from '../../runtime/ops/reduce/reduce.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type Tensor, tensor } from './eager.ts';

interface Mistake {
  readonly make: () => unknown;
  readonly type: string;
  readonly what: string;
  readonly given: string;
  readonly remedy: string;
}

const f = (...shape: number[]) => zeros(shape);
const i = (...shape: number[]) => zeros(shape, { dtype: 'int32' });

const mistakes: Readonly<Record<string, Mistake>> = {
  "shapes that don't broadcast": {
    make: () => f(2, 3).add(f(4)),
    type: 'ShapeError',
    what: "add: the shapes don't broadcast",
    given: '[2,3] and [4]',
    remedy: 'reshape',
  },
  'a trace of more than one matrix': {
    make: () => f(2, 3, 3).trace(),
    type: 'ShapeError',
    what: 'trace: not a matrix',
    given: 'f32[2,3,3]',
    remedy: 'x.diagonal(0, -2, -1).sum(-1)',
  },
  'a rotation along one dimension': {
    make: () => f(2, 3).rot90(1, [1, -1]),
    type: 'ArgumentError',
    what: 'rot90: not a plane',
    given: 'dimensions [1,-1]',
    remedy: 'x.rot90(1, [-2, -1])',
  },
  'entries of a scalar': {
    make: () => f().unbind(),
    type: 'ShapeError',
    what: 'unbind: a scalar has no entries',
    given: 'f32[]',
    remedy: 'the scalar itself',
  },
  'inner dimensions of a product': {
    make: () => f(2, 3).matmul(f(2, 3)),
    type: 'ShapeError',
    what: "matmul: the inner dimensions don't agree",
    given: 'f32[2,3] and f32[2,3] (3 and 2)',
    remedy: 'x.transpose(-1, -2)',
  },
  'product of integers and fractions': {
    make: () => i(2, 2).matmul(f(2, 2)),
    type: 'DTypeError',
    what: 'matmul: not numbers of one dtype',
    given: 'i32[2,2] and f32[2,2]',
    remedy: "x.to('float32')",
  },
  'mean of integers': {
    make: () => i(3).mean(),
    type: 'DTypeError',
    what: 'mean: not a floating-point tensor',
    given: 'i32[3]',
    remedy: "x.to('float32')",
  },
  'softmax of integers': {
    make: () => i(3).softmax(),
    type: 'DTypeError',
    what: 'softmax: not a floating-point tensor',
    given: 'i32[3]',
    remedy: "x.to('float32')",
  },
  'labels that are not integers': {
    make: () => crossEntropy(f(2, 3), f(2)),
    type: 'DTypeError',
    what: 'crossEntropy: class labels must be integers',
    given: 'f32[2]',
    remedy: "target.to('int32')",
  },
  'a label that is no class': {
    make: () => crossEntropy(f(1, 3), tensor(Int32Array.of(3))),
    type: 'ArgumentError',
    what: 'crossEntropy, nllLoss: a label is not a class',
    given: 'label 3',
    remedy: 'check the labels',
  },
  'scores and labels of different lengths': {
    make: () => crossEntropy(f(2, 3), i(3)),
    type: 'ShapeError',
    what: "crossEntropy: scores and labels don't fit",
    given: 'f32[2,3] and i32[3]',
    remedy: 'check the order of the dimensions',
  },
  'channels of a convolution': {
    make: () => conv2d(f(1, 3, 8, 8), f(4, 2, 3, 3)),
    type: 'ShapeError',
    what: 'conv2d: the layer takes 2 channels, not 3',
    given: 'f32[1,3,8,8] for a weight f32[4,2,3,3]',
    remedy: 'order of the dimensions',
  },
  'a kernel larger than the image': {
    make: () => conv2d(f(1, 1, 2, 2), f(1, 1, 3, 3)),
    type: 'ShapeError',
    what: 'conv2d: the kernel is larger',
    given: 'f32[1,1,2,2]',
    remedy: 'more padding',
  },
  'a window larger than the image': {
    make: () => maxPool2d(f(1, 1, 2, 2), 3),
    type: 'ShapeError',
    what: "maxPool2d: the window doesn't fit",
    given: 'window 3×3',
    remedy: 'smaller window',
  },
  'reshape to another size': {
    make: () => f(2, 3).reshape([4, -1]),
    type: 'ShapeError',
    what: 'reshape: the number of elements differs',
    given: 'f32[2,3] (6 elements) to [4,-1]',
    remedy: 'sizes of the dimensions',
  },
  'expand of a dimension that is not 1': {
    make: () => f(2).expand([4]),
    type: 'ShapeError',
    what: "expand: the shapes don't broadcast",
    given: '[2] and [4]',
    remedy: 'reshape',
  },
  'a dimension out of range': {
    make: () => sum(f(2, 3), 2),
    type: 'ArgumentError',
    what: 'sum: no such dimension',
    given: 'dimension 2 of a tensor with 2 dimensions',
    remedy: 'count dimensions from 0',
  },
  'an entry out of range': {
    make: () => f(2, 3).select(1, 3),
    type: 'ArgumentError',
    what: 'select: no such entry',
    given: 'index 3 in dimension 1 of f32[2,3]',
    remedy: 'check the index',
  },
  'a range that leaves the dimension': {
    make: () => f(2, 3).narrow(1, 2, 2),
    type: 'ArgumentError',
    what: 'narrow: the range leaves the dimension',
    given: 'start 2, length 2',
    remedy: 'clip the range',
  },
  'an order that is not one': {
    make: () => f(2, 3).permute([0, 0]),
    type: 'ArgumentError',
    what: 'permute: not an order of all dimensions',
    given: '[0,0] for f32[2,3]',
    remedy: 'list every dimension',
  },
  'the largest of nothing': {
    make: () => f(0).max(),
    type: 'ShapeError',
    what: 'max: nothing to choose from',
    given: 'f32[0]',
    remedy: 'empty batches',
  },
  'an item of many': {
    make: () => f(2).itemSync(),
    type: 'ShapeError',
    what: 'itemSync: not a single value',
    given: 'f32[2] with 2 elements',
    remedy: 'reduce it first',
  },
  'a fraction into integers': {
    make: () => i(2).add_(0.5),
    type: 'DTypeError',
    what: "add_: the target's dtype can't hold the result",
    given: 'target i32[2], operand 0.5',
    remedy: 'out-of-place form',
  },
  'floats into integers': {
    make: () => i(2).mul_(f(2)),
    type: 'DTypeError',
    what: "mul_: the target's dtype can't hold the result",
    given: 'target i32[2], operand f32[2]',
    remedy: 'out-of-place form',
  },
  'a fraction of integers into integers': {
    make: () => i(2).add_(i(2), 0.5),
    type: 'DTypeError',
    what: "add_: the target's dtype can't hold the result",
    given: 'target i32[2], operand 0.5',
    remedy: 'out-of-place form',
  },
  'a number into truth values': {
    make: () => tensor([true]).add_(1),
    type: 'DTypeError',
    what: "add_: the target's dtype can't hold the result",
    given: 'target bool[1], operand 1',
    remedy: 'out-of-place form',
  },
  'a difference of truth values': {
    make: () => tensor([true]).sub(tensor([false])),
    type: 'DTypeError',
    what: 'sub: booleans have no differences',
    given: 'bool[1]',
    remedy: 'ne()',
  },
  'an array as operand': {
    make: () => f(2).add([1, 2] as unknown as Tensor),
    type: 'ArgumentError',
    what: 'add: an operand is not a tensor',
    given: '[1, 2]',
    remedy: 'tensor([1, 2])',
  },
  'nothing as operand, in place': {
    make: () => f(2).mul_(undefined as unknown as Tensor),
    type: 'ArgumentError',
    what: 'mul_: an operand is not a tensor',
    given: 'undefined',
    remedy: 'check where the value comes from',
  },
  'an expanded target': {
    make: () => f(1).expand([3]).add_(1),
    type: 'ArgumentError',
    what: 'add_: several elements of the target are one place in memory',
    given: 'an expanded f32[3] tensor',
    remedy: 'clone()',
  },
  'a value with dimensions': {
    make: () => f(2).fill_(f(1)),
    type: 'ShapeError',
    what: 'fill_: the value has dimensions',
    given: 'f32[1]',
    remedy: 'copy_',
  },
  'a result larger than the target': {
    make: () => f(2).add_(f(2, 2)),
    type: 'ShapeError',
    what: 'add_: the result would be larger than the target',
    given: 'target f32[2], operand f32[2,2]',
    remedy: 'out-of-place form',
  },
  'ragged arrays': {
    make: () => tensor([[1, 2], [3]]),
    type: 'ShapeError',
    what: 'tensor: the nested arrays have different lengths',
    given: 'length 1 at depth 1, where the first entries have shape [2,2]',
    remedy: 'pad the shorter',
  },
  'numbers beside arrays': {
    make: () => tensor([[1], 2] as NestedArray),
    type: 'ShapeError',
    what: 'tensor: the nested arrays have different lengths',
    given: 'a number at depth 1',
    remedy: 'pad the shorter',
  },
  'text in the data': {
    make: () => tensor([1, '2'] as unknown as NestedArray),
    type: 'ArgumentError',
    what: 'tensor: not numbers',
    given: "'2' in the data at depth 1",
    remedy: 'convert the data',
  },
  'a promise in the data': {
    make: () => tensor([tensor(1).item()] as unknown as NestedArray),
    type: 'ArgumentError',
    what: 'tensor: not numbers',
    given: 'a Promise in the data at depth 1',
    remedy: 'await it first',
  },
  'nothing as data': {
    make: () => tensor(null as unknown as NestedArray),
    type: 'ArgumentError',
    what: 'tensor: not numbers',
    given: 'null in the data',
    remedy: 'convert the data',
  },
  'a typed array without dtype': {
    make: () => tensor(new Uint16Array(2) as unknown as Float32Array),
    type: 'ArgumentError',
    what: 'tensor: no dtype for this kind of array',
    given: 'Uint16Array',
    remedy: 'Float32Array.from',
  },
  'a shape that does not fit the data': {
    make: () => tensor([1, 2, 3], { shape: [2, 2] }),
    type: 'ShapeError',
    what: 'tensor: the shape does not fit the data',
    given: '3 elements for shape [2,2]',
    remedy: 'check the shape',
  },
  'a negative size': {
    make: () => zeros([-1]),
    type: 'ArgumentError',
    what: 'zeros: not a shape',
    given: '[-1]',
    remedy: 'zeros([2, 3])',
  },
  'a size instead of a shape': {
    make: () => zeros(3 as unknown as number[]),
    type: 'ArgumentError',
    what: 'zeros: not a shape',
    given: '3',
    remedy: 'zeros([2, 3])',
  },
  'a disposed tensor': {
    make: () => {
      const x = f(2, 2);
      x.dispose();
      return x.add(1);
    },
    type: 'DisposedError',
    what: 'add: the tensor has been disposed',
    given: 'a disposed f32[2,2] tensor',
    remedy: 'return the tensor from tidy()',
  },
  'a gradient of integers': {
    make: () => i(2).requiresGrad_(),
    type: 'DTypeError',
    what: 'requiresGrad_: only floating-point',
    given: 'i32[2]',
    remedy: "x.to('float32')",
  },
  'another device': {
    make: () => f(2).to('tpu'),
    type: 'DeviceError',
    what: 'no such device',
    given: "'tpu'",
    remedy: 'check the name',
  },
  'operands on two devices': {
    make: () => f(2).add(f(2).to('meta')),
    type: 'DeviceError',
    what: 'add: operands on different devices',
    given: 'f32[2] on cpu, f32[2] on meta',
    remedy: "x.to('cpu')",
  },
  'values of the meta device': {
    make: () => f(2).to('meta').dataSync(),
    type: 'DeviceError',
    what: 'meta: no data to read',
    given: "a tensor on the 'meta' device",
    remedy: 'device with memory',
  },
};

function caught(make: () => unknown): TostaticError {
  try {
    tidy(make);
  } catch (error) {
    if (error instanceof TostaticError) return error;
    throw error;
  }
  return expect.fail('no error');
}

describe('mistakes are explained at the line of the user', () => {
  for (const [name, mistake] of Object.entries(mistakes)) {
    it(name, () => {
      const error = caught(mistake.make);
      expect(error.name).toBe(mistake.type);
      expect(error.message).toContain(mistake.what);
      expect(error.given).toContain(mistake.given);
      expect(error.remedy).toContain(mistake.remedy);
      expect(error.expected).not.toBe('');
      expect(error.at?.file).toBe(import.meta.filename);
      for (const part of [
        error.given,
        error.expected,
        error.remedy,
        `errors.test.ts:${error.at!.line}`,
      ]) {
        expect(error.message).toContain(part);
      }
    });
  }

  it('the position is that of the failing call', () => {
    const error = caught(() => {
      const x = f(2);
      return x.add(f(3));
    });
    const here = /errors\.test\.ts:(\d+)/.exec(new Error().stack!)!;
    expect(Number(here[1]) - error.at!.line).toBe(2);
  });
});
