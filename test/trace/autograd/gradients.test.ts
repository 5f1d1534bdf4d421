import { describe, it } from 'vitest';
import {
  backward,
  checkpoint,
  enableGrad,
  grad,
  nn,
  noGrad,
  type Tensor,
} from '../../../src/index.ts';
import { values, weights } from '../same-as-eager.ts';
import { expectInParts } from './in-parts.ts';

const pair = () => [values([3]), weights([3], 1)];
const matrices = () => [values([2, 3]), weights([3, 1], 1)];

describe('trace/grad', () => {
  it('of one output for several inputs, .grad stays as it is', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor, v: Tensor) => {
        const h = x.mul(w);
        const [toW, toH, toV] = grad(h.tanh().mul(v).sum(), [w, h, v]);
        return [toW, toH, toV, w.grad, toW === toH];
      },
      args: () => [...pair(), weights([3], 2)],
    })));

  it('gradOutputs, one or several, and outputs as a list', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const [y, z] = [x.mul(w).tanh(), w.exp()];
        const first = grad(y, w, { gradOutputs: x, retainGraph: true });
        return [...first, ...grad([y, z.sum()], [w], { gradOutputs: [x.mul(2), null] })];
      },
      args: pair,
    })));

  it('an input that nothing depends on: null, or the error of eager execution', () => {
    const make = (allowUnused: boolean) => () => ({
      fn: (x: Tensor, w: Tensor, unused: Tensor) =>
        grad(x.mul(w).sum(), [w, unused], { allowUnused: allowUnused as true }),
      args: () => [...pair(), weights([3], 2)],
    });
    expectInParts(make(true));
    expectInParts(make(false), {
      graphs: 0,
      breaks: ['grad: the outputs do not depend on an input'],
      garbage: true,
    });
  });

  it('one gradient for two inputs is two tensors', () =>
    expectInParts(() => ({
      fn: (a: Tensor, b: Tensor) => {
        const [toA, toB] = grad(a.add(b).sum(), [a, b]);
        return [toA, toB, toA === toB];
      },
      args: () => [weights([3], 1), weights([3], 2)],
    })));

  it('inside noGrad and enableGrad', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) =>
        noGrad(() => {
          const loss = enableGrad(() => x.mul(w).pow(2).sum());
          const [gradient] = grad(loss, [w]);
          return w.sub(gradient!.mul(0.1));
        }),
      args: pair,
    })));
});

describe('trace/second gradients', () => {
  it('a gradient that the caller differentiates', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const [gradient] = grad(x.mul(w).tanh().sum(), [w], { createGraph: true });
        return gradient!.pow(2).sum();
      },
      args: pair,
    })));

  it('a gradient penalty as in WGAN-GP', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const at = x.detach().requiresGrad_();
        const [slope] = grad(at.matmul(w).tanh().sum(), [at], { createGraph: true });
        const penalty = slope!.pow(2).sum(1).sqrt().sub(1).pow(2).mean();
        penalty.backward();
        return [penalty.detach(), w.grad];
      },
      args: matrices,
    })));

  it('a product of the Hessian and a vector', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor, v: Tensor) => {
        const [gradient] = grad(x.matmul(w).tanh().sum(), [w], { createGraph: true });
        return grad(gradient!.mul(v).sum(), [w]);
      },
      args: () => [...matrices(), values([3, 1], 5)],
    })));

  it('third gradients', () =>
    expectInParts(() => ({
      fn: (w: Tensor) => {
        let y = w.sin().mul(w).sum();
        for (let order = 0; order < 2; order++) {
          [y] = grad(y, [w], { createGraph: true }).map((each) => each.sum()) as [Tensor];
        }
        y.backward();
        return w.grad;
      },
      args: () => [weights([4])],
    })));

  it('an inner step of learning to learn, differentiated through', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor, rate: number) => {
        let fast = w;
        for (let step = 0; step < 2; step++) {
          const [gradient] = grad(x.matmul(fast).pow(2).mean(), [fast], { createGraph: true });
          fast = fast.sub(gradient!.mul(rate));
        }
        const outer = x.matmul(fast).pow(2).mean();
        outer.backward();
        return [outer.detach(), fast.detach()];
      },
      args: () => [...matrices(), 0.1],
    })));

  it('through a layer norm and a softmax', () =>
    expectInParts(
      () => {
        const norm = new nn.LayerNorm([3]);
        return {
          fn: (x: Tensor) => {
            const scores = norm.forward(x).softmax(1);
            const [slope] = grad(scores.pow(2).sum(), [x], { createGraph: true });
            slope!.pow(2).sum().backward();
            return x.grad;
          },
          args: () => [weights([2, 3], 4)],
          state: () => norm,
        };
      },
      { graphs: 2 },
    ));

  it('backward with createGraph leaves gradients with a graph', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        x.mul(w).pow(3).sum().backward(null, { createGraph: true });
        x.mul(w).sin().sum().backward(null, { createGraph: true });
        return w.grad!.pow(2).sum();
      },
      args: pair,
    })));
});

