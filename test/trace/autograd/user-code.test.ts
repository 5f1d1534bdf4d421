import { describe, it } from 'vitest';
import { customFunction, keep, nn, type Tensor } from '../../../src/index.ts';
import { differential } from '../../corpus/differential.ts';
import { values, weights } from '../same-as-eager.ts';
import { expectInParts } from './in-parts.ts';

const pair = () => [values([3]), weights([3], 1)];

class Box {}

describe('trace/hooks', () => {
  it('hooks of results are followed, in order, and removed', () =>
    expectInParts(() => {
      const log: string[] = [];
      return {
        fn: (x: Tensor, w: Tensor) => {
          const h = x.mul(w);
          h.registerHook((gradient) => {
            log.push('first');
            return gradient.mul(2);
          });
          const second = h.registerHook((gradient) => {
            log.push('second');
            return gradient.add(1);
          });
          h.pow(3).sum().backward(null, { retainGraph: true });
          second.remove();
          h.sum().backward();
          return w.grad;
        },
        args: pair,
        state: () => log,
      };
    }));

  it('hooks of parameters that were registered before', () =>
    expectInParts(
      () => {
        const w = weights([3], 1);
        let seen: Tensor | undefined;
        w.registerHook((gradient) => {
          seen = keep(gradient.clone());
        });
        w.registerHook((gradient) => gradient.clamp(-0.1, 0.1));
        return {
          fn: (x: Tensor) => {
            w.grad = null;
            x.mul(w).pow(3).sum().backward();
            return seen;
          },
          args: () => [values([3])],
          state: () => w,
        };
      },
      { garbage: true },
    ));

  it('a hook that comes later is another entry', () =>
    expectInParts(
      () => {
        const w = weights([3], 1);
        return {
          fn: (x: Tensor) => {
            x.mul(w).sum().backward();
            const gradient = w.grad;
            w.grad = null;
            return gradient;
          },
          args: (call) => {
            if (call === 1) w.registerHook((gradient) => gradient.mul(2));
            return [values([3])];
          },
          state: () => w,
        };
      },
      { graphs: 2 },
    ));

  it.each<[string, (a: Tensor, b: Tensor) => unknown]>([
    ['a tensor', (a) => a],
    ['a list with a tensor twice', (a, b) => [a, b, a]],
    ['tensors in objects and lists', (a, b) => ({ a, deeper: [{ b }], text: 'none', none: null })],
    ['an object without prototype', (a) => Object.assign(Object.create(null), { a })],
    ['an object of a class, which is not searched', (a) => Object.assign(new Box(), { a })],
    ['no tensor', () => 'text'],
  ])('backward hooks of a module whose output is %s', (_name, outputOf) =>
    expectInParts(
      () => {
        class Output extends nn.Module {
          override forward(a: Tensor, b: Tensor): unknown {
            return outputOf(a, b);
          }
        }
        const [first, second, output] = [weights([3], 1), weights([3], 2), new Output()];
        const log: string[] = [];
        output.registerBackwardHook((_module, gradient) => {
          log.push('hook');
          return gradient.mul(2);
        });
        return {
          fn: (x: Tensor) => {
            const [a, b] = [x.mul(first), x.mul(second)];
            output.forward(a, b);
            a.mul(b).sum().backward();
            return [first.grad, second.grad];
          },
          args: () => [values([3])],
          state: () => [first, second, log],
        };
      },
      // The first call finds no gradients, later ones add to them.
      { graphs: 2 },
    ),
  );

  it('a hook that a later backward calls ends the graph', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const h = x.mul(w);
          h.registerHook((gradient) => gradient.mul(2));
          return h.pow(3).sum();
        },
        args: pair,
      }),
      { graphs: 2, breaks: ['a hook is called after the graph has ended'], garbage: true },
    ));

  it('a handle that leaves the function ends the graph', () =>
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const h = x.mul(w);
          const handle = h.registerHook((gradient) => gradient.mul(2));
          h.sum().backward();
          return { handle };
        },
        args: pair,
      }),
      {
        graphs: 2,
        breaks: [
          'a hook is called after the graph has ended',
          'backward() into a graph recorded before this part of the function',
        ],
        garbage: true,
      },
    ));

  it('forward hooks of modules', () =>
    expectInParts(
      () => {
        const layer = new nn.Linear(3, 2);
        layer.registerForwardHook((_module, _inputs, output) => (output as Tensor).mul(2));
        return {
          fn: (x: Tensor) => {
            const loss = layer.forward(x).sum();
            loss.backward();
            return loss;
          },
          args: () => [values([2, 3])],
          state: () => [layer.weight, layer.bias],
        };
      },
      { graphs: 2 },
    ));
});

