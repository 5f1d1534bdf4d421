/** Every function that creates tensors, with every option, in every mode: honoured or rejected as eagerly. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  asTensor,
  deviceGuard,
  empty,
  emptyLike,
  eye,
  FullGraphError,
  full,
  fullLike,
  linspace,
  loadProgram,
  manualSeed,
  normal,
  ones,
  onesLike,
  rand,
  randint,
  randLike,
  randn,
  randnLike,
  randperm,
  save,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
  zeros,
  zerosLike,
} from '../../../src/index.ts';
import { describeError, describeValues } from '../snapshot.ts';

// biome-ignore lint/suspicious/noExplicitAny: options of plain JavaScript, mistakes included.
type Options = any;
type Create = (x: Tensor, options: Options) => Tensor;

const creators: Readonly<Record<string, Create>> = {
  zeros: (_, options) => zeros([3], options),
  full: (_, options) => full([3], 2, options),
  tensor: (_, options) => tensor([1, 2, 3], options),
  'tensor of a typed array': (_, options) => tensor(new Float32Array(3), options),
  'asTensor of data': (_, options) => asTensor([1, 2, 3], options),
  'asTensor of a tensor': (x, options) => asTensor(x, options),
  arange: (_, options) => arange(3, options),
  'arange with a step': (_, options) => arange(0, 3, 0.5, options),
  linspace: (_, options) => linspace(0, 1, 3, options),
  eye: (_, options) => eye(2, 3, options),
  rand: (_, options) => rand([3], options),
  randn: (_, options) => randn([3], options),
  randint: (_, options) => randint(0, 9, [3], options),
  randperm: (_, options) => randperm(3, options),
  normal: (_, options) => normal(1, 2, [3], options),
  zerosLike: (x, options) => zerosLike(x, options),
  fullLike: (x, options) => fullLike(x, 2, options),
  randLike: (x, options) => randLike(x, options),
  randnLike: (x, options) => randnLike(x, options),
  newTensor: (x, options) => x.newTensor([1, 2, 3], options),
  newFull: (x, options) => x.newFull([3], 2, options),
};

/** Second names, and functions that share all of their code with one above: held eagerly. */
const relatives: Readonly<Record<string, Create>> = {
  empty: (_, options) => empty([3], options),
  ones: (_, options) => ones([3], options),
  emptyLike: (x, options) => emptyLike(x, options),
  onesLike: (x, options) => onesLike(x, options),
  newZeros: (x, options) => x.newZeros([3], options),
  newOnes: (x, options) => x.newOnes([3], options),
  newEmpty: (x, options) => x.newEmpty([3], options),
};

/** Of numbers that a run of the program computes. */
const dataDependent: Readonly<Record<string, Create>> = {
  'full of a number': (x, options) => full([3], x.sum().itemSync(), options),
  'tensor of a number': (x, options) => tensor([1, x.sum().itemSync()], options),
  'fullLike of a number': (x, options) => fullLike(x, x.sum().itemSync(), options),
  'arange to a number': (x, options) => arange(x.sum().itemSync() - 3, options),
  'zeros of a size': (x, options) => zeros([x.sum().itemSync()], options),
  'rand of a size': (x, options) => rand([x.sum().itemSync()], options),
  'in a branch': (x, options) =>
    x.sum().itemSync() > 3 ? full([3], 1, options) : full([3], 2, options),
};

const options: Readonly<Record<string, Options>> = {
  gradient: { requiresGrad: true },
  'all of them': { device: 'cpu', dtype: 'float64', requiresGrad: true },
  'integer gradient': { dtype: 'int32', requiresGrad: true },
  meta: { device: 'meta', requiresGrad: false },
  "a tensor's device": { device: tensor([1]).device, dtype: 'float64' },
  'an unknown device': { device: 'nowhere' },
  'an unknown name': { requiresGradient: true },
  'no boolean': { requiresGrad: 1 },
};

const modes: Readonly<Record<string, ToStaticOptions>> = {
  breaks: {},
  fullGraph: { fullGraph: true },
  auto: { capture: 'auto' },
};

/** What comes of the tensor that is created: itself, its kind, and its gradient, as a leaf. */
const using =
  (create: Create) =>
  (x: Tensor, given: Options): unknown[] => {
    const made = create(x, given);
    const facts = [made.dtype, made.device.name, made.requiresGrad, made.isLeaf];
    if (made.requiresGrad) made.mul(3).sum().backward();
    return [made.device.kind === 'meta' ? made.shape : made, made.grad, ...facts];
  };

function outcome(fn: (x: Tensor, given: Options) => unknown[], given: Options): unknown {
  manualSeed(7);
  try {
    return describeValues(fn(tensor([1, 2, 3]), given));
  } catch (error) {
    if (error instanceof FullGraphError) return error;
    // A program that can't be built shows the line of source below.
    const { error: name, message } = describeError(error) as { error: string; message: string };
    return { error: name, message: message.replace(/(\n +remedy: .*)[\s\S]*/, '$1') };
  }
}

