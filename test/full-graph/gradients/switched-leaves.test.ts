/** A pre-existing leaf that the function freezes or thaws stays the object that it was where paths merge. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../../trace/same-as-eager.ts';

const isPositive = (x: Tensor) => x.sum().itemSync() > 0;

type Body = (x: Tensor, held: Tensor[]) => unknown;

const bodies: Readonly<Record<string, Body>> = {
  'an element that is stored on one path': (x, held) => {
    if (isPositive(x)) held[0] = held[1]!;
  },
  'elements that one path shifts': (x, held) => {
    if (isPositive(x)) held.unshift(held.pop()!);
  },
  'elements that both paths turn around': (x, held) => {
    if (isPositive(x)) held.reverse();
    else held.reverse();
  },
  'elements after a path that throws and catches': (x, held) => {
    try {
      if (isPositive(x)) throw new RangeError();
    } catch {}
    held.reverse();
  },
  'elements that a loop turns around': (x, held) => {
    for (let i = 0; i < 2 && x.sum().itemSync() > i; i++) held.reverse();
  },
  'a result': (x, held) => (isPositive(x) ? held[1] : x.mul(2)),
  'a result, and the leaf beside it': (x, held) => [isPositive(x) ? held[1] : x, held[1]],
};

/** How the function changes the leaf, from what it was. */
const switches: Readonly<Record<string, (leaf: Tensor, call: number) => void>> = {
  frozen: (leaf) => leaf.requiresGrad_(false),
  thawed: (leaf) => leaf.requiresGrad_(true),
  'frozen, or thawed': (leaf, call) => leaf.requiresGrad_(call % 3 === 0),
  'frozen and thawed': (leaf) => leaf.requiresGrad_(false).requiresGrad_(),
};

const makeWorld = (change: (leaf: Tensor, call: number) => void, body: Body) => (): World => {
  const leaves = [weights([2, 3], 1), values([2, 3], 2)];
  const held = [
    [values([2, 3], 3), leaves[0]!],
    [values([2, 3], 4), leaves[1]!],
  ] as const;
  return {
    fn: (x: Tensor, call: number) =>
      held.map((list, i) => {
        change(leaves[i]!, call);
        return body(x, list as unknown as Tensor[]);
      }),
    args: (call) => [
      call % 2 === 0 ? values([2, 3], call).abs() : values([2, 3], call).abs().neg(),
      call,
    ],
    state: () => [leaves, held],
  };
};

describe.each([
  ['one program', { fullGraph: true }],
  ['conversions', { capture: 'auto' }],
  ['graph breaks', {}],
] as const)('%s', (_, options) => {
  describe.each(Object.entries(switches))('%s', (_, change) => {
    it.each(Object.entries(bodies))('%s', (_, body) => {
      expectSameAsEager(makeWorld(change, body), { ...options, calls: 4 });
    });
  });
});