describe('trace/custom functions', () => {
  const scaledSquare = () =>
    customFunction({
      name: 'scaledSquare',
      forward: (ctx, x: Tensor, factor: number) => {
        ctx.saveForBackward(x);
        ctx.factor = factor;
        return x.mul(x).mul(factor);
      },
      backward: (ctx, gradient) => {
        const [x] = ctx.savedTensors;
        return [x!.mul(gradient).mul(2 * (ctx.factor as number)), null];
      },
    });

  it('forward and backward are part of the graph', () =>
    expectInParts(() => {
      const f = scaledSquare();
      return {
        fn: (x: Tensor, w: Tensor) => {
          const loss = f(f(x.mul(w), 3), 0.5).sum();
          loss.backward();
          return [loss, w.grad];
        },
        args: pair,
      };
    }));

  it('second gradients go through what backward computes', () =>
    expectInParts(() => {
      const f = scaledSquare();
      return {
        fn: (x: Tensor, w: Tensor) => {
          f(x.mul(w), 3).sum().backward(null, { createGraph: true });
          const penalty = w.grad!.pow(2).sum();
          w.grad = null;
          penalty.backward();
          return w.grad;
        },
        args: pair,
      };
    }));

  it('several outputs, needsInputGrad and an output that nobody uses', () =>
    expectInParts(() => {
      const needs: unknown[] = [];
      const f = customFunction({
        forward: (ctx, a: Tensor, b: Tensor) => {
          needs.push([...ctx.needsInputGrad]);
          ctx.saveForBackward(a, b);
          return [a.mul(b), a.add(b)];
        },
        backward: (ctx, toProduct, toSum) => {
          const [a, b] = ctx.savedTensors;
          return [
            toProduct!.mul(b!).add(toSum!),
            ctx.needsInputGrad[1] ? toProduct!.mul(a!) : null,
          ];
        },
      });
      return {
        fn: (x: Tensor, w: Tensor) => {
          const [product] = f(w, x);
          const [, total] = f(x, w);
          product!.sum().add(total!.pow(2).sum()).backward();
          return w.grad;
        },
        args: pair,
        state: () => needs,
      };
    }));

  it('a gradient that is asked for later is computed natively', () =>
    expectInParts(
      () => {
        const f = scaledSquare();
        return { fn: (x: Tensor, w: Tensor) => f(x.mul(w), 3).sum(), args: pair };
      },
      {
        graphs: 2,
        breaks: ['a custom function whose gradient is asked for after the graph has ended'],
        garbage: true,
      },
    ));
});

/** Everything that a tensor had is written over: no gradient comes to what it had been computed from. */
const overwritten: Record<string, (t: Tensor, y: Tensor) => Tensor> = {
  'copy_()': (t, y) => t.copy_(y),
  'fill_()': (t) => t.fill_(2),
  'zero_()': (t) => t.zero_(),
  'copy_() to a view of all of it': (t, y) => t.narrow(0, 0, 3).copy_(y),
  'copy_() and another op': (t, y) => t.copy_(y).mul(2),
};

describe('trace/a result that was written over requires gradients', () => {
  it.each(Object.entries(overwritten))('%s, of a custom function', (_, write) => {
    const double = customFunction({
      forward: (_ctx, t: Tensor) => t.mul(2),
      backward: (_ctx, gradient) => [gradient.mul(2)],
    });
    const make = () => ({
      fn: (x: Tensor, w: Tensor) => {
        const t = double(x.mul(w)) as Tensor;
        const result = write(t, x);
        return [t, result, t.requiresGrad];
      },
      args: pair,
    });
    differential(make, { calls: 3 });
  });

  it.each(Object.entries(overwritten))('%s, of an op with a hook', (_, write) => {
    const make = () => ({
      fn: (x: Tensor, w: Tensor) => {
        const t = x.mul(w).mul(2);
        t.registerHook((gradient) => gradient.mul(3));
        return [t, write(t, x)];
      },
      args: pair,
    });
    differential(make, { calls: 3 });
  });
});
