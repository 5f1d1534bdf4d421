/**
 * Objects that are keys of Maps and Sets and differ from call to call, such as a tensor that a module caches: a second
 * object at one location makes its trace rely on which keys are equal, not on which objects they are.
 */

import { describe, expect, it } from 'vitest';
import { mseLoss, nn, optim, seed, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

interface Node {
  readonly scale: number;
  readonly inputs: readonly Node[];
}

const calls = 7;

/** Keeps its last result, as modules keep attention weights. */
class Caching extends nn.Module {
  readonly linear = new nn.Linear(3, 3);
  last: Tensor | null = null;
  override forward(x: Tensor): Tensor {
    this.last = this.linear.forward(x);
    return this.last.tanh();
  }
}

function steps(make: () => nn.Module & { forward(x: Tensor): Tensor }): () => World {
  return () => {
    seed(1);
    const model = make();
    for (const [i, p] of model.parameters().entries()) p.detach().copy_(values([...p.shape], i));
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor) => {
        model.zeroGrad();
        const loss = mseLoss(model.forward(x), x);
        loss.backward();
        nn.utils.clipGradNorm_(model.parameters(), 1);
        optimizer.step();
        return loss.detach();
      },
      args: (call) => [values([2, 3], call)],
      state: () => [model.stateDict(), optimizer.stateDict()],
    };
  };
}

describe('keys that differ from call to call', () => {
  it.each<[string, () => nn.Module & { forward(x: Tensor): Tensor }]>([
    ['normalizes its weights', () => nn.utils.weightNorm(new nn.Linear(3, 3))],
    ['estimates a spectral norm', () => nn.utils.spectralNorm(new nn.Linear(3, 3))],
    ['keeps its last result', () => new Caching()],
  ])('a module that %s is walked in one translation', (_, make) => {
    const { stats } = expectSameAsEager(steps(make), { calls, fullGraph: true });
    expect(stats.translations).toBeLessThanOrEqual(3);
  });

  it('a Set of arguments knows which of them are one', () => {
    const patterns = ['ab', 'cd', 'ef', 'gg', 'hh', 'ij', 'kk'];
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, y: Tensor) => [...new Set([x, y])].reduce((a, b) => a.add(b)),
        args: (call) => {
          const [x, y] = [values([2], call), values([2], call + 50)];
          return patterns[call]![0] === patterns[call]![1] ? [x, x] : [x, y];
        },
      }),
      { calls },
    );
    expect(stats.translations).toBeLessThanOrEqual(4);
  });

  it('a key that is the same in each call may be equal to one that is not', () => {
    const fixed = { name: 'fixed' };
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, key: object) => {
          const scales = new Map<object, number>([[fixed, 2]]);
          const before = scales.get(key) ?? 1;
          scales.set(key, 3);
          scales.delete(key === fixed ? {} : key);
          return x.mul(before + scales.get(fixed)!).mul(scales.size);
        },
        args: (call) => [values([2], call), call % 3 === 2 ? fixed : { name: `${call}` }],
      }),
      { calls: 9 },
    );
    expect(stats.translations).toBeLessThanOrEqual(4);
  });

  it('a graph that is passed anew each time is sorted in one translation', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, root: Node) => {
          const results = new Map<Node, Tensor>();
          const visit = (node: Node): Tensor => {
            const known = results.get(node);
            if (known) return known;
            const sum = node.inputs.map(visit).reduce((a, b) => a.add(b), x);
            const result = sum.mul(node.scale);
            results.set(node, result);
            return result;
          };
          return visit(root);
        },
        args: () => {
          const leaf: Node = { scale: 2, inputs: [] };
          const middle: Node = { scale: 3, inputs: [leaf, leaf] };
          return [weights([2]), { scale: 0.5, inputs: [middle, leaf, middle] }];
        },
      }),
      { calls },
    );
    expect(stats.translations).toBeLessThanOrEqual(2);
  });

  it.each(['WeakMap', 'Map'])('a pre-existing %s is asked for the key of the call', (type) => {
    const keys = [1, 2, 3, 1, 4, 2, 5, 5].map((id) => ({ id }));
    const { stats } = expectSameAsEager(
      () => {
        const cache: WeakMap<object, Tensor> = type === 'Map' ? new Map() : new WeakMap();
        const log: boolean[] = [];
        return {
          fn: (x: Tensor, key: object) => {
            log.push(cache.has(key));
            const scale = cache.get(key);
            if (scale) return x.mul(scale);
            cache.set(key, x.exp());
            return x.add(cache.get(key)!);
          },
          args: (call) => [
            values([2], call),
            keys[(call < 8 ? [0, 1, 2, 0, 3, 1, 4, 4] : [5, 6, 7])[call < 8 ? call : call % 3]!],
          ],
          state: () => [log, keys.map((key) => cache.get(key) ?? null)],
        };
      },
      // Enough for the checks of its guards to be generated as code.
      { calls: 230 },
    );
    expect(stats.translations).toBeLessThanOrEqual(5);
  });

  it('what was written or deleted under another key is seen under this one', () => {
    const make = (): World => {
      const [a, b, c] = [{}, {}, {}];
      const map = new Map<object, number>([
        [a, 1],
        [b, 2],
        [c, 3],
      ]);
      const pairs = [
        [a, b],
        [b, c],
        [c, a],
        [a, a],
        [c, c],
        [b, a],
      ] as const;
      return {
        fn: (x: Tensor, k: object, l: object) => {
          const first = map.get(k)!;
          map.delete(k);
          const gone = map.has(l);
          map.set(k, first + 1);
          map.set(l, (map.get(l) ?? 0) + 2);
          return [x.mul(map.get(k)!), gone, x.add(map.get(b)!)];
        },
        args: (call) => [values([2], call), ...pairs[call % 6]!],
        state: () => [...map.values()],
      };
    };
    for (const options of [{}, { fullGraph: true }]) {
      const { stats } = expectSameAsEager(make, { calls: 12, ...options });
      expect(stats.fallbacks).toEqual([]);
    }
  });
});
