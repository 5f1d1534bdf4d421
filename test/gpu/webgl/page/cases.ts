/** Computations that must agree between the CPU and WebGL2; each makes its own operands, on the device of a guard. */

import {
  arange,
  cat,
  conv2d,
  crossEntropy,
  flip,
  gather,
  gelu,
  layerNorm,
  maxPool2d,
  rand,
  randn,
  roll,
  seed,
  softmax,
  sort,
  type Tensor,
  tensor,
  where,
} from '../../../../runtime/index.ts';

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -2.5,
  3,
  7,
  -7,
  88,
  -88,
  100,
  -100,
  1e20,
  Infinity,
  -Infinity,
  NaN,
];

const special = () => tensor(specials);
const pairs = (): [Tensor, Tensor] => [special().unsqueeze(0), special().unsqueeze(1)];

/** Uniform in [-1, 1), the same on every device. */
function numbers(shape: readonly number[], salt = 1): Tensor {
  seed(salt);
  return rand(shape).mul(2).add(-1);
}

/** The gradient of a scalar function, of weights that differ per element. */
function gradient(x: Tensor, fn: (x: Tensor) => Tensor): Tensor {
  x.requiresGrad_();
  const y = fn(x);
  y.mul(numbers(y.shape, 9)).sum().backward();
  return x.grad!;
}

/** The whole of what a body wrote to. */
function written(shape: readonly number[], write: (x: Tensor) => Tensor): Tensor {
  const x = numbers(shape);
  write(x);
  return x;
}

const labels = () => tensor(new Int32Array([1, 0, 3, -100]));

export const cases: Readonly<Record<string, () => Tensor>> = {
  'pointwise special values': () => cat([special().exp(), special().tanh(), special().sqrt()]),
  'logarithms of special values': () => special().log(),
  'sine and cosine': () =>
    numbers([64])
      .mul(50)
      .sin()
      .add(numbers([64]).cos()),
  'powers and quotients of pairs': () => pairs()[0].div(pairs()[1]).add(pairs()[0].pow(2)),
  'maxima of pairs': () => pairs()[0].maximum(pairs()[1]),
  'comparisons of pairs': () => pairs()[0].gt(pairs()[1]),
  'unequal pairs': () => pairs()[0].ne(pairs()[1]),
  'a choice by a mask': () => where(special().gt(0), special(), special().neg()),
  'integers to 2^24': () => tensor(new Int32Array([2 ** 24, -(2 ** 24), 7, -7])).add(-1),
  'random numbers': () => {
    seed(3);
    return randn([130]);
  },
  'broadcast operands of any strides': () =>
    numbers([5, 1, 3])
      .transpose(0, 2)
      .mul(numbers([4, 5]))
      .narrow(1, 1, 2),
  'a tensor of several rows of a texture': () => numbers([3, 2001]).add(numbers([2001], 2)),
  'a view that begins inside of a row': () => numbers([9000]).narrow(0, 2047, 4500).mul(3),
  'sums of every dimension': () => numbers([3, 4, 5]).sum([0, 2]),
  'a long sum': () => numbers([5000]).sum(),
  'maxima along a dimension': () => numbers([3, 4, 5]).amax(1, { keepDim: true }),
  'places of maxima': () => numbers([6, 7]).argmax(1),
  'a cumulative sum': () => numbers([4, 9]).cumsum(1),
  'a product of matrices': () => numbers([17, 33]).matmul(numbers([33, 9], 2)),
  'batches of transposed products': () =>
    numbers([3, 5, 4]).matmul(numbers([3, 6, 4], 2).transpose(1, 2)),
  softmax: () => softmax(numbers([5, 7]), -1),
  'logarithms of softmax of long rows': () => numbers([3, 900]).logSoftmax(-1),
  'a convolution': () =>
    conv2d(numbers([2, 3, 9, 8]), numbers([4, 3, 3, 3], 2), null, { padding: 1 }),
  'its gradient by the input': () =>
    gradient(numbers([2, 3, 9, 8]), (x) =>
      conv2d(x, numbers([4, 3, 3, 3], 2), null, { stride: 2 }),
    ),
  'its gradient by the weight': () =>
    gradient(numbers([4, 3, 3, 3], 2), (w) =>
      conv2d(numbers([2, 3, 9, 8]), w, null, { padding: 1 }),
    ),
  'pooling and its gradient': () => gradient(numbers([2, 3, 8, 8]), (x) => maxPool2d(x, 2)),
  'a loss': () => crossEntropy(numbers([4, 5]), labels()),
  'the gradient of a loss': () => gradient(numbers([4, 5]), (x) => crossEntropy(x, labels())),
  'the gradient of an activation': () => gradient(special().clamp(-20, 20), (x) => gelu(x)),
  'the gradient of broadcasting': () => gradient(numbers([4, 1]), (x) => x.mul(numbers([3, 4, 5]))),
  'layer norm and its gradient': () => gradient(numbers([6, 10]), (x) => layerNorm(x, [10])),
  'gathered elements': () =>
    gather(numbers([3, 4]), 1, tensor(new Int32Array([0, 3, 1, 2, 2, 2]), { shape: [3, 2] })),
  'indexed rows and their gradient': () =>
    gradient(numbers([6, 3]), (x) => x.indexSelect(0, tensor(new Int32Array([4, 4, 0])))),
  'sorted rows': () => sort(numbers([4, 9]), 1)[0],
  'joined, flipped and rolled': () =>
    roll(flip(cat([numbers([2, 3]), numbers([4, 3], 2)]), [0]), 2, 1),
  'a range': () => arange(0, 30, 3),
  'a write to a whole tensor': () => written([3, 4], (x) => x.mul_(3).add_(x.clone())),

  'a write to a part': () => written([40], (x) => x.narrow(0, 7, 9).fill_(5)),
  'a write to columns': () => written([5, 7], (x) => x.narrow(1, 2, 3).add_(10)),
  'a write to a transposed part': () =>
    written([6, 5], (x) =>
      x
        .transpose(0, 1)
        .narrow(0, 1, 2)
        .copy_(numbers([2, 6], 4)),
    ),
  'a write to a part of several rows of a texture': () =>
    written([9000], (x) => x.narrow(0, 2040, 4200).mul_(2)),
  'a write to columns of several rows of a texture': () =>
    written([50, 123], (x) => x.narrow(1, 60, 40).add_(numbers([50, 40], 2))),
  'a write from a neighbouring part': () =>
    written([20], (x) => x.narrow(0, 0, 10).copy_(x.narrow(0, 5, 10))),
  'an op that the CPU computes': () => numbers([5, 4]).cummax(0)[0],
};
