/** Hooks that a branch or loop on data registers or removes: the branch is not part of the program. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../../trace/same-as-eager.ts';

type Body = (x: Tensor, h: Tensor, log: string[]) => void;

const sum = (x: Tensor) => x.sum().itemSync();

const noted = (h: Tensor, log: string[], factor: number) =>
  h.registerHook((gradient) => {
    log.push(`times ${factor}`);
    return gradient.mul(factor);
  });

const bodies: Readonly<Record<string, Body>> = {
  'removed where the data is positive': (x, h, log) => {
    const hook = noted(h, log, 2);
    if (sum(x) > 0) hook.remove();
  },
  'removed on the other path': (x, h, log) => {
    const hook = noted(h, log, 2);
    if (sum(x) > 0) log.push('positive');
    else hook.remove();
  },
  'one of two, by a conditional expression': (x, h, log) => {
    const hooks = [noted(h, log, 2), noted(h, log, 3)];
    (sum(x) > 0 ? hooks[0]! : hooks[1]!).remove();
  },
  'removed in a loop, once the sum is large': (x, h, log) => {
    const hook = noted(h, log, 2);
    let y = x.abs();
    while (sum(y) < 4) {
      y = y.mul(2);
      if (sum(y) > 3) hook.remove();
    }
  },
  'removed behind an early return': (x, h, log) => {
    const hook = noted(h, log, 2);
    const leave = () => {
      if (sum(x) > 0) return;
      hook.remove();
    };
    leave();
  },
  'registered in a branch': (x, h, log) => {
    if (sum(x) > 0) noted(h, log, 2);
  },
  'that returns a gradient on one path only': (x, h) => {
    h.registerHook((gradient) => (sum(x) > 0 ? gradient.mul(2) : undefined));
  },
};

const run = (body: Body, log: string[], w: Tensor) => (x: Tensor) => {
  const h = x.mul(w);
  body(x, h, log);
  h.mul(3).sum().backward();
  return x.add(1);
};

describe.each(Object.entries(bodies))('a hook %s', (_name, body) => {
  it.each([{}, { capture: 'auto' }] as const)(
    'is called where eager execution calls it: %j',
    (mode) => {
      const make = (): World => {
        const [log, w] = [[] as string[], weights([3], 1)];
        return {
          fn: run(body, log, w),
          args: (call) => [
            values([3], 2)
              .abs()
              .mul(call % 2 ? 1 : -1),
          ],
          state: () => [log, w],
        };
      };
      expectSameAsEager(make, { calls: 4, ...mode });
    },
  );

  it('keeps the function from being one program', () => {
    const captured = toStatic(run(body, [], weights([3], 1)), { fullGraph: true });
    expect(() => captured(values([3], 2))).toThrow(FullGraphError);
  });
});
