/** Gradients that a step frees: if an op of the step is rejected, a captured step leaves those that an eager step leaves. */

import { describe, expect, it } from 'vitest';
import { crossEntropy, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

type Loss = (w: Tensor, index: Tensor) => Tensor;

const losses: Readonly<Record<string, Loss>> = {
  'an index that is given': (w, index) => w.indexSelect(0, index).square().sum(),
  'an index that is computed': (w, index) => w.indexSelect(0, index.mul(2)).square().sum(),
  'a label that is given': (w, index) => crossEntropy(w, index),
  'a label that is computed': (w, index) => crossEntropy(w, index.mul(2)),
};

function free(w: Tensor): void {
  w.grad?.dispose();
  w.grad = null;
}

type Step = (loss: Loss) => (w: Tensor, index: Tensor) => unknown;

const steps: Readonly<Record<string, Step>> = {
  'freed before': (loss) => (w, index) => {
    free(w);
    loss(w, index).backward();
  },
  'freed after': (loss) => (w, index) => {
    const found = loss(w, index);
    free(w);
    found.backward();
  },
  'freed before, caught': (loss) => (w, index) => {
    try {
      free(w);
      loss(w, index).backward();
    } catch {
      return 'rejected';
    }
  },
  'freed after, caught': (loss) => (w, index) => {
    try {
      const found = loss(w, index);
      free(w);
      found.backward();
    } catch {
      return 'rejected';
    }
  },
  'freed after what is caught': (loss) => (w, index) => {
    let found: Tensor;
    try {
      found = loss(w, index);
    } catch {
      return 'rejected';
    }
    free(w);
    found.backward();
  },
};

/** Indices, of which some are out of range, alone or times 2. */
const indices = [
  [0, 1, 1],
  [1, 1, 0],
  [0, 2, 0],
  [1, 0, 1],
  [0, 5, 1],
  [1, 1, 1],
];

describe.each(Object.entries(losses))('%s', (what, loss) => {
  it.each(Object.entries(steps))('%s', (when, step) => {
    // A gradient that the step would have freed after the op that is rejected is gone.
    const isGone = what.endsWith('computed') && when === 'freed after';
    const results = (f: ReturnType<Step>) => {
      const w = weights([3, 3], 1);
      return indices.map((each) => {
        const before = w.grad;
        let left: unknown;
        try {
          left = f(w, tensor(Int32Array.from(each)));
        } catch (error) {
          left = (error as Error).name;
        }
        const gradient = w.grad && [...w.grad.dataSync()];
        if (isGone) return [left, left === undefined && gradient];
        return [left, before?.disposed, gradient];
      });
    };
    const expected = results(step(loss));
    for (const options of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
      expect(results(toStatic(step(loss), options)), JSON.stringify(options)).toEqual(expected);
    }
  });
});