describe.each(Object.entries({ ...creators, ...dataDependent }))('%s', (name, create) => {
  it.each(Object.keys(options))('%s', (which) => {
    const given = options[which];
    const expected = outcome(using(create), given);
    for (const [mode, staticOptions] of Object.entries(modes)) {
      const actual = outcome(toStatic(using(create), staticOptions), given);
      const mayBeRejected = mode === 'fullGraph' && name in dataDependent;
      if (mayBeRejected && actual instanceof FullGraphError) continue;
      expect(actual, `${name} with ${which} in ${mode}`).toEqual(expected);
    }
  });
});

it('each option is honoured eagerly', () => {
  const leaf = { dtype: 'float64', requiresGrad: true } as const;
  for (const [name, create] of Object.entries({ ...creators, ...relatives })) {
    const x = tensor([1, 2, 3]);
    expect(create(x, { device: 'meta' }).device.name, name).toBe('meta');
    if (name.startsWith('asTensor')) {
      expect(() => create(x, leaf), name).toThrow('no such option');
      continue;
    }
    const made = create(x, leaf);
    expect([made.dtype, made.requiresGrad, made.isLeaf], name).toEqual(['float64', true, true]);
    expect(() => create(x, options['integer gradient']), name).toThrow(/only floating-point/);
    expect(() => create(x, options['an unknown name']), name).toThrow(/no such option/);
  }
});

it('a mistake draws no random number', () => {
  manualSeed(7);
  const expected = rand([3]).tolist();
  manualSeed(7);
  expect(() => randint(0, 9, [3], { requiresGrad: true })).toThrow('floating-point');
  expect(rand([3]).tolist()).toEqual(expected);
});

it('a leaf that a captured step creates is trained in it', () => {
  const step = (x: Tensor) => {
    const w = ones([3], { requiresGrad: true });
    for (let i = 0; i < 3; i++) {
      w.mul(x).sum().backward();
      x = x.add(w.grad!);
    }
    return [w, w.grad, x];
  };
  for (const [mode, staticOptions] of Object.entries(modes)) {
    const captured = toStatic(step, staticOptions);
    for (const size of [3, 3, 5]) {
      const x = arange(size, { dtype: 'float32' }).narrow(0, size - 3, 3);
      expect(describeValues(captured(x)), mode).toEqual(describeValues(step(x)));
    }
    expect(captured.stats().breaks, mode).toEqual([]);
  }
});

describe("a tensor's device is an argument that breaks no graph", () => {
  const cpu = tensor([1]).device;
  const calls: Readonly<Record<string, (x: Tensor) => Tensor>> = {
    ...Object.fromEntries(
      Object.entries(creators).map(([name, create]) => [
        name,
        (x: Tensor) => create(x, { device: x.device }).sum().add(x.sum()),
      ]),
    ),
    to: (x) => x.mul(2).to(x.device),
    'a device from before the call': (x) => x.add(zeros([3], { device: cpu })),
    'in options that spread others': (x) => {
      const options = { device: x.device, dtype: x.dtype };
      return x.add(ones([3], { ...options, dtype: 'float32' }));
    },
    'of a size': (x) => arange(x.shape[0]!, { device: x.device }),
    'a guard': (x) => deviceGuard(x.device, () => zeros([3])).add(x),
  };

  it.each(Object.entries(calls))('%s', (_, call) => {
    const captured = toStatic(call, { fullGraph: true });
    for (const values of [
      [1, 2, 3],
      [4, 5, 6],
    ]) {
      const x = tensor(values);
      manualSeed(3);
      const expected = describeValues([call(x)]);
      manualSeed(3);
      expect(describeValues([captured(x)])).toEqual(expected);
    }
    expect(captured.stats().breaks).toEqual([]);
  });

  it('a call on another device is traced anew', () => {
    const captured = toStatic((x: Tensor) => x.add(zeros([3], { device: x.device })));
    expect(captured(tensor([1, 2, 3])).device.name).toBe('cpu');
    expect(captured(tensor([1, 2, 3], { device: 'meta' })).device.name).toBe('meta');
    expect(captured(tensor([1, 2, 3])).device.name).toBe('cpu');
    expect(captured.stats().breaks).toEqual([]);
  });

  it('a variable that gets another device is a guard', () => {
    let device = cpu;
    const captured = toStatic((x: Tensor) => [x.add(1), zeros([3], { device })] as const);
    expect(captured(tensor([1, 2, 3]))[1].device.name).toBe('cpu');
    device = tensor([1], { device: 'meta' }).device;
    expect(captured(tensor([1, 2, 3]))[1].device.name).toBe('meta');
    expect(captured.stats().breaks).toEqual([]);
  });

  it('a program that makes tensors where its arguments are is saved', async () => {
    const captured = toStatic((x: Tensor) => x.add(arange(3, { device: x.device })));
    const expected = describeValues([captured(tensor([1, 2, 3]))]);
    const loaded = await loadProgram(await save(captured));
    expect(describeValues([loaded(tensor([1, 2, 3]))])).toEqual(expected);
  });
});
