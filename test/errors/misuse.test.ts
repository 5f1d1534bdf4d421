/** What someone writes who doesn't know the API yet: each is an error of the library that says what was meant. */

import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import {
  ArgumentError,
  checkpoint,
  customFunction,
  DTypeError,
  data,
  deviceGuard,
  einsum,
  enableGrad,
  full,
  huberLoss,
  nn,
  noGrad,
  normal,
  ones,
  optim,
  plot,
  profiler,
  randint,
  randperm,
  relu,
  seed,
  smoothL1Loss,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  vmap,
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
    () => new Optimizers.MultiplicativeLR(sgd(), async () => 1),
    /^MultiplicativeLR: lrLambda[\s\S]*an async function/,
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
  'a module that waits, with other tensors': [
    () => {
      class Waits extends nn.Module {
        readonly linear = new nn.Linear(2, 2);
        override async forward(x: Tensor): Promise<Tensor> {
          return this.linear.forward(x);
        }
      }
      nn.functionalCall(new Waits(), { 'linear.weight': ones([2, 2]) }, [ones([1, 2])]);
    },
    /functionalCall: the function is async/,
  ],
  'a function of several results that is none': [
    () => call(call(vmap, () => 1) as Any, ones([2])),
    /vmap: not a list of tensors/,
  ],
  'a probability above 1': [
    () => ones([2]).bernoulli_(2),
    /probability is not a number from 0 to 1/,
  ],
  'a negative deviation': [() => ones([2]).normal_(0, -1), /deviation is not a number, 0 or more/],
  'a negative deviation of new numbers': [() => normal(0, -1, [2]), /normal: deviation/],
  'a rate of 0': [() => ones([2]).exponential_(0), /rate is not a number above 0/],
  'a deviation of 0': [() => ones([2]).logNormal_(0, 0), /deviation is not a number above 0/],
  'a negative scale': [() => ones([2]).cauchy_(0, -1), /scale is not a number above 0/],
  'bounds in the wrong order': [() => ones([2]).uniform_(1, 0), /high is not a number, 1 or more/],
  'bounds of an initializer in the wrong order': [
    () => nn.init.uniform_(ones([2]), 1, 0),
    /uniform_: b is not a number, 1 or more/,
  ],
  'a negative deviation of an initializer': [
    () => nn.init.normal_(ones([2]), 0, -1),
    /normal_: std is not a number, 0 or more/,
  ],
  'slopes in the wrong order': [() => new nn.RReLU(0.5, 0.1), /RReLU: upper has a wrong value/],
  'a negative delta': [() => huberLoss(ones([2]), ones([2]), { delta: -1 }), /delta = -1/],
  'a negative beta': [() => smoothL1Loss(ones([2]), ones([2]), { beta: -1 }), /beta = -1/],
  'a probability that is assigned as text': [
    () => {
      const layer = new nn.Dropout(0.5) as Any;
      layer.p = 'a';
      layer.forward(ones([2]));
    },
    /dropout: p is not a number/,
  ],
  'a rate that is assigned and missing': [
    () => {
      const optimizer = sgd();
      optimizer.groups[0]!.lr = ({} as Any).lr;
      optimizer.step();
    },
    /lr of a parameter group has a wrong value[\s\S]*undefined/,
  ],
  'a decay that is assigned as text': [
    () => {
      const optimizer = new optim.AdamW(linear.parameters(), { lr: 0.1 });
      (optimizer.groups[0] as Any).weightDecay = '0.1';
      optimizer.step();
    },
    /weightDecay of a parameter group has a wrong value[\s\S]*'0\.1'/,
  ],
  'a class in place of a layer': [
    () => new Layers.Sequential(nn.ReLU),
    /not a layer[\s\S]*construct it: new nn\.ReLU\(\)/,
  ],
  'the first of a list': [() => (new nn.ModuleList([linear]) as Any)[0], /list\.at\(0\)/],
  'the first of a sequence': [() => (new nn.Sequential(linear) as Any)[0], /list\.at\(0\)/],
  'channels that groups do not divide': [
    () => new nn.Conv2d(3, 4, 3, { groups: 2 }),
    /Conv2d: the channels can't be divided among the groups\n.*3 and 4 channels, 2 groups/,
  ],
  'transposed channels that groups do not divide': [
    () => new nn.ConvTranspose2d(4, 3, 3, { groups: 2 }),
    /ConvTranspose2d: the channels can't be divided/,
  ],
  'a loss for a step': [
    () => call(() => sgd().step(ones([]) as Any)),
    /Optimizer\.step[\s\S]*a Tensor/,
  ],
  'a tensor to plot': [
    () => plot(ones([3]) as Any),
    /plot: curves has a wrong value[\s\S]*a Tensor/,
  ],
  'a promise of data': [() => tensor(Promise.resolve([1]) as Any), /a Promise[\s\S]*await it/],
  'bytes without a type': [() => tensor(new ArrayBuffer(8) as Any), /an ArrayBuffer in the data/],
  'a view without a type': [
    () => tensor(new DataView(new ArrayBuffer(8)) as Any),
    /a DataView in the data/,
  ],
  'a method of NumPy': [() => (ones([2]) as Any).astype('int32'), /x\.to\('float32'\) casts/],
  'a method of TensorFlow.js': [() => (ones([2]) as Any).arraySync(), /x\.tolist\(\)/],
};

it('a name like that of a dtype is an error of dtypes', () => {
  expect(() => ones([2]).to('int64')).toThrow(/^to: no such dtype[\s\S]*int32 and uint8/);
  expect(() => linear.to('float')).toThrow(DTypeError);
});

const scopes: Readonly<Record<string, (body: () => unknown) => unknown>> = {
  noGrad,
  enableGrad,
  tidy,
  deviceGuard: (body) => deviceGuard('cpu', body),
  checkpoint: (body) => checkpoint(body),
};

it.each(Object.entries(scopes))(
  '%s rejects an async function, which continues outside, captured as eagerly',
  (name, scope) => {
    const waits = async () => {};
    const uses: readonly ((x: Tensor) => unknown)[] = [
      (x) => scope(async () => x.add(1)),
      (x) => scope(waits) ?? x,
      (x) => scope(waits.bind(null)) ?? x,
    ];
    for (const use of uses) {
      const captured = toStatic(use);
      for (const run of [use, captured, captured]) {
        expect(() => run(ones([2]))).toThrow(`${name}: the function is async`);
      }
    }
  },
);

it.each(Object.entries(misuses))('%s', (_name, [attempt, message]) => {
  expect(attempt).toThrow(ArgumentError);
  expect(attempt).toThrow(message);
});

// Tests of wrong arguments capture the others.
it.each(Object.entries(misuses).filter(([name]) => / is assigned | waits,/.test(name)))(
  '%s, captured',
  (_name, [attempt, message]) => {
    const captured = toStatic(attempt);
    for (let i = 0; i < 2; i++) expect(captured).toThrow(message);
  },
);

it('an error that nothing catches prints its facts once', () => {
  try {
    linear.forward(ones([2, 2]));
    expect.unreachable();
  } catch (error) {
    expect(inspect(error).match(/remedy/g)).toHaveLength(1);
    expect(error).toMatchObject({
      given: expect.stringContaining('f32[2,2]'),
      remedy: expect.stringContaining('new nn.Linear'),
      layer: undefined,
    });
  }
});
