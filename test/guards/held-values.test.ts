/** Guards that look inside a value hold for all values that a program treats alike, and for no others. */

import { describe, expect, it } from 'vitest';
import { type Guard, GuardSet } from '../../src/guards/guard.ts';
import type { Source } from '../../src/guards/source.ts';
import { type Tensor, zeros } from '../../src/index.ts';
import type { Frame } from '../../src/vm/bytecode/frame.ts';

const source: Source = { kind: 'argument', frame: 0, index: 0 };

class OwnMap extends Map {}
class OwnSet extends Set {}
const named = (collection: object) => Object.assign(collection, { name: 'own' });
const others = [null, undefined, 1, 'text', {}, [], () => 1, zeros([2])];
const add = (a: number, b: number) => a + b;

const cases: Readonly<
  Record<string, readonly [guard: Guard, holds: readonly unknown[], fails: readonly unknown[]]>
> = {
  'a plain Map': [
    { kind: 'collection', source, type: 'Map', plain: true },
    [new Map(), new Map([[1, 2]])],
    [...others, new Set(), new OwnMap(), named(new Map()), Object.create(Map.prototype)],
  ],
  'a plain Set': [
    { kind: 'collection', source, type: 'Set', plain: true },
    [new Set(), new Set([1])],
    [...others, new Map(), new OwnSet(), named(new Set()), Object.create(Set.prototype)],
  ],
  'any Map': [
    { kind: 'collection', source, type: 'Map', plain: false },
    [new Map(), new OwnMap(), named(new Map())],
    [...others, new Set(), new WeakMap(), Object.create(Map.prototype), new Proxy(new Map(), {})],
  ],
  'any Set': [
    { kind: 'collection', source, type: 'Set', plain: false },
    [new Set(), new OwnSet(), named(new Set())],
    [...others, new Map(), Object.create(Set.prototype)],
  ],
  'a leaf': [
    { kind: 'leaf', source },
    [zeros([2]), zeros([2]).requiresGrad_()],
    [
      ...others.slice(0, -1),
      { isLeaf: true },
      zeros([2]).requiresGrad_().mul(2),
      hooked(zeros([2]).requiresGrad_()),
    ],
  ],
  'a bound function': [
    { kind: 'bound', source, args: 1 },
    [add.bind(null, 1), add.bind({}, 2)],
    [...others, add, add.bind(null), add.bind(null, 1, 2)],
  ],
};

function hooked(leaf: Tensor): unknown {
  leaf.registerHook((gradient) => gradient);
  return leaf;
}

describe('guards on what values are', () => {
  it.each(Object.entries(cases))('%s', (_, [guard, holds, fails]) => {
    const set = new GuardSet([guard]);
    const holdsFor = (value: unknown) => set.holds([{ args: [value] }] as unknown as Frame[]);
    expect(holds.map(holdsFor)).toEqual(holds.map(() => true));
    expect(fails.map(holdsFor)).toEqual(fails.map(() => false));
  });
});
