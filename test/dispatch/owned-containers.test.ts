/** Containers without tensors beside those with tensors: native code between graphs may read them. */

import { expect, it } from 'vitest';
import { OwnedTensors } from '../../src/dispatch/ownership/owned-tensors.ts';
import { cat, embedding, noGrad, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

it('only containers that reach a tensor of the call may hold one', () => {
  const owned = new OwnedTensors();
  const x = tensor([1]);
  const [tokens, cache] = [[1, 2], [x]];
  owned.addContainer(tokens);
  owned.addArray(cache, new Set());
  const found = () => [tokens, cache].map((each) => owned.mayHoldTensor(each));
  expect(found()).toEqual([false, true]);
  owned.store(tokens, x);
  expect(found()).toEqual([true, true]);
  owned.escape(cache);
  expect(owned.isContainer(cache)).toBe(false);
});

it('a list of tokens beside a cache of tensors ends no native code', () => {
  const table = values([6, 4], 1);
  const [k, v, head] = [values([4, 4], 2), values([4, 4], 3), values([4, 6], 4)];
  const decode = (first: number, count: number) => {
    const tokens = [first];
    let cache: [Tensor, Tensor] | null = null;
    while (tokens.length < count) {
      const x = embedding(table, tensor(Int32Array.of(tokens.at(-1)!)));
      const own = [x.matmul(k), x.matmul(v)] as const;
      cache = cache ? [cat([cache[0], own[0]], 0), cat([cache[1], own[1]], 0)] : [...own];
      const scores = x.matmul(cache[0].transpose(0, 1)).softmax(-1);
      tokens.push(scores.matmul(cache[1]).matmul(head).argmax(-1).itemSync());
    }
    return tokens;
  };
  const run = (first: number) => noGrad(() => decode(first, 24));
  const captured = toStatic(run);
  for (let call = 0; call < 6; call++) expect(captured(call % 3)).toEqual(run(call % 3));
  expect(captured.stats().translations).toBeLessThanOrEqual(13);
  expect(captured.stats().kernels.eager).toBe(0);
});
