/** A captured function that differentiates a gradient of its own, where a branch is on the way. */

import { describe, expect, it } from 'vitest';
import {
  grad,
  memory,
  nn,
  optim,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import { weights } from '../../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor, n: Tensor) => Tensor;

const penalized = (y: Tensor, x: Tensor): Tensor => {
  const [slope] = grad(y.sum(), [x], { createGraph: true });
  return y.mean().add(slope!.mul(slope!).sum());
};

const functions: Record<string, Fn> = {
  'a branch': (x, w, n) => {
    const h = x.mul(w);
    return penalized(n.itemSync() > 0 ? h.tanh().mul(h) : h.exp(), x);
  },
  'branches in a row': (x, w, n) => {
    let h = x.mul(w);
    if (n.itemSync() > 0) h = h.tanh();
    const k = h.mul(h);
    return penalized(n.itemSync() > 1 ? k.exp() : k.sin().mul(h), x);
  },
  'a branch in a branch': (x, w, n) => {
    let h = x.mul(w);
    if (n.itemSync() > 0) {
      h = h.sigmoid().mul(h);
      if (n.itemSync() > 1) h = h.mul(h).sin();
      h = h.add(w.mul(0.5));
    }
    return penalized(h.mul(h), x).mul(2);
  },
  'a branch that returns from a callee': (x, w, n) => {
    const net = (t: Tensor) => {
      const h = t.mul(w);
      if (n.itemSync() > 0) return h.tanh().mul(h);
      return h.exp();
    };
    const first = penalized(net(x), x);
    return first.add(net(x).mean());
  },
  'a loop with a bound': (x, w, n) => {
    let h = x.mul(w);
    for (let i = 0; i < 3; i++) {
      if (i >= n.itemSync()) break;
      h = h.tanh().mul(w);
    }
    return penalized(h, x);
  },
  'a branch of each iteration': (x, w, n) => {
    let sum = x.sum().mul(0.1);
    for (let i = 0; i < 2 && i < n.itemSync(); i++) {
      const h = x.mul(w).mul(sum);
      sum = sum.add(penalized(h.sum().itemSync() > 0.2 ? h.tanh() : h.exp().mul(h), x).tanh());
    }
    return sum;
  },
  'a gradient of a gradient of a gradient': (x, w, n) => {
    const h = x.mul(w);
    const y = n.itemSync() > 0 ? h.tanh().mul(h) : h.exp();
    const [first] = grad(y.sum(), [x], { createGraph: true });
    const [second] = grad(first!.pow(2).sum(), [x], { createGraph: true });
    return second!.pow(2).sum().add(y.mean());
  },
};

const bits = (t: Tensor | null | undefined) => (t ? [...t.dataSync()] : null);

function found(fn: Fn): unknown {
  return [-1, 0, 1, 2, 3].map((n) => {
    const before = memory.stats('cpu').allocated;
    const seen = tidy(() => {
      const [x, w] = [weights([3, 4], 1), weights([3, 4], 7)];
      const y = fn(x, w, tensor(n));
      const first = grad(y, [x, w], { createGraph: true, allowUnused: true });
      const all = grad(first[0]!.exp().sum().add(y), [x, w], { allowUnused: true });
      return [y, ...first, ...all].map(bits);
    });
    return [seen, memory.stats('cpu').allocated - before];
  });
}

describe.each(Object.entries(functions))('through %s', (_, fn) => {
  it.each([{ fullGraph: true }, { capture: 'auto' }] as const)('%o', (options) => {
    const captured = toStatic(fn, { strict: true, ...options });
    expect(found(captured)).toEqual(found(fn));
    if ('fullGraph' in options) expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });
});

class Critic extends nn.Module {
  readonly first = new nn.Linear(4, 8);
  readonly second = new nn.Linear(8, 1);
  override forward(x: Tensor): Tensor {
    let h = this.first.forward(x);
    if (h.mean().itemSync() > 0) h = h.tanh();
    else h = h.sigmoid().mul(h);
    return this.second.forward(h);
  }
}

it('a training step with a penalty is one program', () => {
  const train = (capture: boolean): unknown => {
    seed(3);
    const critic = new Critic();
    const optimizer = new optim.Adam(critic.parameters(), { lr: 0.05 });
    const fn = (x: Tensor) => {
      const own = x.detach().requiresGrad_();
      const y = critic.forward(own);
      const [slope] = grad(y.sum(), [own], { createGraph: true });
      const loss = y.mean().add(slope!.pow(2).sum(1).sqrt().sub(1).pow(2).mean());
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.detach();
    };
    const step = capture ? toStatic(fn, { fullGraph: true, strict: true }) : fn;
    const losses = [...Array(6).keys()].map((i) => bits(step(weights([5, 4], i))));
    return [losses, [...critic.parameters()].map(bits)];
  };
  expect(tidy(() => train(true))).toEqual(tidy(() => train(false)));
});

/** Loops whose gradients go back to what earlier iterations, or code before them, have recorded. */
const leadingBack: Record<string, Fn> = {
  'to a tensor from before the loop': (x, w, n) => {
    let sum = x.mul(w).sum();
    for (let i = 0; i < 3 && i < n.itemSync(); i++) {
      const [slope] = grad(x.mul(w).mul(sum).tanh().sum(), [x], { retainGraph: true });
      sum = sum.add(slope!.sum());
    }
    return sum;
  },
  'to one that iterations read': (x, w, n) => {
    let h = w.mul(0.5).add(x.exp().mean());
    for (let i = 0; i < 3 && i < n.itemSync(); i++) {
      h = h.mul(x).tanh();
      const [slope] = grad(h.sum(), [x], { retainGraph: true });
      h = h.add(slope!);
    }
    return h.sum();
  },
  'of one carried tensor to another': (x, w, n) => {
    let [a, b] = [x.mul(1), x.mul(w)];
    for (let i = 0; i < 3 && i < n.itemSync(); i++) {
      const [slope] = grad(a.mul(b).sum(), [a], { retainGraph: true });
      a = slope!.tanh().mul(w);
      b = a.mul(x);
    }
    return a.add(b).sum();
  },
};

it.each(Object.entries(leadingBack))('grad() in a loop %s', (_, fn) => {
  for (const options of [{ fullGraph: true }, {}]) {
    expect(found(toStatic(fn, options))).toEqual(found(fn));
  }
});

it('and without a bound it is no program', () => {
  const fn: Fn = (x, w, n) => {
    let sum = x.mul(w).sum();
    for (let i = 0; i < n.itemSync(); i++) {
      const [slope] = grad(x.mul(w).mul(sum).tanh().sum(), [x], { retainGraph: true });
      sum = sum.add(slope!.sum());
    }
    return sum;
  };
  const run = (each: Fn) => tidy(() => bits(each(weights([3], 1), weights([3], 2), tensor(2))));
  expect(() => run(toStatic(fn, { fullGraph: true }))).toThrow(/an earlier iteration has recorded/);
  expect(run(toStatic(fn))).toEqual(run(fn));
});

it('through a loop without a bound it is an error that says so', () => {
  const fn: Fn = (x, w, n) => {
    let h = x.mul(w);
    for (let i = 0; i < n.itemSync(); i++) h = h.tanh().mul(w);
    return penalized(h, x);
  };
  const run = (each: Fn) => tidy(() => bits(each(weights([3], 1), weights([3], 2), tensor(2))));
  expect(() => run(toStatic(fn, { fullGraph: true }))).toThrow(
    /a gradient of a gradient goes through its iterations/,
  );
  expect(run(toStatic(fn))).toEqual(run(fn));
});
