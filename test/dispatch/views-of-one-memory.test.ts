/**
 * Inputs that are views of one memory, such as gradients or parameters in one flat tensor, stay in programs, unless a
 * gradient reads what another view has written: that is an error, as in eager execution.
 */

import { describe, expect, it } from 'vitest';
import {
  cat,
  nn,
  noGrad,
  optim,
  type Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../src/index.ts';
import { values, weights } from '../trace/same-as-eager.ts';

/** A step, and everything that it changes. */
interface World {
  readonly step: (x: Tensor) => Tensor;
  readonly state: readonly Tensor[];
}

const loss = (a: Tensor, b: Tensor, x: Tensor): Tensor => a.mul(b).mul(x).sum();

function withFlatGradients(): { a: Tensor; b: Tensor; flat: Tensor } {
  const [a, b, flat] = [weights([2]), weights([2], 1), values([4], 2)];
  a.grad = flat.narrow(0, 0, 2);
  b.grad = flat.narrow(0, 2, 2);
  return { a, b, flat };
}

const worlds: Record<string, () => World> = {
  'gradients that are added up': () => {
    const { a, b, flat } = withFlatGradients();
    return {
      step: (x) => {
        loss(a, b, x).backward();
        return flat.mul(1);
      },
      state: [a, b, flat],
    };
  },
  'gradients that an optimizer reads': () => {
    const { a, b, flat } = withFlatGradients();
    const optimizer = new optim.Adam([a, b], { lr: 0.1 });
    return {
      step: (x) => {
        loss(a, b, x).backward();
        nn.utils.clipGradNorm_([a, b], 1);
        optimizer.step();
        return a.mul(b).detach();
      },
      state: [a, b, flat],
    };
  },
  'parameters in one tensor': () => {
    const flat = values([4]);
    const [a, b] = [0, 2].map((at) => flat.narrow(0, at, 2).requiresGrad_());
    const optimizer = new optim.SGD([a!, b!], { lr: 0.1, momentum: 0.9 });
    return {
      step: (x) => {
        const value = loss(a!, b!, x);
        optimizer.zeroGrad();
        value.backward();
        optimizer.step();
        return value.detach();
      },
      state: [flat, a!, b!],
    };
  },
  'gradients projected in one tensor, between two backwards': () => {
    const [a, b] = [weights([2]), weights([2], 1)];
    const optimizer = new optim.SGD([a, b], { lr: 0.1 });
    return {
      step: (x) => {
        loss(a, b, x).backward();
        const all = cat([a.grad!, b.grad!]);
        const move = all.div(all.mul(all).sum().sqrt()).mul(0.05);
        noGrad(() => {
          a.add_(move.narrow(0, 0, 2));
          b.add_(move.narrow(0, 2, 2));
        });
        a.grad!.zero_();
        b.grad!.zero_();
        loss(a, b, x).backward();
        optimizer.step();
        const left = cat([a.grad!, b.grad!]);
        a.grad = left.narrow(0, 0, 2);
        b.grad = left.narrow(0, 2, 2);
        return loss(a, b, x).detach();
      },
      state: [a, b],
    };
  },
  'views with common elements': () => {
    const flat = values([4]);
    const [a, b] = [weights([2]), weights([2], 1)];
    a.grad = flat.narrow(0, 0, 2);
    b.grad = flat.narrow(0, 1, 2);
    return {
      step: (x) => {
        loss(a, b, x).backward();
        return a.grad!.add(b.grad!);
      },
      state: [a, b, flat],
    };
  },
};

function outcome({ step, state }: World): unknown[] {
  return [0, 1, 2].map((call) => [
    step(values([2], call)).tolist(),
    state.map((each) => [each.tolist(), each.grad?.tolist()]),
  ]);
}

describe.each([{}, { capture: 'auto' }, { fullGraph: true }] as const)('%j', (mode) => {
  it.each(Object.entries(worlds))('%s', (_, make) => {
    const world = make();
    const step = toStatic(world.step, mode);
    expect(outcome({ ...world, step })).toEqual(outcome(make()));
    expect(step.stats()).toMatchObject({ fallbacks: [], breaks: [], graphRuns: 3 });
  });

  it('a write to one view before backward reads another is an error, as eagerly', () => {
    const make = () => {
      const flat = values([4]);
      const [a, b] = [0, 2].map((at) => flat.narrow(0, at, 2).requiresGrad_());
      return (x: Tensor) => {
        const value = loss(a!, a!, x);
        noGrad(() => b!.mul_(2));
        value.backward();
      };
    };
    const message = /a value that it needs was changed in place/;
    expect(() => make()(values([2]))).toThrow(message);
    const step = toStatic(make(), mode);
    for (const call of [0, 1]) expect(() => step(values([2], call))).toThrow(message);
  });

  it('a backward after the call finds a value that another view has overwritten', () => {
    const make = () => {
      const flat = values([4]);
      const [a, b] = [0, 2].map((at) => flat.narrow(0, at, 2).requiresGrad_());
      return (x: Tensor) => {
        const value = loss(a!, a!, x);
        noGrad(() => b!.mul_(2));
        return value;
      };
    };
    const message = /a value that it needs was changed in place/;
    expect(() => make()(values([2])).backward()).toThrow(message);
    const step = toStatic(make(), mode);
    for (const call of [0, 1]) expect(() => step(values([2], call)).backward()).toThrow(message);
  });
});

type Body = (a: Tensor, b: Tensor, x: Tensor) => Tensor;

const triple = (b: Tensor): void => noGrad(() => void b.detach().mul_(3));

/** Gradients of `a` or of leaves made of it, and a write to `b`. */
const bodies: Record<string, Body> = {
  'after the call': (a, b, x) => {
    const loss = a.sin().mul(x).sum();
    triple(b);
    return loss;
  },
  'of a branch, after the call': (a, b, x) => {
    let result = a.mul(2);
    if (x.sum().itemSync() > -5) result = a.sin().mul(x);
    triple(b);
    return result.sum();
  },
  'inside, between its forward and its backward': (a, b, x) => {
    const loss = a.mul(a).mul(x).sum();
    triple(b);
    loss.backward();
    return loss.detach();
  },
  'inside, where a plan reads only what it has computed before the write': (a, b) => {
    const slope = noGrad(() => a.cos());
    const loss = a.sin().sum();
    triple(b);
    loss.backward();
    return slope.add(1);
  },
  'inside, of a view': (a, b) => {
    const loss = a.view(2).select(0, 1).square().sum();
    triple(b);
    loss.backward();
    return b;
  },
  'inside, before and after the write': (a, b, x) => {
    a.sin().sum().backward();
    triple(b);
    a.mul(x).sum().backward();
    return a.grad!.mul(1);
  },
  'of a leaf made inside, after the call': (a, b, x) => {
    const loss = a.detach().requiresGrad_().sin().mul(x).sum();
    triple(b);
    return loss;
  },
  'of a leaf made inside': (a, b, x) => {
    const leaf = a.detach().requiresGrad_();
    const loss = leaf.sin().mul(x).sum();
    triple(b);
    loss.backward();
    return leaf.grad!.mul(1);
  },
  'of an input that begins to require one': (_, b, x) => {
    const loss = x.requiresGrad_().sin().sum();
    triple(b);
    loss.backward();
    return x.grad!.mul(1);
  },
  'of a leaf in a branch': (a, b, x) => {
    let result = x.mul(2);
    if (x.sum().itemSync() > -5) {
      const leaf = x.detach().mul(1).requiresGrad_();
      const loss = leaf.mul(a.detach()).sum();
      triple(b);
      loss.backward();
      result = leaf.grad!.mul(1);
    }
    return result;
  },
  'of a leaf in a loop': (a, b, x) => {
    let result = x.mul(2);
    for (let i = 0; x.mul(i).abs().sum().itemSync() < 2; i++) {
      const leaf = x.detach().mul(1).requiresGrad_();
      const loss = leaf.mul(a.detach()).sum();
      triple(b);
      loss.backward();
      result = result.add(leaf.grad!);
    }
    return result;
  },
  'of a leaf, with what a branch hands through': (a, b, x) => {
    let factor = a.detach();
    if (x.sum().itemSync() > 100) factor = x.detach();
    const leaf = x.detach().mul(1).requiresGrad_();
    const loss = leaf.mul(factor).sum();
    triple(b);
    loss.backward();
    return leaf.grad!.mul(1);
  },
  'with what a branch hands through, after the call': (a, b, x) => {
    let factor = a.detach().view(1, 2);
    if (x.sum().itemSync() > 100) factor = x.detach().view(1, 2);
    const loss = x.detach().mul(1).requiresGrad_().mul(factor).sum();
    triple(b);
    return loss;
  },
  'of a leaf, with what a loop hands through': (a, b, x) => {
    let factor = a.detach();
    for (let i = 0; x.mul(i).abs().sum().itemSync() < -1; i++) factor = factor.mul(2);
    const leaf = x.detach().mul(1).requiresGrad_();
    const loss = leaf.mul(factor).sum();
    triple(b);
    loss.backward();
    return leaf.grad!.mul(1);
  },
  none: (a, b, x) => {
    const sum = a.detach().mul(x).sum();
    triple(b);
    return sum.add(a.detach()).add(b.detach());
  },
};

/** For each call the memory of `a`, of `b` and of `x`: a program traced for some of them serves the others. */
const memories = {
  apart: ['123', '113', '122', '123', '121', '111'],
  together: ['121', '111', '113', '123'],
};

function outcomes(body: Body, calls: readonly string[], requiresGrad: boolean): unknown[] {
  return calls.map((memory, call) => {
    const flats = [0, 1, 2].map((i) => values([6], call + i));
    const [a, b, x] = [0, 1, 2].map((i) => {
      const view = flats[Number(memory[i]) - 1]!.narrow(0, 2 * i, 2);
      return view.requiresGrad_(requiresGrad && i < 2);
    }) as [Tensor, Tensor, Tensor];
    const seen: unknown[] = [];
    try {
      const result = body(a, b, x);
      seen.push(result.tolist());
      if (result.requiresGrad) result.backward(result.isLeaf ? values([2]) : undefined);
    } catch (error) {
      seen.push((error as Error).message.split('\n')[0]);
    }
    return [seen, [a, b, x].map((each) => [each.tolist(), each.grad?.tolist()])];
  });
}

describe.each(Object.entries(bodies))('inputs share memory later; gradients: %s', (name, body) => {
  const givens = /leaf|begins|none/.test(name) ? [true, false] : [true];
  it.each(Object.entries(memories))('first %s', (_, calls) => {
    for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as ToStaticOptions[]) {
      for (const requiresGrad of givens) {
        const step = toStatic(body, mode);
        expect(outcomes(step, calls, requiresGrad)).toEqual(outcomes(body, calls, requiresGrad));
        if (name !== 'none') continue;
        expect(step.stats()).toMatchObject({ fallbacks: [], graphRuns: calls.length });
      }
    }
  });
});
