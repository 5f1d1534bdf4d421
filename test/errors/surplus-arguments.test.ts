/** JavaScript ignores arguments after the last parameter; the library's constructors reject them. */

import { describe, expect, it } from 'vitest';
import * as distributions from '../../runtime/distributions/index.ts';
import {
  ArgumentError,
  data,
  nn,
  optim,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { modules, others } from './calls/modules.ts';
import { argumentsOf } from './calls/world.ts';

type AnyClass = new (...args: readonly unknown[]) => object;

/** Valid arguments by the name of the class, with its name space. */
const constructors: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(modules).map(([name, [made]]) => [`nn.${name}`, made])),
  ...others,
};

/** Each takes any number of layers or tensors. */
const variadic = new Set(['nn.Sequential', 'data.TensorDataset']);

const classes = Object.entries({ nn, optim, data, distributions }).flatMap(([space, exported]) =>
  Object.entries(exported).flatMap(([name, value]): [name: string, type: AnyClass][] => {
    const isClass = typeof value === 'function' && /^[A-Z]/.test(name);
    const listed = `${space}.${name}` in constructors && !variadic.has(`${space}.${name}`);
    return isClass && listed ? [[`${space}.${name}`, value as unknown as AnyClass]] : [];
  }),
);

describe('an argument after the last one is an error', () => {
  it.each(classes)('new %s', (name, Class) => {
    const text = constructors[name]!;
    const surplus = [...Array(12).fill(undefined), true];
    const create = (behind: readonly unknown[]) => () =>
      tidy(() => void new Class(...argumentsOf(text), ...behind));
    expect(create(surplus)).toThrow(ArgumentError);
    expect(create(surplus)).toThrow(`${Class.name}: `);
    const [last] = tidy(() => argumentsOf(text)).slice(-1);
    const hasOptions = last instanceof Object && last.constructor === Object;
    if (hasOptions) expect(create([0.5])).toThrow('0.5');
  });

  it('all classes were tried', () => expect(classes.length).toBeGreaterThan(210));
});

it('an argument behind the options is an error that shows it', () => {
  const after: readonly (() => unknown)[] = [
    () => new nn.BatchNorm1d(3, { eps: 1 }, ...([0.5] as unknown as [])),
    () => new nn.Linear(3, 4, { bias: false }, ...([0.5] as unknown as [])),
    () => new nn.ReLU(...([0.5] as unknown as [])),
    () => new optim.Adam([], { lr: 1 }, ...([0.5] as unknown as [])),
  ];
  for (const create of after) expect(create).toThrow('0.5 after the last one');
});

it('a subclass passes its own arguments to the base class only if it has no constructor', () => {
  class Scaled extends nn.Module {
    readonly factor: number;

    constructor(factor: number) {
      super();
      this.factor = factor;
    }
  }
  class Plain extends nn.Module {}
  expect(new Scaled(2).factor).toBe(2);
  const two = [2] as unknown as [];
  expect(() => new Plain(...two)).toThrow('Plain: more arguments than it takes');
  expect(() => new (class extends nn.Module {})(...two)).toThrow('constructor: more arguments');
  expect(new Plain(...([undefined] as unknown as []))).toBeInstanceOf(Plain);

  const fallen = (x: Tensor) => {
    try {
      return new Plain(...two) && x;
    } catch {
      return x.mul(2);
    }
  };
  for (const fn of [fallen, toStatic(fallen, { fullGraph: true })])
    expect(fn(tensor([1])).tolist()).toEqual([2]);
});

it('types of constructors are those of their parameters', () => {
  // biome-ignore lint/suspicious/noExplicitAny: registries are typed so
  const any: new (...args: any[]) => nn.Module = nn.Linear;
  const sized: new (width: number) => nn.Module = nn.ReLU;
  const none: ConstructorParameters<typeof nn.ReLU>['length'] = 0;
  // biome-ignore lint/suspicious/noExplicitAny: so TypeScript wants it of mixins
  const mixed = <T extends new (...args: any[]) => nn.Module>(Base: T) =>
    class extends Base {
      named = 'mixed';
    };
  const Mixed = mixed(nn.Linear);
  expect(new Mixed(2, 3).named).toBe('mixed');
  expect([any, sized, none]).toEqual([nn.Linear, nn.ReLU, 0]);
});
