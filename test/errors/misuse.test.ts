/** What someone writes who doesn't know the API yet: each is an error of the library that says what was meant. */

import { expect, it } from 'vitest';
import {
  ArgumentError,
  customFunction,
  DTypeError,
  data,
  deviceGuard,
  einsum,
  enableGrad,
  full,
  nn,
  noGrad,
  normal,
  ones,
  optim,
  profiler,
  randint,
  randperm,
  relu,
  seed,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const linear = new nn.Linear(3, 4);
const sgd = () => new optim.SGD(linear.parameters(), { lr: 0.1 });

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript
type Any = any;
const [Layers, Optimizers, Data] = [nn as Any, optim as Any, data as Any];
const plateau = new optim.ReduceLROnPlateau(sgd());
const call = (fn: unknown, ...args: unknown[]) => (fn as (...args: unknown[]) => unknown)(...args);

/** Runs a layer with a hook forward and backward. */
function hooked(register: string, hook: unknown): void {
  const layer: Any = new nn.Linear(3, 4);
  layer[register](hook);
  layer
    .forward(ones([1, 3]))
    .sum()
    .backward();
}

const misuses: Readonly<Record<string, readonly [call: () => unknown, message: RegExp]>> = {
  'a layer without a size': [() => new Layers.Linear(3), /nn\.Linear: outFeatures is not a size/],
  'a size as text': [() => new Layers.Linear('3', 4), /inFeatures = '3'/],
  'a negative size': [() => new Layers.Linear(3, -4), /outFeatures = -4/],
  'a fraction of a feature': [() => new Layers.Bilinear(3, 2.5, 1), /in2 = 2\.5/],
  'a network without a hidden size': [() => new Layers.LSTM(16), /nn\.LSTM: hiddenSize/],
  'a cell without a hidden size': [() => new Layers.GRUCell(16), /nn\.GRUCell: hiddenSize/],
  'an embedding without a size': [() => new Layers.Embedding(10), /nn\.Embedding: size/],
  'a norm without a shape': [() => new Layers.LayerNorm(), /nn\.LayerNorm: shape/],
  'a norm without features': [() => new Layers.BatchNorm2d(), /nn\.BatchNorm2d: numFeatures/],
  'groups without channels': [() => new Layers.GroupNorm(2), /nn\.GroupNorm: numChannels/],
  'a convolution without channels': [() => new Layers.Conv2d({}), /nn\.Conv2d: inChannels/],
  'attention without heads': [() => new Layers.MultiheadAttention(8), /numHeads = undefined/],
  'a list of layers': [() => new Layers.Sequential([linear]), /Sequential\(\.\.\.layers\)/],
  'a function as a layer': [() => new Layers.Sequential(relu), /wrap a function in a module/],
  'a mode as text': [() => call(linear.train.bind(linear), 'eval'), /train: not a mode/],
  'a module to optimize': [() => new Optimizers.SGD(linear, { lr: 1 }), /model\.parameters\(\)/],
  'an optimizer without a rate': [() => new Optimizers.SGD(linear.parameters()), /SGD: options/],
  'a rate alone': [() => new Optimizers.SGD(linear.parameters(), 0.1), /SGD: options/],
  'a schedule of a module': [() => new Optimizers.StepLR(linear, 2), /scheduler: not an optimizer/],
  'a schedule without steps': [() => new Optimizers.StepLR(sgd()), /stepSize = undefined/],
  'a module to clip': [() => call(nn.utils.clipGradNorm_, linear, 1), /model\.parameters\(\)/],
  'a loader of a number': [() => new Data.DataLoader(5), /DataLoader: not a data set/],
  'no operand': [() => call(relu), /relu: an operand is not a tensor/],
  'numbers as operand': [() => call(relu, [1, 2]), /tensor\(\[1, 2\]\)/],
  'an equation without tensors': [() => call(einsum, 'ij,jk'), /einsum: not a list of tensors/],
  'an index out of nothing': [() => ones([2]).index(undefined as never), /undefined as index 0/],
  'a shape without a value': [() => call(full, [2]), /full: value is not a number/],
  'a range without its end': [() => call(randint, 10), /randint: high is not a number/],
  'no function for noGrad': [() => call(noGrad), /noGrad: not a function/],
  'a list of functions': [() => new Layers.ModuleList([relu]), /ModuleList: not a module/],
  'random integers without a shape': [() => call(randint, 0, 10), /^randint: not a shape/],
  'random numbers without a shape': [() => call(normal, 0, 1), /^normal: not a shape/],
  'a permutation of a text': [() => call(randperm, 'a'), /^randperm: n is not a number/],
  'a number in an options object': [() => call(full, [2], { value: 1 }), /by its position/],
  'a text as a number': [() => call(full, [2], 'a'), /remedy: +pass a number/],
  'a metric that was not awaited': [
    () => call(plateau.step.bind(plateau), Promise.resolve(1)),
    /ReduceLROnPlateau\.step: measure/,
  ],
  'a factor without a return': [
    () => new Optimizers.LambdaLR(sgd(), () => {}),
    /^LambdaLR: factor has a wrong value\n.*undefined/,
  ],
  'an asynchronous factor': [
    () => new Optimizers.MultiplicativeLR(sgd(), async () => 1).step(),
    /^MultiplicativeLR: factor/,
  ],
  'a custom function without a result': [
    () => customFunction({ forward: (() => {}) as Any, backward: () => null })(ones([1])),
    /^forward of customFunction: result has a wrong value\n.*undefined/,
  ],
  'a gradient without a return': [
    () => {
      const doubled = customFunction({
        forward: (_, x: Tensor) => x.mul(2),
        backward: (() => {}) as Any,
      });
      doubled(ones([1], { requiresGrad: true })).backward();
    },
    /^backward of customFunction: result has a wrong value\n.*undefined/,
  ],
  'a gradient that is a number': [
    () => {
      const doubled = customFunction({
        name: 'doubled',
        forward: (_, x: Tensor) => x.mul(2),
        backward: (() => 2) as Any,
      });
      doubled(ones([1], { requiresGrad: true })).backward();
    },
    /^backward of doubled: result has a wrong value/,
  ],
  'a loader of an object without samples': [
    () => new Data.DataLoader({ length: 4 }),
    /DataLoader: not a data set/,
  ],
  'an asynchronous hook': [() => hooked('registerForwardHook', async () => {}), /a Promise/],
  'an asynchronous hook before': [
    () => hooked('registerForwardPreHook', async () => {}),
    /a Promise/,
  ],
  'an asynchronous hook of a gradient': [
    () => hooked('registerBackwardHook', async () => {}),
    /^a gradient hook returned.*\n.*a Promise/,
  ],
  'attention without keys': [
    () => new Layers.MultiheadAttention(4, 2).forward(ones([2, 1, 4])),
    /^MultiheadAttention: an operand/,
  ],
  'a decoder without memory': [
    () => new Layers.TransformerDecoderLayer(4, 2).forward(ones([2, 1, 4])),
    /^TransformerDecoderLayer: an operand/,
  ],
  "a registration in PyTorch's case": [
    () => (linear as Any).register_buffer('b', ones([1])),
    /register_buffer.*\n.*\n.*\n.*\n.*buffer\(tensor\)/,
  ],
  'no function for tidy': [() => call(tidy), /tidy: not a function/],
  'no function for a guard': [() => call(deviceGuard, 'cpu'), /deviceGuard: not a function/],
  'no function for the profiler': [() => call(profiler.profile), /profile: not a function/],
  'a seed as text': [() => call(seed, 'one'), /seed: not a number/],
  'a switch that is a text': [
    () => toStatic((x: Tensor) => x, { memory: { slices: 'no' as Any } }),
    /toStatic: memory: slices has a wrong value/,
  ],
  'masks of no known form': [
    () => toStatic((x: Tensor) => x, { memory: { savedMasks: 'bytes' as Any } }),
    /savedMasks has a wrong value\n.*\n.*true, false or 'bits'/,
  ],
  'a pass that is a number': [
    () => toStatic((x: Tensor) => x, { passes: { slices: 0 as Any } }),
    /toStatic: passes: slices has a wrong value/,
  ],
  'no options of memory': [
    () => toStatic((x: Tensor) => x, { memory: null as Any }),
    /toStatic: memory has a wrong value/,
  ],
  'a scope that is a number': [
    () => toStatic((x: Tensor) => x, { scope: 5 as Any }),
    /toStatic: scope has a wrong value/,
  ],
  'a text as a number of runs': [
    () => toStatic((x: Tensor) => x, { check: '3' as Any }),
    /toStatic: check is not a number of runs\n.*'3'/,
  ],
  'a method of TensorFlow.js': [() => (ones([2]) as Any).arraySync(), /x\.tolist\(\)/],
};

it('a name like that of a dtype is an error of dtypes', () => {
  expect(() => ones([2]).to('int64')).toThrow(/^to: no such dtype[\s\S]*int32 and uint8/);
  expect(() => linear.to('float')).toThrow(DTypeError);
});

it.each([noGrad, enableGrad, tidy])(
  '$name rejects an async function, which continues outside, captured as eagerly',
  (scope) => {
    const waits = async () => {};
    const uses: readonly ((x: Tensor) => unknown)[] = [
      (x) => scope(async () => x.add(1)),
      (x) => scope(waits) ?? x,
      (x) => scope(waits.bind(null)) ?? x,
    ];
    for (const use of uses) {
      const captured = toStatic(use);
      for (const run of [use, captured, captured]) {
        expect(() => run(ones([2]))).toThrow(`${scope.name}: the function is async`);
      }
    }
  },
);

it.each(Object.entries(misuses))('%s', (_name, [attempt, message]) => {
  expect(attempt).toThrow(ArgumentError);
  expect(attempt).toThrow(message);
});
