/** Training steps of mixtures of experts that compute their rows alone, as one program. */

import { describe, expect, it } from 'vitest';
import { nn, optim, seed, type Tensor, zerosLike } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../../trace/same-as-eager.ts';

/** Returns the rows of an expert, and what computes the factors of their results. */
type Route = (weights: Tensor, chosen: Tensor, e: number) => readonly [Tensor, () => Tensor];

const routes: Readonly<Record<string, Route>> = {
  'rows and ranks from one read': (weights, chosen, e) => {
    const [rows, rank] = chosen.eq(e).nonzero().unbind(1) as [Tensor, Tensor];
    return [rows, () => weights.index(rows, rank).unsqueeze(1)];
  },
  'rows by a mask': (weights, chosen, e) => {
    const rows = chosen.eq(e).any(1).nonzero().squeeze(1);
    return [rows, () => chosen.eq(e).mul(weights).sum(1).index(rows).unsqueeze(1)];
  },
};

function training(route: Route): World {
  seed(3);
  const first = new nn.Linear(3, 4);
  const gate = new nn.Linear(4, 3);
  const experts = new nn.ModuleList(Array.from({ length: 3 }, () => new nn.Linear(4, 4)));
  const all = new nn.ModuleList<nn.Module>([first, gate, experts]);
  const optimizer = new optim.SGD(all.parameters(), { lr: 0.1 });
  return {
    fn: (given: Tensor) => {
      const x = first.forward(given);
      const [weights, chosen] = gate.forward(x).softmax(-1).topk(2, -1);
      let result = zerosLike(x);
      for (let e = 0; e < experts.length; e++) {
        const [rows, factors] = route(weights, chosen, e);
        if (rows.size(0) === 0) continue;
        const y = experts.at(e)!.forward(x.index(rows)).mul(factors());
        result = result.indexAdd(0, rows, y);
      }
      const loss = result.square().mean();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss.detach();
    },
    args: (call) => [values([5, 3]).mul(call + 1)],
    state: () => [all.stateDict(), optimizer.stateDict()],
  };
}

describe('full-graph/data-dependent/experts', () => {
  it.each(Object.entries(routes))('%s', (_, route) => {
    const { reasons } = expectSameAsEager(() => training(route), { fullGraph: true, calls: 3 });
    expect(reasons).toEqual([]);
  });
});
