/** Histories that grow in a module, beside the arrays in which a walk over the module finds its state. */

import { describe, expect, it } from 'vitest';
import { nn, noGrad, optim, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';
import { row } from './pushed.ts';

class Model extends nn.Module {
  readonly layer = new nn.Linear(3, 2, { bias: false });
  readonly more: unknown[] = [];
  readonly history: unknown[] = [];

  constructor() {
    super();
    noGrad(() => this.layer.weight.copy_(weights([2, 3])));
  }

  override forward(x: Tensor): Tensor {
    return this.layer.forward(x);
  }
}

/** What a step appends to the history. */
const appended: Record<string, (loss: Tensor, i: number) => unknown> = {
  numbers: (_loss, i) => i,
  text: () => 'a step',
  objects: (_loss, i) => ({ step: i }),
  'detached tensors': (loss) => loss.detach(),
  'results with a history': (loss) => loss,
};

function walk(model: Model): unknown {
  nn.utils.clipGradNorm_(model.parameters(), 1);
  model.train().apply((module) => module.zeroGrad());
  return [model.buffers().length, Object.keys(model.stateDict())];
}

function training(append: (loss: Tensor, i: number) => unknown) {
  return (): World => {
    const model = new Model();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    return {
      fn: (x: Tensor, i: number) => {
        const loss = model.forward(x).square().sum();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        const found = walk(model);
        model.history.push(append(loss, i));
        return [loss, found];
      },
      args: (call) => [row(call), call],
      state: () => [model.history.length, model.layer.weight],
    };
  };
}

it.each(Object.entries(appended))('%s grow beside the state', (_kind, append) => {
  for (const options of [{}, { fullGraph: true }]) {
    const { translations } = expectSameAsEager(training(append), { calls: 6, ...options });
    expect(translations.at(-1)).toBeLessThanOrEqual(2);
  }
});

/** Changes of what a walk finds: before the call, or in it. */
const found: Record<string, (model: Model, x: Tensor, i: number) => unknown> = {
  'a module that comes later': (model, _x, i) => {
    if (i === 2) model.more.push(new nn.BatchNorm1d(3));
  },
  'a parameter among numbers': (model, x, i) => {
    model.more.push(i === 2 ? nn.parameter(x.clone()) : i);
  },
  'a plain leaf that requires a gradient': (model, x, i) => {
    model.more.push(i === 2 ? x.detach().requiresGrad_() : i);
  },
  'a tensor that begins to require a gradient': (model, x, i) => {
    if (i === 0) model.more.push(x.detach());
    if (i === 2) (model.more[0] as Tensor).requiresGrad_();
  },
  'a tensor that becomes a buffer': (model, x, i) => {
    if (i === 0) model.more.push(x.detach());
    if (i === 2) nn.buffer(model.more[0] as Tensor);
  },
  'a module that goes': (model, _x, i) => {
    if (i === 0) model.more.push(new nn.BatchNorm1d(3), 1);
    if (i === 2) model.more.shift();
  },
  'a module that takes the place of a number': (model, _x, i) => {
    if (i === 0) model.more.push(1, 2);
    if (i === 2) model.more[0] = new nn.BatchNorm1d(3);
  },
};

const listed = (model: Model) => [
  [...model.namedParameters()].map(([name]) => name),
  [...model.namedBuffers()].map(([name]) => name),
  [...model.namedModules()].map(([name]) => name),
];

describe('a walk finds', () => {
  it.each(Object.entries(found))('%s', (_name, change) => {
    for (const isInside of [true, false]) {
      for (const options of [{}, { fullGraph: true }]) {
        const world = (): World => {
          const model = new Model();
          return {
            fn: (x: Tensor, i: number) => {
              if (isInside) change(model, x, i);
              return [x.add(1), listed(model)];
            },
            args: (call) => {
              if (!isInside) change(model, row(call), call);
              return [row(call), call];
            },
          };
        };
        expectSameAsEager(world, { calls: 5, ...(isInside ? {} : options) });
      }
    }
  });

  it('no element by running a getter or a handler', () => {
    const world = (): World => {
      const model = new Model();
      const calls: string[] = [];
      const getter = { get: () => calls.push('getter'), configurable: true, enumerable: true };
      Object.defineProperty(model.more, 0, getter);
      const handler = {
        has: (target: object, key: PropertyKey) => {
          calls.push(`has ${String(key)}`);
          return key in target;
        },
      };
      model.more.push(new Proxy({}, handler));
      return {
        fn: (x: Tensor) => [x.add(1), model.parameters().length, calls.length],
        args: (call) => [row(call)],
        state: () => calls,
      };
    };
    expectSameAsEager(world, { calls: 4 });
  });
});

it('dispose frees tensors of a history, too', () => {
  const model = new Model();
  const cached = row(0);
  model.history.push(cached, 1);
  model.dispose();
  expect([cached.disposed, model.layer.weight.disposed]).toEqual([true, true]);
});
