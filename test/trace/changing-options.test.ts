/** Options that differ from call to call, such as a temperature: only their range is guarded. */

import { describe, expect, it } from 'vitest';
import * as kinds from '../../runtime/options/option-kinds.ts';
import { gumbelSoftmax, nn, optim, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';

const uses: Readonly<Record<string, (x: Tensor, n: number) => unknown>> = {
  'the temperature of samples': (x, tau) => gumbelSoftmax(x, { tau }),
  'a temperature with a floor': (x, n) => gumbelSoftmax(x, { tau: Math.max(0.6, n), hard: true }),
  'a layer of its own': (x, p) => new nn.Dropout(p).forward(x),
  'the rate of an optimizer': (x, lr) => {
    const w = nn.parameter(x.detach().clone());
    const optimizer = new optim.SGD([w], { lr, momentum: 0.9 });
    w.square().sum().backward();
    optimizer.step();
    return w.detach();
  },
};

function seeded(call: number): Tensor {
  seed(call);
  return weights([3, 4]);
}

const numbers = [0.9, 0.8, 0.7, 0.65, 0.5, 0.25];

describe('trace/changing-options', () => {
  for (const [name, use] of Object.entries(uses)) {
    it(`${name}: two translations`, () => {
      for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
        const { reasons, translations } = expectSameAsEager(
          () => ({ fn: use, args: (call) => [seeded(call), numbers[call]] }),
          { calls: numbers.length, check: 1, ...mode },
        );
        expect(reasons).toEqual([]);
        expect(translations.at(-1)).toBe(2);
      }
    });
  }

  it('a number that a tensor holds is checked by the program', () => {
    const use = (x: Tensor) => gumbelSoftmax(x, { tau: x.abs().max().itemSync() });
    expectSameAsEager(() => ({ fn: use, args: () => [seeded(1)] }), {
      fullGraph: true,
    });
    const f = toStatic((x: Tensor, t: Tensor) => gumbelSoftmax(x, { tau: t.itemSync() }), {
      fullGraph: true,
    });
    const tau = tensor(0.5);
    f(values([3, 4]), tau);
    expect(() => f(values([3, 4]), tau.neg())).toThrow('tau has a wrong value');
  });

  it('a number out of range is rejected as in eager execution', () => {
    const f = toStatic((x: Tensor, tau: number) => gumbelSoftmax(x, { tau }));
    const x = values([3, 4]);
    for (const tau of [1, 0.5, 0.25]) f(x, tau);
    for (const tau of [0, -1, Number.NaN]) {
      expect(() => f(x, tau)).toThrow('tau has a wrong value');
    }
  });

  it('the bounds of a kind accept what the kind accepts', () => {
    const bounded = Object.values(kinds).flatMap((kind) =>
      typeof kind === 'object' && kind.bounds ? [kind] : [],
    );
    expect(bounded.length).toBeGreaterThan(3);
    const compare = {
      '>': (a: number, b: number) => a > b,
      '>=': (a: number, b: number) => a >= b,
      '<=': (a: number, b: number) => a <= b,
    };
    for (const { accepts, bounds } of bounded) {
      for (const n of [-Infinity, -1, -0, 0, 1e-300, 0.5, 1, 2, Infinity, Number.NaN]) {
        expect(bounds!.every(([fn, bound]) => compare[fn](n, bound))).toBe(accepts(n));
      }
    }
  });
});
