/** `backward(gradient, { inputs })`: only the `.grad` of these tensors is added to, eagerly and captured. */

import { describe, expect, it } from 'vitest';
import { ArgumentError, AutogradError, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

type Weights = readonly [a: Tensor, b: Tensor, c: Tensor];

const made = (): Weights => [weights([2], 1), weights([2], 2), weights([2], 3)];

describe('eagerly', () => {
  const given = () =>
    [2, 3, 5].map((value) => tensor([value]).requiresGrad_()) as [Tensor, Tensor, Tensor];
  const gradients = (...tensors: readonly Tensor[]) =>
    tensors.map(({ grad }) => grad?.itemSync() ?? null);

  it('fills those and no others', () => {
    const [a, b, c] = given();
    const loss = a.mul(b).add(c);
    loss.backward(null, { inputs: a, retainGraph: true });
    expect(gradients(a, b, c)).toEqual([3, null, null]);
    loss.backward(null, { inputs: [c, a], retainGraph: true });
    expect(gradients(a, b, c)).toEqual([6, null, 1]);
    loss.backward();
    expect(gradients(a, b, c)).toEqual([9, 2, 2]);
  });

  it('keeps the gradient of a result', () => {
    const [a, b] = given();
    const product = a.mul(b);
    product.mul(product).backward(null, { inputs: [product] });
    expect(gradients(product, a, b)).toEqual([12, null, null]);
  });

  it('leaves what the output does not depend on without gradient', () => {
    const [a, b, c] = given();
    a.mul(b).backward(null, { inputs: c });
    expect(gradients(a, b, c)).toEqual([null, null, null]);
  });

  it('rejects no inputs, and those without history', () => {
    const [a] = given();
    expect(() => a.mul(2).backward(null, { inputs: [] })).toThrow(ArgumentError);
    expect(() => a.mul(2).backward(null, { inputs: tensor([1]) })).toThrow(AutogradError);
  });
});

const steps: Readonly<Record<string, (x: Tensor, given: Weights) => unknown>> = {
  'one of several': (x, [a, b]) => x.mul(a).mul(b).sum().backward(undefined, { inputs: a }),
  'a list, one of them twice': (x, [a, b, c]) =>
    x
      .mul(a)
      .mul(b)
      .add(c)
      .sum()
      .backward(null, { inputs: [a, c, a] }),
  'one after the other': (x, [a, b]) => {
    const loss = x.mul(a).mul(b).sum();
    loss.backward(null, { inputs: [a], retainGraph: true });
    loss.backward(null, { inputs: [b] });
    return a.grad!.add(b.grad!);
  },
  'results of the graph': (x, [a, b]) => {
    const m = x.mul(a);
    m.mul(b)
      .sum()
      .backward(null, { inputs: [m, a] });
    return [m.grad!.mul(2), a.grad, b.grad];
  },
  'one that the loss does not depend on': (x, [a, , c]) => {
    x.mul(a).sum().backward(null, { inputs: c });
    return [x.add(1), a.grad, c.grad];
  },
  'gradients that have a graph': (x, [a, b]) => {
    a.mul(a)
      .mul(b)
      .mul(x)
      .sum()
      .backward(null, { inputs: [a], createGraph: true });
    const { grad } = a;
    a.grad = null;
    grad!.sum().backward(null, { inputs: [b] });
    return grad!.detach();
  },
  'inputs that are undefined': (x, [a]) => x.mul(a).sum().backward(null, { inputs: undefined! }),
};

describe('captured', () => {
  for (const [name, step] of Object.entries(steps)) {
    it(name, () => {
      for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
        const make = (): World => {
          const all = made();
          return {
            fn: (x: Tensor) => step(x, all),
            args: (call) => [values([2], call)],
            state: () => all,
          };
        };
        const { reasons } = expectSameAsEager(make, { check: 2, ...mode });
        expect(reasons).toEqual([]);
      }
    });
  }

  it('another input on each path of a branch', () => {
    expectSameAsEager(
      () => {
        const all = made();
        return {
          fn: (x: Tensor) => {
            const [a, b] = all;
            const y = x.mul(a).mul(b);
            if (y.sum().itemSync() > 0) y.sum().backward(null, { inputs: a });
            else y.sum().backward(null, { inputs: [b] });
          },
          args: (call) => [values([2], call * 3)],
          state: () => all,
        };
      },
      { fullGraph: true, check: 2, calls: 5 },
    );
  });

  it('after the call, through the subgraph', () => {
    const model = ([a, b]: Weights) => {
      return (x: Tensor) => {
        const m = x.mul(a);
        return [m, m.mul(b).add(b)] as const;
      };
    };
    const [eager, captured] = [made(), made()];
    const [run, runCaptured] = [model(eager), toStatic(model(captured))];
    const picks = [
      (_m: Tensor, [a]: Weights) => [a],
      (m: Tensor) => [m],
      (_m: Tensor, [, b]: Weights) => b,
    ];
    for (let i = 0; i < 6; i++) {
      const found = [run, runCaptured].map((each, side) => {
        const [m, y] = each(values([2], i));
        const all = [eager, captured][side]!;
        y.sum().backward(null, { inputs: picks[i % 3]!(m, all) });
        return [m, ...all].map(({ grad }) => grad && [...grad.dataSync()]);
      });
      expect(found[1]).toEqual(found[0]);
    }
  });
});
