/** Mistakes of the first hour, of someone who comes from PyTorch, NumPy or TensorFlow.js: what each error says, captured as eagerly. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  ArgumentError,
  crossEntropy,
  data,
  einsum,
  huberLoss,
  l1Loss,
  mseLoss,
  nn,
  oneHot,
  ones,
  optim,
  slice,
  smoothL1Loss,
  Tensor,
  tensor,
  toStatic,
  where,
  zeros,
} from '../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript
type Any = any;
const [Layers, Optimizers, Data] = [nn as Any, optim as Any, data as Any];
const call = (fn: unknown, ...args: unknown[]) => (fn as (...args: unknown[]) => unknown)(...args);
const x = ones([2, 3]) as Any;
const linear = new nn.Linear(3, 4);
const sgd = () => new optim.SGD(linear.parameters(), { lr: 1 });
const model = new nn.Sequential(linear, new nn.ReLU());
const labels = tensor([0, 1], { dtype: 'int32' });

const mistakes: Readonly<Record<string, readonly [attempt: () => unknown, says: RegExp]>> = {
  // What an optimizer is given.
  'a Sequential to optimize': [
    () => new Optimizers.Adam(model),
    /0 is not a tensor[\s\S]*a Linear[\s\S]*model\.parameters/,
  ],
  'a list of modules to optimize': [() => new Optimizers.Adam([linear]), /a Linear/],
  'a group of a module': [
    () => new Optimizers.SGD([{ params: linear }], { lr: 1 }),
    /not parameters\n[\s\S]*a Linear/,
  ],
  'a group of a Sequential': [() => new Optimizers.SGD([{ params: model }], { lr: 1 }), /a Linear/],
  'one tensor to optimize': [
    () => new Optimizers.SGD(linear.weight, { lr: 1 }),
    /not parameters\n[\s\S]*a Tensor/,
  ],
  'a group of one tensor': [
    () => new Optimizers.SGD([{ params: linear.weight }], { lr: 1 }),
    /not parameters/,
  ],
  'a Sequential to clip': [
    () => call(nn.utils.clipGradNorm_, model, 1),
    /not parameters[\s\S]*a Sequential[\s\S]*model\.parameters/,
  ],
  // Names in PyTorch's case.
  zero_grad: [
    () => (model as Any).zero_grad(),
    /Module has no method zero_grad[\s\S]*zeroGrad\(\)/,
  ],
  state_dict: [
    () => (model as Any).state_dict(),
    /Module has no method state_dict[\s\S]*stateDict\(\)/,
  ],
  load_state_dict: [() => (linear as Any).load_state_dict({}), /loadStateDict\(\)/],
  requires_grad_: [
    () => x.requires_grad_(),
    /Tensor has no method requires_grad_[\s\S]*requiresGrad_\(\)/,
  ],
  'zero_grad of an optimizer': [
    () => (sgd() as Any).zero_grad(),
    /Optimizer has no property zero_grad[\s\S]*zeroGrad\(\)/,
  ],
  param_groups: [
    () => (sgd() as Any).param_groups[0],
    /Optimizer has no property param_groups[\s\S]*paramGroups/,
  ],
  add_param_group: [() => (sgd() as Any).add_param_group({}), /addParamGroup\(\)/],
  get_last_lr: [
    () => (new optim.StepLR(sgd(), 1) as Any).get_last_lr(),
    /a schedule has no property get_last_lr[\s\S]*getLastLr\(\)/,
  ],
  last_epoch: [() => (new optim.StepLR(sgd(), 1) as Any).last_epoch, /the property epoch/],
  'state_dict of a plateau': [
    () => (new optim.ReduceLROnPlateau(sgd()) as Any).state_dict(),
    /a schedule has no property state_dict[\s\S]*stateDict\(\)/,
  ],
  is_leaf: [() => x.is_leaf, /Tensor has no property is_leaf[\s\S]*isLeaf/],
  log_softmax: [() => x.log_softmax(1), /logSoftmax\(\)/],
  'requires_grad as a property': [
    () => x.requires_grad,
    /no property requires_grad[\s\S]*x\.requiresGrad_\(\)/,
  ],
  'requires_grad = true': [
    () => {
      x.requires_grad = true;
    },
    /x\.requiresGrad_\(\)/,
  ],
  'requiresGrad = true': [
    () => {
      x.requiresGrad = true;
    },
    /no property requiresGrad to assign to[\s\S]*x\.requiresGrad_\(\)/,
  ],
  // Indices.
  'x[0]': [() => x[0], /no property 0\n[\s\S]*x\.index\(0\)/],
  'x.length': [() => x.length, /no property length\n[\s\S]*x\.shape\[0\]/],
  'x[0][1]': [() => x[0][1], /x\.index\(0, 1\)/],
  'x[0] = 1': [
    () => {
      x[0] = 1;
    },
    /x\.index\(0\)/,
  ],
  // What operands are.
  'a promise': [() => x.add(Promise.resolve(1)), /a Promise\n[\s\S]*await it/],
  'a number as text': [() => x.mul('2'), /'2'\n[\s\S]*Number\(value\)/],
  'a bigint': [() => x.mul(2n), /2n\n[\s\S]*Number\(value\)/],
  'a number where a tensor must be': [
    () => call(mseLoss, x, 3),
    /given: +3\n[\s\S]*numbers as tensor\(/,
  ],
  'a boolean as the condition': [() => call(where, true, x, x), /numbers as tensor\(/],
  'one side of where': [
    () => call(where, x.gt(0), x),
    /where: an operand is not a tensor\n[\s\S]*undefined/,
  ],
  'the other side of where': [
    () => call(where, x.gt(0), undefined, x),
    /where: an operand is not a tensor/,
  ],
  'tensors beside each other': [
    () => call(einsum, 'ij,kj->ik', x, x),
    /einsum\('ij,jk->ik', \[a, b\]\)/,
  ],
  'one-hot integers as labels': [
    () => crossEntropy(ones([2, 3]), oneHot(labels, 3)),
    /target\.argmax\(1\)/,
  ],
  'a dimension as text': [() => x.sum('1'), /dimension '1'/],
  // How tensors are made.
  'sizes beside each other': [() => call(zeros, 2, 3), /zeros\(\[2, 3\]\)/],
  'a shape after the data': [() => call(tensor, [1, 2, 3, 4], [2, 2]), /\{ shape: \[2, 2\] \}/],
  'the class in place of the function': [() => new (Tensor as Any)([1, 2]), /tensor\(\[1, 2\]\)/],
  'the class without anything': [
    () => new (Tensor as Any)(),
    /new Tensor: data[\s\S]*tensor\(\[1, 2\]\)/,
  ],
  'arrays of several lengths': [
    () => tensor([[1, 2], [3]]),
    /different lengths[\s\S]*length 1 at depth 1/,
  ],
  'a tensor of tensors': [() => call(tensor, [x, x]), /stack\(\[a, b\]\)/],
  'requires_grad as an option': [
    () => call(tensor, [1], { requires_grad: true }),
    /did you mean 'requiresGrad'/,
  ],
  // Devices, data, state.
  'the device of PyTorch': [() => x.to('cuda'), /init\('gpu'\)/],
  'a dtype of PyTorch': [() => x.to('float'), /'float32'/],
  'wide integers': [() => call(tensor, [1], { dtype: 'int64' }), /int32/],
  'tensors of a data set in an array': [
    () => new Data.TensorDataset([x, x]),
    /TensorDataset[\s\S]*one by one/,
  ],
  'labels beside the data': [
    () => new Data.DataLoader(x, labels),
    /options that are not an object\n[\s\S]*a Tensor/,
  ],
  'the state of a model for an optimizer': [
    () => sgd().loadStateDict(linear.stateDict() as Any),
    /not a state of an optimizer\n[\s\S]*weight, bias/,
  ],
  'no state for an optimizer': [
    () => call(() => sgd().loadStateDict(undefined as Any)),
    /undefined/,
  ],
  'no state': [
    () => call(linear.loadStateDict.bind(linear), undefined),
    /loadStateDict: not a state\n[\s\S]*undefined/,
  ],
  'a state that was not awaited': [
    () => call(linear.loadStateDict.bind(linear), Promise.resolve({})),
    /loadStateDict: not a state\n[\s\S]*a Promise/,
  ],
  'options in a list': [() => new Layers.Linear(2, 3, [false]), /options that are not an object/],
};

function thrownBy(attempt: () => unknown): Error | undefined {
  try {
    attempt();
  } catch (error) {
    return error as Error;
  }
  return undefined;
}

describe.each(Object.entries(mistakes))('%s', (_name, [attempt, says]) => {
  it('is named, with its place in the file', () => {
    const error = thrownBy(attempt);
    expect(error?.message).toMatch(says);
    expect(error?.message).toMatch(/at: {7}.*first-hour\.test\.ts:\d+:\d+\n/);
  });

  it('is the same error captured', () => {
    const withoutPlace = (error: Error | undefined) =>
      `${error?.name}: ${error?.message.replace(/\n {2}at: .*/, '')}`;
    const eager = withoutPlace(thrownBy(attempt));
    for (const options of [{}, { capture: 'auto' }] as const) {
      const captured = toStatic(attempt, options);
      for (let i = 0; i < 2; i++) expect(withoutPlace(thrownBy(captured))).toBe(eager);
    }
  });
});

it('what errors say about indices can be run', () => {
  const y = tensor([
    [1, 2],
    [3, 4],
  ]);
  for (const attempt of [() => (y as Any)[0], () => (y as Any).index('a')]) {
    const remedy = thrownBy(attempt)!.message.split('remedy:')[1]!;
    const calls = remedy.match(/x\.index\((\w+\(.*?\)|[^()])*\)/g)!;
    for (const code of calls) new Function('x', 'slice', `return ${code}`)(y, slice);
    expect(calls.length).toBeGreaterThan(0);
  }
  expect(y.index(0, 1).itemSync()).toBe(2);
});

it('every method in camel case names itself in the other case', () => {
  for (const name of ['scatter_add', 'index_select', 'masked_fill', 'retain_grad']) {
    expect(() => x[name]()).toThrow(ArgumentError);
  }
  expect(x.log_).toBeTypeOf('function');
});

it('w.data = x, which replaces the elements in PyTorch, is not ignored', () => {
  const assigned = () => {
    const w = ones([2]) as Any;
    w.data = zeros([2]);
  };
  for (const attempt of [assigned, toStatic(assigned)]) expect(attempt).toThrow(/read only.*data/);
});

describe('a target that is broadcast', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  for (const loss of [mseLoss, l1Loss, smoothL1Loss, huberLoss]) {
    it(`${loss.name} warns once, with the line, captured as eagerly, and computes what it is given`, () => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
      // Ranks that no other file of this process has: each pair of them warns once.
      const scores = tensor([1, 2, 3]).reshape([3, 1, 1, 1, 1, 1]);
      const targets = tensor([1, 2, 3]).reshape([1, 1, 1, 1, 3]);
      const step = (x: Tensor, y: Tensor) => loss(x, y);
      const captured = toStatic(step);
      step(scores, scores);
      expect(warn).not.toHaveBeenCalled();
      for (let i = 0; i < 3; i++) {
        const all = step(scores, targets);
        expect(captured(scores, targets).itemSync()).toBe(all.itemSync());
      }
      expect(warn.mock.calls).toEqual([
        [expect.stringMatching(new RegExp(`${loss.name} .*first-hour\\.test\\.ts:\\d+`))],
      ]);
      // Another pair of ranks is another mistake.
      captured(scores, tensor(1));
      captured(scores, tensor(1));
      expect(warn).toHaveBeenCalledTimes(2);
    });
  }
});
