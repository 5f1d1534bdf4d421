/** `backward()` inside a program: a tensor that the taken path did not read keeps its `.grad`, and no optimizer moves it. */

import { describe, expect, it } from 'vitest';
import {
  customFunction,
  grad,
  memory,
  nn,
  optim,
  type StaticFunction,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { expectPredicted } from '../suite.ts';

const plain = (t: Tensor | null) => t && [...t.dataSync()];
const leaves = () =>
  [
    [1, 2],
    [0.5, -1],
    [2, 0.25],
  ].map((data) => tensor(data).requiresGrad_());

const allocated = () => memory.stats('cpu').allocated;

type Parameters = readonly Tensor[];
type StaticOptions = { readonly fullGraph: true } | { readonly capture: 'auto' };

/** The first parameter is always read, the second in a branch, the third in a loop. */
function lossOf([a, b, c]: Parameters, x: Tensor, n: Tensor): Tensor {
  let y = x.mul(a!);
  if (n.itemSync() > 0) y = y.mul(b!);
  for (let i = 1; i < n.itemSync(); i++) y = y.add(c!.sin());
  return y.sum();
}

const optimizers: Record<string, (parameters: Parameters) => optim.Optimizer> = {
  'SGD with momentum and decay': (parameters) =>
    new optim.SGD(parameters, { lr: 0.1, momentum: 0.9, weightDecay: 0.1 }),
  Adam: (parameters) => new optim.Adam(parameters, { lr: 0.1 }),
  AdamW: (parameters) => new optim.AdamW(parameters, { lr: 0.1, amsgrad: true }),
  Adamax: (parameters) => new optim.Adamax(parameters),
  NAdam: (parameters) => new optim.NAdam(parameters),
  RAdam: (parameters) => new optim.RAdam(parameters, { lr: 0.1, betas: [0.8, 0.9] }),
  RMSprop: (parameters) => new optim.RMSprop(parameters, { centered: true, momentum: 0.9 }),
  Adagrad: (parameters) => new optim.Adagrad(parameters, { lrDecay: 0.1 }),
  Adadelta: (parameters) => new optim.Adadelta(parameters),
  ASGD: (parameters) => new optim.ASGD(parameters, { t0: 2 }),
  Rprop: (parameters) => new optim.Rprop(parameters),
};
const runs = [0, 1, 3, 0, 2, 2, 0, 1, 2, 3, 0, 0, 2];

describe.each(Object.entries(optimizers))('%s', (name, make) => {
  /** Losses and parameters after each step, and how many steps each parameter has taken. */
  function train(options: StaticOptions | null) {
    return tidy(() => {
      const parameters = leaves();
      const optimizer = make(parameters);
      const step = (x: Tensor, n: Tensor) => {
        const loss = lossOf(parameters, x, n);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss.detach();
      };
      const run = options ? toStatic(step, options) : step;
      const found = runs.map((turns) => {
        const loss = run(tensor([1, -1]), tensor(turns)).itemSync();
        return [loss, ...parameters.map(plain)];
      });
      if (options && 'fullGraph' in options) {
        expectPredicted(run as StaticFunction<typeof step>);
        expect((run as StaticFunction<typeof step>).stats().breaks).toEqual([]);
      }
      const { counts } = optimizer;
      optimizer.dispose();
      return { found, counts };
    });
  }

  // Both trace the same program.
  const modes: readonly StaticOptions[] = [{ fullGraph: true }, { capture: 'auto' }];
  it.each(name === 'Adam' ? modes : modes.slice(0, 1))(
    'skips parameters that the taken path has not read: %j',
    (options) => {
      const before = allocated();
      expect(train(options)).toEqual(train(null));
      expect(allocated()).toBe(before);
    },
  );
});

/** What a function leaves in `.grad`, and answers, with options or as it is. */
function outcome(
  fn: (parameters: Parameters, n: Tensor) => unknown,
  turns: number,
  options: StaticOptions | null,
) {
  return tidy(() => {
    const parameters = leaves();
    const own = (n: Tensor) => fn(parameters, n);
    const run = options ? toStatic(own, options) : own;
    try {
      return [0, 1].map(() => {
        const value = run(tensor(turns));
        const values = [value].flat().map((each) => plain(each as Tensor | null));
        return [values, parameters.map((each) => plain(each.grad))];
      });
    } catch (error) {
      return [(error as Error).name];
    } finally {
      for (const each of parameters) each.grad?.dispose();
    }
  });
}

const functions: Record<string, (parameters: Parameters, n: Tensor) => unknown> = {
  'backward twice': (parameters, n) => {
    lossOf(parameters, parameters[0]!.detach(), n).backward();
    lossOf(parameters, parameters[1]!.detach(), n.sub(1)).backward();
    return null;
  },
  'gradients that are one memory': ([a, b], n) => {
    const y = n.itemSync() > 0 ? a!.add(b!) : a!.sub(b!);
    y.mul(3).sum().backward();
    a!.mul(5).sum().backward();
    return null;
  },
  'a gradient that is read': (parameters, n) => {
    lossOf(parameters, parameters[0]!.detach(), n).backward();
    const { grad: found } = parameters[1]!;
    return found ? found.mul(2) : parameters[1]!.neg();
  },
  'grad() with allowUnused': (parameters, n) => {
    return grad(lossOf(parameters, parameters[0]!.detach(), n), parameters, { allowUnused: true });
  },
  'grad() that refuses an unused input': (parameters, n) => {
    return grad(lossOf(parameters, parameters[0]!.detach(), n), parameters);
  },
  'gradients of a small norm': (parameters, n) => {
    lossOf(parameters, parameters[0]!.detach(), n).backward();
    return nn.utils.clipGradNorm_(parameters, 0.5);
  },
  'gradients of a small norm, of which there may be none': (parameters, n) => {
    lossOf(parameters, parameters[0]!.detach(), n).backward();
    return nn.utils.clipGradNorm_(parameters[1]!, 0.5, Infinity);
  },
  'small gradients, of which there may be none': (parameters, n) => {
    lossOf(parameters, parameters[0]!.detach(), n).backward();
    nn.utils.clipGradValue_(parameters.slice(1), 0.1);
    return null;
  },
  'a gradient that is kept of a result': ([a, b], n) => {
    const y = a!.mul(b!);
    y.retainGrad();
    const z = n.itemSync() > 0 ? y.sin() : b!.cos();
    z.sum().backward();
    return y.grad ? y.grad.clone() : null;
  },
};

describe.each(Object.entries(functions))('%s', (_, fn) => {
  it.each([0, 1, 2])('is as eagerly with %i', (turns) => {
    const before = allocated();
    const expected = outcome(fn, turns, null);
    expect(outcome(fn, turns, { fullGraph: true })).toEqual(expected);
    expect(outcome(fn, turns, { capture: 'auto' })).toEqual(expected);
    expect(allocated()).toBe(before);
  });
});

describe('functions that run for a gradient', () => {
  const double = customFunction({
    forward: (_context, x: Tensor) => x.mul(2),
    backward: (_context, gradient: Tensor) => gradient.mul(2),
  });
  const bodies: Record<string, (parameters: Parameters, n: Tensor) => unknown> = {
    'a hook': ([a, b], n) => {
      const y = a!.mul(b!);
      y.registerHook((gradient) => gradient.mul(10));
      const z = n.itemSync() > 0 ? y.sin() : b!.cos();
      z.sum().backward();
      return null;
    },
    'a rule of the user': ([a, b], n) => {
      const y = double(a!) as Tensor;
      const z = n.itemSync() > 0 ? y.sin() : b!.cos();
      z.sum().backward();
      return null;
    },
  };

  it.each(Object.keys(bodies))('%s is no part of a program where it may be missing', (name) => {
    for (const turns of [0, 1]) {
      const expected = outcome(bodies[name]!, turns, null);
      expect(outcome(bodies[name]!, turns, { capture: 'auto' })).toEqual(expected);
    }
    expect(outcome(bodies[name]!, 1, { fullGraph: true })).toEqual(['FullGraphError']);
  });
});
