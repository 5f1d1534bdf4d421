/** `backward()` in a branch or loop, over what branches and loops before it have recorded. */

import { expect, it } from 'vitest';
import { memory, save, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';

type Fn = (a: Tensor, b: Tensor, n: Tensor) => Tensor | null;

const functions: Record<string, Fn> = {
  'a branch of what a branch has recorded': (a, b, n) => {
    let y = a.mul(b);
    if (n.itemSync() > 0) y = y.sin();
    else y = y.cos().mul(b);
    if (n.itemSync() > 1) y.sum().backward();
    return null;
  },
  'a branch that leaves the graph for a later one': (a, b, n) => {
    let y = a.mul(b);
    if (n.itemSync() > 0) y = y.sin();
    else y = y.cos().mul(b);
    if (n.itemSync() > 1) y.sum().backward(null, { retainGraph: true });
    y.mul(2).sum().backward();
    return null;
  },
  'a loop over what a loop has recorded': (a, b, n) => {
    let y = a;
    for (let i = 0; i < n.itemSync(); i++) y = y.mul(b).sin();
    for (let i = 0; i < n.itemSync(); i++) y.sum().backward(null, { retainGraph: true });
    y.mul(2).sum().backward();
    return null;
  },
  'a branch in which eager execution finds the graph used up': (a, _b, n) => {
    const y = a.mul(2).sin();
    y.sum().backward();
    if (n.itemSync() > 0) y.sum().backward();
    return null;
  },
  'a program whose result is differentiated later': (a, b, n) => {
    let y = a.mul(b);
    if (n.itemSync() > 0) y = y.sin();
    y.sum().backward();
    return b.mul(a.grad!.detach()).sum();
  },
};

function outcome(fn: Fn, turns: number) {
  return tidy(() => {
    const given = [
      [1, 2],
      [0.5, -1],
    ].map((data) => tensor(data).requiresGrad_()) as [Tensor, Tensor];
    try {
      fn(...given, tensor(turns))?.backward();
      return given.map(({ grad }) => grad && [...grad.dataSync()]);
    } catch (error) {
      return (error as Error).name;
    } finally {
      for (const { grad } of given) grad?.dispose();
    }
  });
}

it.each(Object.entries(functions))('backward in %s is the eager one', (_, fn) => {
  const before = memory.stats('cpu').allocated;
  for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
    const graph = toStatic(fn, options);
    for (const turns of [-1, 1, 2, 3]) {
      expect(outcome(graph, turns), `${turns}`).toEqual(outcome(fn, turns));
    }
    if ('fullGraph' in options) expect(graph.stats().breaks).toEqual([]);
  }
  expect(memory.stats('cpu').allocated).toBe(before);
});

it('a graph that a branch may have used up is left to eager execution', () => {
  const again: Fn = (a, b, n) => {
    const y = a.mul(b);
    if (n.itemSync() > 1) y.sum().backward();
    return y.sum();
  };
  const broken = toStatic(again, { capture: 'auto' });
  for (const turns of [1, 2]) expect(outcome(broken, turns)).toEqual(outcome(again, turns));
  const whole = toStatic(again, { fullGraph: true });
  expect(() => tidy(() => whole(tensor([1]), tensor([2]).requiresGrad_(), tensor(1)))).toThrow(
    /frees a graph that the caller may still use/,
  );
});

it('a file holds no op that undoes one around it', async () => {
  const [w, n] = [tensor([1, 2]).requiresGrad_(), tensor(2)];
  const graph = toStatic(
    (x: Tensor, turns: Tensor) => {
      let y = x.mul(w);
      if (turns.itemSync() > 0) y = y.sin();
      else y = y.cos();
      if (turns.itemSync() > 1) y.sum().backward();
      return null;
    },
    { fullGraph: true },
  );
  graph(tensor([3, 4]), n);
  await expect(save(graph, '/dev/null')).rejects.toThrow(/undoes a branch or loop around it/);
});
