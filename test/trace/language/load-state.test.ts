/** `loadStateDict` in captured code: modules and optimizers get the values as writes of the graph. */

import { expect, it } from 'vitest';
import { nn, noGrad, optim, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

function linear(salt: number): nn.Linear {
  const layer = new nn.Linear(2, 3);
  noGrad(() => {
    layer.weight.copy_(values([3, 2], salt));
    layer.bias!.copy_(values([3], salt + 1));
  });
  return layer;
}

const modules: Readonly<Record<string, () => World>> = {
  'another module': () => {
    const [to, from] = [linear(1), linear(2)];
    return {
      fn: (x: Tensor) => {
        to.loadStateDict(from.stateDict());
        return to.forward(x);
      },
      args: () => [values([4, 2])],
      state: () => to.stateDict(),
    };
  },
  'some names, in an average': () => {
    const [to, from] = [linear(1), linear(2)];
    return {
      fn: (x: Tensor) => {
        const own = to.stateDict();
        const mean = noGrad(() => own.weight!.mul(0.5).add(from.weight.mul(0.5)));
        const { missing } = to.loadStateDict({ weight: mean }, { strict: false });
        return [to.forward(x), missing];
      },
      args: () => [values([4, 2])],
      state: () => to.stateDict(),
    };
  },
  'other names': () => {
    const [to, from] = [linear(1), linear(2)];
    return {
      fn: (x: Tensor) => {
        to.loadStateDict({ w: from.weight, b: from.bias! }, { names: { weight: 'w', bias: 'b' } });
        return to.forward(x);
      },
      args: () => [values([4, 2])],
    };
  },
};

for (const [name, make] of Object.entries(modules)) it(name, () => expectOneGraph(make));

it('an optimizer goes on from the state of another one', () => {
  expectOneGraph(() => {
    const [w, v] = [weights([2], 3), weights([2], 4)];
    const [own, other] = [new optim.Adam([w], { lr: 0.1 }), new optim.Adam([v], { lr: 0.2 })];
    for (const [tensor, optimizer] of [[w, own] as const, [v, other] as const]) {
      tensor.mul(2).sum().backward();
      optimizer.step();
    }
    return {
      fn: (x: Tensor) => {
        own.loadStateDict(other.stateDict());
        own.zeroGrad();
        x.mul(w).sum().backward();
        own.step();
        return x.mul(w);
      },
      args: () => [values([2])],
      state: () => [w, own.stateDict()],
    };
  });
});

it('a state that does not fit throws as eagerly', () => {
  const { reasons } = expectSameAsEager(() => {
    const to = linear(1);
    return {
      fn: (x: Tensor, state: Record<string, Tensor>) => {
        const y = x.mul(2);
        to.loadStateDict(state);
        return to.forward(y);
      },
      args: (call) => [
        values([4, 2]),
        [{ weight: values([3, 2]) }, { weight: values([2, 2]), bias: values([3]) }][call % 2],
      ],
      state: () => to.stateDict(),
    };
  });
  expect(new Set(reasons)).toEqual(new Set(['throw']));
});
