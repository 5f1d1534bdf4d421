/** The checks of an entry that is hot are generated as code: they hold for the same calls as those that are not. */

import { describe, expect, it } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { generateChecks } from '../../src/guards/generate-checks.ts';
import { type Guard, GuardSet } from '../../src/guards/guard.ts';
import type { Source } from '../../src/guards/source.ts';
import { nn, optim, randn, type Tensor, toStatic, zeros } from '../../src/index.ts';
import type { Frame } from '../../src/vm/bytecode/frame.ts';

const argument: Source = { kind: 'argument', frame: 0, index: 0 };
const property = (base: Source, key: string | symbol): Source => ({ kind: 'property', base, key });
const source = property(property(argument, 'inner'), 'x');
const symbol = Symbol('key');
const calledWith = (...args: unknown[]) => [{ args }] as unknown as Frame[];

const held = { a: 1 };
const tensorGuard = {
  kind: 'tensor',
  source,
  dtype: 'float32',
  shape: [2, 3],
  strides: null,
  device: cpu,
  requiresGrad: false,
} as const satisfies Guard;

const guards: Record<string, Guard> = {
  number: { kind: 'value', source, value: 3 },
  zero: { kind: 'value', source, value: 0 },
  'negative zero': { kind: 'value', source, value: -0 },
  NaN: { kind: 'value', source, value: Number.NaN },
  text: { kind: 'value', source, value: 'a"b\u2028`${' },
  undefined: { kind: 'value', source, value: undefined },
  null: { kind: 'value', source, value: null },
  bigint: { kind: 'value', source, value: 0n },
  symbol: { kind: 'value', source, value: symbol },
  true: { kind: 'value', source, value: true },
  truthy: { kind: 'truthy', source, truthy: true },
  falsy: { kind: 'truthy', source, truthy: false },
  defined: { kind: 'defined', source },
  'a type': { kind: 'typeof', source, type: 'object' },
  identity: { kind: 'identity', source, value: held },
  'an array': { kind: 'isArray', source, isArray: true },
  'no array': { kind: 'isArray', source, isArray: false },
  'a plain array': { kind: 'plainArray', source },
  keys: { kind: 'keys', source, keys: ['a'] },
  'two equal places': { kind: 'same', source, other: property(argument, 'y'), same: true },
  'two places that differ': { kind: 'same', source, other: property(argument, 'y'), same: false },
  distinct: { kind: 'distinct', sources: [source, argument], others: [property(argument, 'y')] },
  'a comparison': {
    kind: 'number',
    expr: {
      kind: 'apply',
      fn: '<',
      args: [
        { kind: 'source', source },
        { kind: 'constant', value: 5 },
      ],
    },
    value: true,
  },
  'data properties': { kind: 'data', sources: [source, property(argument, symbol)] },
  'a tensor': tensorGuard,
  'a tensor with gradients': { ...tensorGuard, requiresGrad: true },
  'a tensor of some size': { ...tensorGuard, shape: [null, 3] },
  'a tensor of any size': { ...tensorGuard, shape: ['any', 3] },
  'a tensor with strides': { ...tensorGuard, strides: [1, 2] },
  'a tensor that is not contiguous': { ...tensorGuard, strides: 'any' },
  'a leaf': { kind: 'leaf', source },
  'a size': { kind: 'value', source: property(property(source, 'shape'), '0'), value: 2 },
  'a Map': { kind: 'collection', source, type: 'Map', plain: true },
};

const disposed = zeros([2, 3]);
disposed.dispose();
const values: readonly unknown[] = [
  ...[3, 0, -0, Number.NaN, 'a"b\u2028`${', '', undefined, null, 0n, symbol, true, false],
  ...[held, { a: 1 }, [1], [], new (class extends Array {})(), new Map(), () => 1],
  ...[zeros([2, 3]), zeros([1, 3]), zeros([0, 3]), zeros([4, 3]), zeros([2]), zeros([3, 2]).t()],
  ...[zeros([2, 3], { dtype: 'int32' }), zeros([2, 3]).requiresGrad_(), disposed],
  zeros([2, 3]).requiresGrad_().mul(2),
];

