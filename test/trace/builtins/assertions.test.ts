/** Assertions of Node and of the console: they break no graph while they hold, and fail as in eager execution. */

import nodeAssert from 'node:assert';
import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { expectSameAsEager, weights } from '../same-as-eager.ts';

// Vitest reads an import through a getter.
const assert: typeof nodeAssert = nodeAssert;
const { strict } = nodeAssert;

const object = { name: 'object' };

/** Each holds if `n` is 2. */
const assertions: Record<string, (n: number, x: Tensor) => void> = {
  assert: (n) => assert(n === 2),
  'assert with a message': (n) => assert(n === 2, `${n} is not two`),
  'assert.ok': (n) => assert.ok(n === 2 && object),
  strict: (n) => strict(n === 2),
  equal: (n) => assert.equal(n, '2'),
  notEqual: (n) => assert.notEqual(n, 3),
  strictEqual: (n) => assert.strictEqual(n, 2),
  'strict.equal': (n) => strict.equal(n, 2),
  notStrictEqual: (n) => assert.notStrictEqual(n, 3),
  'strictEqual of sizes': (n, x) => assert.strictEqual(x.shape[0], n),
  'strictEqual of objects': (n) => assert.strictEqual(n === 2 ? object : { ...object }, object),
  'the console': (n) => console.assert(n === 2, 'n is', n),
};

describe('an assertion', () => {
  it.each(Object.keys(assertions))('%s', (name) => {
    const world = (ns: readonly number[]) => () => ({
      fn: (x: Tensor, n: number) => {
        const y = x.mul(n);
        assertions[name]!(n, x);
        return y.sin();
      },
      args: (call: number) => [weights([2]), ns[call % ns.length]],
    });
    expectOneGraph(world([2]));
    if (name === 'the console') return;
    for (const options of [{}, { capture: 'auto' as const }, { fullGraph: true }]) {
      expectSameAsEager(world([2, 3, 2, 3]), { ...options, calls: 4 });
    }
  });

  it('of zeros and NaN is left to Node', () => {
    for (const [a, b] of [
      [0, -0],
      [0, 0],
      [Number.NaN, Number.NaN],
      [Number.NaN, 1],
    ]) {
      for (const method of ['equal', 'notEqual', 'strictEqual', 'notStrictEqual'] as const) {
        const { stats } = expectSameAsEager(() => ({
          fn: (x: Tensor) => {
            assert[method](a, b);
            return x.mul(2);
          },
          args: () => [weights([2])],
        }));
        expect(stats.breaks.map(({ reason }) => reason)).toEqual(['native-call']);
      }
    }
  });

  it('of a function of the user in place of the host calls it', () => {
    const [before, ok] = [console.assert, assert.ok];
    const calls: unknown[] = [];
    Object.assign(console, { assert: (...args: unknown[]) => calls.push(args) });
    Object.assign(assert, { ok: (...args: unknown[]) => calls.push(args) });
    const native = calls.push.bind(calls) as (value: unknown) => number;
    Object.defineProperty(native, 'name', { get: () => calls.push('its name is read') });
    try {
      expectSameAsEager(() => ({
        fn: (x: Tensor) => {
          console.assert(true, 'console');
          assert.ok(true, 'node');
          return x.mul(2);
        },
        args: () => [weights([2])],
        state: () => calls.splice(0),
      }));
    } finally {
      Object.assign(console, { assert: before });
      Object.assign(assert, { ok });
    }
  });

  it('of data is left to Node', () => {
    expectSameAsEager(
      () => ({
        fn: (x: Tensor) => {
          assert(x.sum().itemSync() > 0, 'positive');
          return x.mul(2);
        },
        args: (call) => [weights([2]).add(call % 2 ? 5 : -5)],
      }),
      { calls: 4 },
    );
  });
});
