/** What is asked of the results of a function, beyond first gradients. */

import { grad, type Tensor } from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

export const bits = (t: Tensor | null | undefined): number[] | null =>
  t ? [...t.dataSync()] : null;

/** What is done with the results; returns all that was found. */
export const uses: Record<string, (y: Tensor[], x: Tensor, w: Tensor) => unknown> = {
  'grad of grad': ([y], x, w) => {
    const first = grad(y!, [x, w], { createGraph: true });
    const penalty = first[0]!.pow(2).sum().add(first[1]!.exp().sum());
    return [...first, ...grad(penalty, [x, w], { allowUnused: true })].map(bits);
  },
  'a loss with its penalty': ([y], x, w) => {
    const [slope] = grad(y!.mul(y!), [x], { createGraph: true });
    y!.add(slope!.pow(2).sum()).backward();
    return [x.grad, w.grad].map(bits);
  },
  'third gradients': ([y], x, w) => {
    const [first] = grad(y!, [x], { createGraph: true });
    const [second] = grad(first!.pow(2).sum(), [x], { createGraph: true });
    second!.tanh().sum().add(y!).backward();
    return [first, second, x.grad, w.grad].map(bits);
  },
  'gradients that add up': ([y], x, w) => {
    y!.backward(null, { createGraph: true });
    y!.exp().backward(null, { createGraph: true });
    const [before, own] = [x.grad!, w.grad!];
    const found = grad(before.mul(before).sum().add(own.sum()), [x, w], { allowUnused: true });
    return [before, own, ...found].map(bits);
  },
  'of every result': (ys, x, w) => {
    const seeds = ys.map((y, i) => values([...y.shape], i + 5));
    const first = grad(ys, [x], { gradOutputs: seeds, createGraph: true });
    first[0]!.pow(2).sum().backward();
    return [...first, x.grad, w.grad].map(bits);
  },
  'with a hook on the last result': (ys, x, w) => {
    const seen: unknown[] = [];
    ys.at(-1)!.registerHook((g) => {
      seen.push(bits(g));
      return g.mul(g);
    });
    const [first] = grad(ys[0]!, [x], { createGraph: true });
    first!.pow(2).sum().add(ys[0]!).backward();
    return [seen, ...[first, x.grad, w.grad].map(bits)];
  },
  once: ([y], x, w) => {
    const [slope] = grad(y!, [x], { createGraph: true, retainGraph: false });
    try {
      slope!.sum().backward();
      return [x.grad, w.grad].map(bits);
    } catch (error) {
      return (error as Error).constructor.name;
    }
  },
};
