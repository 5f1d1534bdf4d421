/** Training steps whose graph breaks somewhere leave the bytes that they found: what crosses a break is given back. */

import { describe, expect, it } from 'vitest';
import {
  breakGraph,
  crossEntropy,
  memory,
  nn,
  optim,
  randn,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

interface Trained {
  readonly model: nn.Module & { forward(x: Tensor): Tensor };
  readonly optimizer: optim.Optimizer;
  readonly parameters: readonly Tensor[];
}

type Step = (x: Tensor, y: Tensor, breakAt: (place: number) => void) => unknown;

/** Each with the number of places at which its graph may break. */
const steps: Readonly<Record<string, { readonly places: number; of(given: Trained): Step }>> = {
  'the loss is returned': {
    places: 5,
    of:
      ({ model, optimizer }) =>
      (x, y, breakAt) => {
        breakAt(0);
        const scores = model.forward(x);
        breakAt(1);
        const loss = crossEntropy(scores, y);
        breakAt(2);
        loss.backward();
        breakAt(3);
        optimizer.step();
        breakAt(4);
        optimizer.zeroGrad();
        return loss.detach();
      },
  },
  'a number is returned': {
    places: 3,
    of:
      ({ model, optimizer }) =>
      (x, y, breakAt) => {
        optimizer.zeroGrad();
        const loss = crossEntropy(model.forward(x), y);
        breakAt(0);
        const value = loss.itemSync();
        breakAt(1);
        loss.backward();
        breakAt(2);
        optimizer.step();
        return value;
      },
  },
  'nothing is returned, and gradients are clipped': {
    places: 3,
    of:
      ({ model, optimizer, parameters }) =>
      (x, y, breakAt) => {
        const scores = model.forward(x).tanh();
        breakAt(0);
        const loss = crossEntropy(scores, y).add(scores.pow(2).mean());
        loss.backward();
        breakAt(1);
        nn.utils.clipGradNorm_([...parameters], 0.5);
        breakAt(2);
        optimizer.step();
        optimizer.zeroGrad();
      },
  },
  'two backwards over one graph': {
    places: 3,
    of:
      ({ model, optimizer }) =>
      (x, y, breakAt) => {
        const scores = model.forward(x);
        const [first, second] = [crossEntropy(scores, y), scores.pow(2).mean()];
        breakAt(0);
        first.backward(null, { retainGraph: true });
        breakAt(1);
        second.backward();
        breakAt(2);
        optimizer.step();
        optimizer.zeroGrad();
        return [first.detach(), second.detach()];
      },
  },
  'a seed of its own': {
    places: 2,
    of:
      ({ model, optimizer }) =>
      (x, _y, breakAt) => {
        const scores = model.forward(x);
        const seed = scores.detach().mul(0.1);
        breakAt(0);
        scores.backward(seed);
        breakAt(1);
        optimizer.step();
        optimizer.zeroGrad();
        return seed;
      },
  },
};

function train(name: string): Trained & { readonly step: Step } {
  const model = new nn.Sequential(new nn.Linear(4, 6), new nn.ReLU(), new nn.Linear(6, 3));
  const parameters = [...model.parameters()];
  const optimizer = new optim.AdamW(parameters, { lr: 0.01 });
  const given = { model, optimizer, parameters };
  return { ...given, step: steps[name]!.of(given) };
}

/** Bytes that each call leaves behind. */
function left(name: string, places: ReadonlySet<number>): number[] {
  const { step, model, optimizer } = train(name);
  const captured = toStatic(step, { fallback: 'error' });
  const breakAt = (place: number): void => {
    if (places.has(place)) breakGraph();
  };
  const [x, y] = [randn([5, 4]), tensor(Int32Array.from([0, 1, 2, 0, 1]))];
  const bytes = () => memory.stats('cpu').allocated;
  const grown = Array.from({ length: 5 }, () => {
    const before = bytes();
    for (const result of [captured(x, y, breakAt)].flat()) (result as Tensor)?.dispose?.();
    return bytes() - before;
  });
  if (places.size > 0) expect(captured.stats().breaks).not.toEqual([]);
  for (const each of [x, y, optimizer, model]) each.dispose();
  return grown.slice(2);
}

describe.each(Object.keys(steps))('%s', (name) => {
  const all = Array.from({ length: steps[name]!.places }, (_, i) => i);
  it.each([[], ...all.map((place) => [place]), all].map((places) => [places]))(
    'breaks at %j',
    (places) => {
      expect(left(name, new Set(places))).toEqual([0, 0, 0]);
    },
  );
});
