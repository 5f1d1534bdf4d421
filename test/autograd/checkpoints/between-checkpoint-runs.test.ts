/** What may happen between the two runs of a checkpointed function that writes to tensors from before the call. */

import { expect, it } from 'vitest';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import {
  breakGraph,
  checkpoint,
  grad,
  nn,
  noGrad,
  rand,
  randn,
  seed,
  type Tensor,
  toStatic,
  zeros,
} from '../../../src/index.ts';

const [batch, width] = [24, 8];

type Body = (x: Tensor) => Tensor;

interface Layers {
  readonly norm: nn.BatchNorm1d;
  readonly linear: nn.Linear;
  /** Not a parameter. */
  readonly sum: Tensor;
  readonly body: Body;
}

interface Case {
  readonly fn: (layers: Layers) => (x: Tensor) => Tensor;
  /** In one graph, or with graph breaks. */
  readonly isOne: boolean;
}

const between: Readonly<Record<string, Case>> = {
  'a block is shared, and random numbers are drawn around it': {
    isOne: true,
    fn: ({ body }) =>
      function step(x) {
        const loss = checkpoint(body, checkpoint(body, x.mul(rand([width])))).sum();
        loss.backward();
        return loss.add(rand([]));
      },
  },
  'one gradient is asked for': {
    isOne: true,
    fn: ({ body, linear }) =>
      function step(x) {
        return grad(checkpoint(body, x).sum(), [linear.weight])[0]!;
      },
  },
  'no gradient is recorded': {
    isOne: true,
    fn: ({ body }) =>
      function step(x) {
        return noGrad(() => checkpoint(body, x));
      },
  },
  'the statistics are written': {
    isOne: true,
    fn: ({ body, norm }) =>
      function step(x) {
        const loss = checkpoint(body, x).sum();
        noGrad(() => norm.runningMean!.fill_(3));
        loss.backward();
        return loss;
      },
  },
  'the layers are switched': {
    isOne: false,
    fn: ({ body, norm }) =>
      function step(x) {
        const loss = checkpoint(body, x).sum();
        norm.eval();
        try {
          loss.backward();
        } finally {
          norm.train();
        }
        return loss;
      },
  },
  'the body writes what has no gradient while gradients are recorded': {
    isOne: true,
    fn: ({ linear, sum }) =>
      function step(x) {
        const y = checkpoint((a: Tensor) => {
          const h = linear.forward(a).tanh();
          sum.mul_(0.5).add_(h.detach().sum(0));
          return h.exp();
        }, x);
        y.sum().backward();
        return y.detach();
      },
  },
  'a gradient flows past the result': {
    isOne: false,
    fn: ({ linear, sum }) =>
      function step(x) {
        const total = sum.mul(1);
        const y = checkpoint((a: Tensor) => {
          const h = linear.forward(a).tanh();
          total.add_(h.sum(0));
          return h.exp();
        }, x);
        total.sum().backward();
        return y.detach();
      },
  },
  'the body writes its argument': {
    isOne: false,
    fn: ({ linear }) =>
      function step(x) {
        const y = checkpoint((a: Tensor) => {
          noGrad(() => a.add_(1));
          return linear.forward(a).tanh();
        }, x.mul(2));
        y.sum().backward();
        return y.detach();
      },
  },
  'backward comes after a break': {
    isOne: false,
    fn: ({ body }) =>
      function step(x) {
        const loss = checkpoint(body, x).sum();
        breakGraph();
        loss.backward();
        return loss;
      },
  },
};

it.each(Object.entries(between))('%s: as eagerly', (_name, { fn, isOne }) => {
  const outcome = (isCaptured: boolean) => {
    seed(4);
    const [norm, linear, sum] = [
      new nn.BatchNorm1d(width),
      new nn.Linear(width, width),
      zeros([width]),
    ];
    const body = (a: Tensor) => norm.forward(linear.forward(a)).tanh();
    const step = fn({ norm, linear, sum, body });
    const captured = new Captured(step as Captured['fn'], {});
    const call = (x: Tensor) => (isCaptured ? (captured.call(undefined, [x]) as Tensor) : step(x));
    const state = () => [sum, ...[norm, linear].flatMap((each) => Object.values(each.stateDict()))];
    const bits = Array.from({ length: 3 }, () => {
      const log: unknown[] = [];
      try {
        log.push(call(randn([batch, width])).tolist());
      } catch (error) {
        log.push(String(error).split('\n')[0]);
      }
      const gradients = [...norm.parameters(), ...linear.parameters()].map(({ grad }) => grad);
      return [...log, ...[...gradients, ...state()].map((each) => each?.tolist())];
    });
    return { bits, breaks: captured.stats().breaks.length };
  };
  const own = outcome(true);
  expect(own.bits).toEqual(outcome(false).bits);
  expect(own.breaks === 0).toBe(isOne);
});

it('the function of a checkpoint runs once in backward of a retained graph: later changes are not read', () => {
  const gradients = (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor) => {
    seed(4);
    const w = randn([3, 3]).requiresGrad_();
    const state = { scale: 2 };
    const call = wrap((x) => checkpoint((a: Tensor) => a.matmul(w).mul(state.scale).tanh(), x));
    const result = call(randn([2, 3])).sum();
    result.backward({ retainGraph: true });
    state.scale = 3;
    result.backward();
    return w.grad!.tolist();
  };
  expect(gradients((fn) => toStatic(fn))).toEqual(gradients((fn) => fn));
});
