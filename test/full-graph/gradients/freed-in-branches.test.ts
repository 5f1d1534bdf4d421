/** Graphs that a backward in a branch or loop frees, and that the results of the branch or loop continue. */

import { describe, expect, it } from 'vitest';
import { type Tensor, type ToStaticOptions, tensor, toStatic } from '../../../src/index.ts';

type Body = (x: Tensor, w: Tensor) => Tensor[];

const isLarge = (x: Tensor) => x.abs().mean().itemSync() > 0.5;

const freed: Record<string, Body> = {
  'made and freed in a branch': (x, w) => {
    let h = x.mul(1);
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      h.sum().backward();
    }
    return [h];
  },
  'freed on both paths': (x, w) => {
    let h: Tensor;
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      h.sum().backward();
    } else {
      h = w.mul(x).exp();
      h.sum().backward();
    }
    return [h.mul(2)];
  },
  'beside an intact result': (x, w) => {
    let h = x.mul(1);
    let other = w.mul(2);
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      other = w.mul(x).exp();
      h.sum().backward();
    }
    return [other, h];
  },
  'of a branch in a branch': (x, w) => {
    let h = x.mul(1);
    if (isLarge(x)) {
      if (isLarge(w)) {
        h = w.mul(x).tanh();
        h.sum().backward();
      }
      h = h.mul(2);
    }
    return [h];
  },
  'the loss of the last iteration': (x, w) => {
    let loss = x.sum();
    let i = 0;
    while (x.mul(i).abs().sum().itemSync() < 7) {
      loss = w.mul(x).tanh().sum();
      loss.backward();
      i++;
    }
    return [loss];
  },
  'kept by retainGraph': (x, w) => {
    let h = x.mul(1);
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      h.sum().backward(undefined, { retainGraph: true });
    }
    return [h];
  },
  'without saved values': (x, w) => {
    let h = x.mul(1);
    if (isLarge(x)) {
      h = w.add(x).neg();
      h.sum().backward();
    }
    return [h];
  },
};

const onSomePaths: Record<string, Body> = {
  'freed on one path only': (x, w) => {
    let h: Tensor;
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      h.sum().backward();
    } else h = w.mul(x).exp();
    return [h];
  },
  'intact before a loop that may free': (x, w) => {
    let h = w.mul(x).exp();
    let i = 0;
    while (x.mul(i).abs().sum().itemSync() < 7) {
      h = w.mul(x).tanh();
      h.sum().backward();
      i++;
    }
    return [h];
  },
};

/** What two backwards do with each result, for inputs that take each path, and for other sizes. */
function outcomes(body: Body, options: ToStaticOptions | null): unknown[] {
  const fn = options ? toStatic(body, options) : body;
  return [
    [1, -2],
    [0.1, 0.2],
    [3, 1, 2],
    [0.1, 0, 0.3],
    [2, 2],
    [0.1, 0, 0.3, 0.2],
  ].map((row) => {
    const w = tensor(row.map((_, i) => i + 0.5)).requiresGrad_();
    const results = fn(tensor(row), w);
    const seen: unknown[] = results.map((each) => [each.tolist(), each.requiresGrad]);
    for (const each of results) {
      try {
        if (each.requiresGrad) each.sum().backward();
      } catch (error) {
        // The op at which backward fails is one of the path, where a program may have taken several.
        seen.push((error as Error).message.split('\n')[0]!.replace(/through \w+ a/, 'through … a'));
      }
      seen.push(w.grad?.tolist() ?? null);
    }
    return seen;
  });
}

describe.each([{}, { capture: 'auto' }, { fullGraph: true }] as ToStaticOptions[])('%j', (mode) => {
  it.each(Object.entries(freed))('%s', (_, body) => {
    expect(outcomes(body, mode)).toEqual(outcomes(body, null));
  });

  it.each(Object.entries(onSomePaths))('%s', (_, body) => {
    const found = () => outcomes(body, mode);
    if (mode.fullGraph) expect(found).toThrow(/frees a graph that the caller may still use/);
    else expect(found()).toEqual(outcomes(body, null));
  });
});

it('a backward after the branch finds the graph freed', () => {
  const body = (x: Tensor, w: Tensor) => {
    let h = x.mul(1);
    if (isLarge(x)) {
      h = w.mul(x).tanh();
      h.sum().backward();
    }
    h.mul(w).sum().backward();
    return w.grad!.mul(1);
  };
  for (const mode of [{ capture: 'auto' }, { fullGraph: true }] as ToStaticOptions[]) {
    const messages = [body, toStatic(body, mode)].map((fn) => {
      try {
        return fn(tensor([1, -2]), tensor([1, 2]).requiresGrad_()).tolist();
      } catch (error) {
        return (error as Error).message.split('\n')[0];
      }
    });
    expect(messages[1]).toEqual(messages[0]);
  }
});
