/** Inputs that are views of one memory, such as gradients or parameters in one flat tensor, stay in programs. */

import { describe, expect, it } from 'vitest';
import { cat, nn, noGrad, optim, type Tensor, toStatic } from '../../src/index.ts';
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