/** Calls in which the value stands at the place, and some in which nothing can be read there. */
function callsWith(value: unknown): { readonly frames: Frame[]; readonly runs: () => number } {
  return { frames: calledWith({ inner: { x: value }, y: value, [symbol]: 1 }), runs: () => 0 };
}

function watched(): { readonly frames: Frame[]; readonly runs: () => number }[] {
  let count = 0;
  const run = () => count;
  const getter = () => ++count;
  const handler = { get: getter, getOwnPropertyDescriptor: () => void getter() };
  const plain = { inner: { x: held }, y: held, [symbol]: 1 };
  return [
    { ...plain, inner: Object.defineProperty({}, 'x', { get: getter }) },
    Object.defineProperty({ ...plain }, 'inner', { get: getter }),
    { ...plain, inner: Object.create(Object.defineProperty({}, 'x', { get: getter })) as object },
    { ...plain, inner: new Proxy({ x: held }, handler) },
    { ...plain, inner: null },
    { ...plain, inner: 5 },
    null,
    new Proxy(plain, handler),
  ].map((value) => ({ frames: calledWith(value), runs: run }));
}

describe('generated checks', () => {
  for (const [name, guard] of Object.entries(guards)) {
    it(`hold for the same values as the checks one by one: ${name}`, () => {
      const set = new GuardSet([guard]);
      const calls = [...values.map(callsWith), ...watched()];
      const known = calls.find(({ frames }) => set.firstFailing(frames) === undefined);
      const generated = generateChecks(set.guards, [], known!.frames);
      const found = calls.map(({ frames }) => generated(frames));
      expect(found).toEqual(calls.map(({ frames }) => set.firstFailing(frames) === undefined));
      expect(found).toContain(true);
      expect(found).toContain(false);
      for (const { runs } of calls) expect(runs()).toBe(0);
    });
  }

  it('hold for all guards of a training step until anything of it changes', () => {
    const layers = Array.from({ length: 24 }, () => new nn.Linear(2, 2));
    const model = new nn.Sequential(...layers);
    const adam = new optim.Adam(model.parameters(), { lr: 0.1 });
    const step = toStatic((x: Tensor) => {
      const loss = model.forward(x).square().mean();
      loss.backward();
      adam.step();
      adam.zeroGrad();
      return loss;
    });
    const x = randn([2, 2]);
    for (let i = 0; i < 4; i++) step(x).dispose();
    const set = new GuardSet(step.programs().at(-1)!.trace.guards);
    const frames = calledWith(x);
    const generated = generateChecks(set.guards, [], frames);
    const both = () => [generated(frames), set.firstFailing(frames) === undefined];
    expect(set.guards.length).toBeGreaterThan(300);
    expect(both()).toEqual([true, true]);
    for (const [i, layer] of layers.entries()) {
      const { weight } = layer;
      weight.requiresGrad_(false);
      expect(both(), `weight ${i} is frozen`).toEqual([false, false]);
      weight.requiresGrad_(true);
      layer.weight = layers[(i + 1) % 24]!.weight;
      expect(both(), `weight ${i} is another one`).toEqual([false, false]);
      layer.weight = weight;
      Object.assign(layer, { forward: (y: Tensor) => y });
      expect(both(), `layer ${i} has a method of its own`).toEqual([false, false]);
      Reflect.deleteProperty(layer, 'forward');
      expect(both()).toEqual([true, true]);
    }
  });

  describe('of inherited methods hold and fail as one by one, and run no getter,', () => {
    let runs = 0;
    const property = { get: () => ++runs, configurable: true };
    class Below extends nn.Linear {
      override forward(x: Tensor): Tensor {
        return super.forward(x);
      }
    }
    /** Changes one layer, and returns what undoes it. */
    const changes: Record<string, (layer: nn.Linear, all: nn.Linear[]) => () => unknown> = {
      'after nothing': () => () => {},
      'with a getter of the object': (layer) => {
        Object.defineProperty(layer, 'forward', property);
        return () => Reflect.deleteProperty(layer, 'forward');
      },
      'with a getter in place of a parameter': (layer) => {
        const { weight } = layer;
        Object.defineProperty(layer, 'weight', { ...property, enumerable: true });
        return () => Object.defineProperty(layer, 'weight', { value: weight, writable: true });
      },
      'with a getter of the class': () => {
        const own = Object.getOwnPropertyDescriptor(nn.Linear.prototype, 'forward')!;
        Object.defineProperty(nn.Linear.prototype, 'forward', property);
        return () => Object.defineProperty(nn.Linear.prototype, 'forward', own);
      },
      'with another method of the class': () => {
        const own = Object.getOwnPropertyDescriptor(nn.Linear.prototype, 'forward')!;
        Object.assign(nn.Linear.prototype, { forward: (y: Tensor) => y });
        return () => Object.defineProperty(nn.Linear.prototype, 'forward', own);
      },
      'with a prototype in between': (layer) => {
        Object.setPrototypeOf(layer, Object.create(nn.Linear.prototype) as object);
        return () => Object.setPrototypeOf(layer, nn.Linear.prototype);
      },
      'with a prototype that has a getter': (layer) => {
        const getter = Object.create(nn.Linear.prototype, { forward: property }) as object;
        Object.setPrototypeOf(layer, getter);
        return () => Object.setPrototypeOf(layer, nn.Linear.prototype);
      },
      'with the method as an own property': (layer) => {
        Object.assign(layer, { forward: nn.Linear.prototype.forward });
        return () => Reflect.deleteProperty(layer, 'forward');
      },
      'with another layer': (layer, all) => {
        const at = all.indexOf(layer);
        all[at] = new nn.Linear(2, 2);
        return () => all.splice(at, 1, layer);
      },
      'with a layer of a subclass': (layer, all) => {
        const at = all.indexOf(layer);
        all[at] = new Below(2, 2);
        return () => all.splice(at, 1, layer);
      },
      'with a Proxy': (layer, all) => {
        const at = all.indexOf(layer);
        all[at] = new Proxy(layer, {
          get: property.get,
          getOwnPropertyDescriptor: () => void ++runs,
        });
        return () => all.splice(at, 1, layer);
      },
    };
    const all = Array.from({ length: 24 }, () => new nn.Linear(2, 2));
    const f = toStatic((x: Tensor) => all.reduce((sum, layer) => layer.forward(sum), x));
    const x = randn([2, 2]);
    f(x).dispose();
    const set = new GuardSet(f.programs().at(-1)!.trace.guards);
    const frames = calledWith(x);
    const generated = generateChecks(set.guards, [], frames);

    it.for(Object.entries(changes))('%s', ([, change]) => {
      for (const at of [0, 7, 23]) {
        const undo = change(all[at]!, all);
        try {
          expect(generated(frames)).toBe(set.firstFailing(frames) === undefined);
          expect(runs).toBe(0);
        } finally {
          undo();
        }
        expect(generated(frames)).toBe(true);
        expect(set.firstFailing(frames)).toBeUndefined();
      }
    });
  });

  it('take over after some hundred calls, and miss what the checks one by one miss', () => {
    const f = toStatic((a: Tensor, o: { k: number; text: string }) => {
      return o.text === 'sum' ? a.sum().mul(o.k) : a.mul(o.k);
    });
    const a = zeros([2, 2]);
    for (let i = 0; i < 300; i++) f(a, { k: 2, text: 'sum' }).dispose();
    expect(f(a, { k: 2, text: 'mul' }).shape).toEqual([2, 2]);
    let reads = 0;
    const own = {
      k: 2,
      get text() {
        return reads++ === 0 ? 'mul' : 'sum';
      },
    };
    expect(f(a, own).shape).toEqual([2, 2]);
    expect(reads).toBe(1);
  });
});