describe('trace/backward', () => {
  it('with a gradient, also one that has a history', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor, v: Tensor) => {
        const start = v.mul(2);
        x.mul(w).backward(start);
        w.add(1).backward(start);
        return [start.sum(), w.grad];
      },
      args: () => [...pair(), weights([3], 7)],
    })));

  it('twice with retainGraph, and as a function', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const loss = x.mul(w).pow(3).sum();
        loss.backward(null, { retainGraph: true });
        backward(loss, loss.detach(), { retainGraph: true });
        backward(loss);
        return [w.grad, loss];
      },
      args: pair,
    })));

  it('of several losses over one trunk', () =>
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const trunk = x.mul(w).tanh();
        trunk.sum().backward(undefined, { retainGraph: true });
        trunk.pow(2).sum().backward();
        return w.grad;
      },
      args: pair,
    })));

  it('a second time through a graph that is used up is the same error, inside and outside', () => {
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const loss = x.mul(w).pow(3).sum();
          loss.backward();
          loss.backward();
        },
        args: pair,
      }),
      { graphs: 0, breaks: ['backward through powScalar a second time'], garbage: true },
    );
    expectInParts(() => ({
      fn: (x: Tensor, w: Tensor) => {
        const trunk = x.mul(w).tanh();
        trunk.sum().backward();
        return [trunk, trunk.pow(2), w.mul(3)];
      },
      args: pair,
    }));
  });

  it('errors are caught, and what was before them is done once', () => {
    const log: string[] = [];
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          log.push('called');
          try {
            x.sum().backward();
          } catch (error) {
            log.push((error as Error).constructor.name);
          }
          return x.mul(w);
        },
        args: pair,
        state: () => log.splice(0),
      }),
      {
        graphs: 0,
        breaks: ['backward: the tensor has no gradient history'],
        garbage: true,
      },
    );
  });

  it('a graph that was recorded before the function runs natively, one beside it does no harm', () => {
    const graph = () => [values([3]), weights([3], 1).mul(2)];
    expectInParts(
      () => ({
        fn: (x: Tensor, w: Tensor) => {
          const loss = x.mul(w).sum();
          loss.backward();
          return loss.detach();
        },
        args: graph,
      }),
      {
        graphs: 2,
        breaks: ['backward() into a graph recorded before this part of the function'],
        garbage: true,
      },
    );
    expectInParts(
      () => ({
        fn: (x: Tensor, beside: Tensor, w: Tensor) => {
          const other = beside.add(1);
          x.mul(w).sum().backward();
          return other.sum();
        },
        args: () => [...graph(), weights([3], 2)],
      }),
      { garbage: true },
    );
  });

  it('another call brings a tensor with a graph where there was a leaf', () =>
    expectInParts(
      () => ({
        fn: (w: Tensor) => {
          w.pow(2).sum().backward();
          return w.grad;
        },
        args: (call) => [call === 1 ? weights([3], 1).mul(2) : weights([3], 1)],
      }),
      {
        breaks: ['backward() into a graph recorded before this part of the function'],
        graphs: 2,
        garbage: true,
      },
    ));

  it('under checkpoint, with createGraph', () =>
    expectInParts(
      () => {
        const layer = new nn.Linear(3, 3);
        return {
          fn: (x: Tensor) => {
            const hidden = checkpoint((input: Tensor) => layer.forward(input).tanh(), x);
            const [slope] = grad(hidden.sum(), [x], { createGraph: true });
            slope!.pow(2).sum().backward();
            return x.grad;
          },
          args: () => [weights([2, 3])],
          state: () => layer,
        };
      },
      { graphs: 2 },
    ));
});
