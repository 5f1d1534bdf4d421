/**
 * Values that backward needs, written after the graph break that ended the loop which made them: by the function, by
 * its caller, by a hook, by another captured function. Gradients and errors are those of eager execution.
 */

import { describe, it } from 'vitest';
import { noGrad, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';

type Write = (made: Tensor, from: Tensor, other: Tensor) => unknown;

const writes: Record<string, Write> = {
  'to a row': (c) => c.select(0, 0).fill_(2),
  'to all of it': (c) => c.fill_(2),
  'to a detached one': (c) => c.detach().fill_(2),
  'to a row of a detached one': (c) => c.detach().select(0, 1).add_(1),
  'to a reshaped one': (c) => c.reshape([3, 1]).select(1, 0).mul_(3),
  'to the leaf it was made from': (_c, s) => s.detach().mul_(2),
  'to the other leaf, in noGrad': (_c, _s, w) => noGrad(() => w.mul_(2)),
};

const needsResult = (s: Tensor, w: Tensor): Tensor => s.sub(w).tanh();
const needsOperands = (s: Tensor, w: Tensor): Tensor => s.mul(w).add(1);

/** Ends with a break in each iteration, after one or two of them. */
function loop(op: (s: Tensor, w: Tensor) => Tensor, least: number, s: Tensor, w: Tensor): Tensor {
  let c = s;
  for (let i = 0; i < 2; i++) {
    c = op(s, w);
    if (c.sum().itemSync() > least) break;
  }
  return c;
}

const args = (call: number): Tensor[] => [weights([3], call), weights([3], call + 9)];

type Place = (op: (s: Tensor, w: Tensor) => Tensor, least: number, write: Write) => () => World;

const places: Record<string, Place> = {
  'by the function': (op, least, write) => () => ({
    fn: (s: Tensor, w: Tensor) => {
      const c = loop(op, least, s, w);
      const y = c.mul(c);
      write(c, s, w);
      return [c, y];
    },
    args,
  }),
  'by its caller': (op, least, write) => () => ({
    fn: (s: Tensor, w: Tensor) => {
      const c = loop(op, least, s, w);
      return [c, c.mul(3)];
    },
    args,
    install: (fn) => (s: Tensor, w: Tensor) => {
      const [c, y] = fn(s, w) as [Tensor, Tensor];
      write(c, s, w);
      return [c, y];
    },
  }),
  'by another captured function': (op, least, write) => () => ({
    fn: (s: Tensor, w: Tensor) => loop(op, least, s, w),
    args,
    install: (fn) => {
      const other = toStatic((c: Tensor, s: Tensor, w: Tensor) => {
        write(c, s, w);
        return c.mul(2);
      });
      return (s: Tensor, w: Tensor) => other(fn(s, w) as Tensor, s, w);
    },
  }),
  'by a hook': (op, least, write) => () => ({
    fn: (s: Tensor, w: Tensor) => {
      const c = loop(op, least, s, w);
      const y = c.mul(3);
      y.registerHook(() => {
        noGrad(() => write(c.detach(), s, w));
      });
      return y;
    },
    args,
  }),
};

describe.each(Object.entries(places))('written past a break %s', (_place, worldOf) => {
  it.each(Object.entries(writes))('%s', (name, write) => {
    const op = name.includes('leaf') ? needsOperands : needsResult;
    expectSameAsEager(worldOf(op, -100, write), { calls: 2 });
    expectSameAsEager(worldOf(op, 100, write), { calls: 1, capture: 'auto' });
  });
});
