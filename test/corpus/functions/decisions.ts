/** Routing, reinforcement learning, and classic algorithms. */

import { cat, noGrad, ones, type Tensor, tensor, zeros } from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

const mixture: CorpusFunction = {
  name: 'a mixture of experts with soft routing',
  make: () => {
    const experts = [1, 2, 3].map((i) => ({ w: weights([4, 4], i), scale: i }));
    const router = weights([4, 3], 9);
    return {
      fn: (x: Tensor) => {
        const gates = x.matmul(router).softmax(-1);
        const outputs = experts.map(({ w, scale }, i) => {
          return x
            .matmul(w)
            .relu()
            .mul(scale)
            .mul(gates.narrow(1, i, 1));
        });
        const load = gates.mean(0);
        return { output: outputs.reduce((a, b) => a.add(b)), balance: load.mul(load).sum() };
      },
      args: (call) => [values([2, 4], call)],
      state: () => [experts, router],
    };
  },
  expected: { graphs: 1 },
};

const topOne: CorpusFunction = {
  name: 'a mixture of experts that reads where to send each row',
  make: () => {
    const experts = [1, 2].map((i) => weights([3, 3], i));
    const router = values([3, 2], 5);
    return {
      fn: (x: Tensor) => {
        const chosen = x.matmul(router).argmax(-1).dataSync();
        const rows: Tensor[] = [];
        for (let i = 0; i < x.shape[0]!; i++) {
          rows.push(x.narrow(0, i, 1).matmul(experts[chosen[i]!]!).tanh());
        }
        return rows;
      },
      args: (call) => [values([3, 3], call)],
      state: () => [experts, router],
    };
  },
  expected: { graphs: 5, breaks: ['data-read'] },
};

const plugins: CorpusFunction = {
  name: 'a registry of functions in a Map',
  make: () => {
    const registry = new Map<string, (x: Tensor) => Tensor>([
      ['double', (x) => x.mul(2)],
      ['shift', (x) => x.add(1)],
      ['squash', (x) => x.tanh()],
    ]);
    const used = new Set<string>();
    return {
      fn: (x: Tensor, pipeline: string[]) => {
        let h = x;
        for (const name of pipeline) {
          const step = registry.get(name);
          if (!step) throw new Error(`no step ${name}`);
          used.add(name);
          h = step(h);
        }
        return h;
      },
      args: (call) => [weights([3], call), call === 3 ? ['lost'] : ['double', 'squash']],
      state: () => [...used],
    };
  },
  calls: 5,
  expected: { graphs: 1, breaks: ['throw'] },
};

const returns: CorpusFunction = {
  name: 'discounted returns, computed backward',
  make: () => ({
    fn: (rewards: number[], gamma: number) => {
      const returns: number[] = [];
      let running = 0;
      for (let i = rewards.length - 1; i >= 0; i--) {
        running = rewards[i]! + gamma * running;
        returns.unshift(running);
      }
      const t = tensor(returns);
      return t.sub(t.mean()).div(t.sub(t.mean()).pow(2).mean().sqrt().add(1e-6));
    },
    args: () => [[1, 0, -1, 2], 0.9],
  }),
  expected: { graphs: 1 },
};

const policyGradient: CorpusFunction = {
  name: 'a policy gradient step with a baseline',
  make: () => {
    const policy = weights([3, 4], 1);
    const baseline = { value: 0, decay: 0.5 };
    return {
      fn: (states: Tensor, actions: Tensor, reward: number) => {
        const logp = states.matmul(policy).logSoftmax(-1);
        const chosen = logp.gather(1, actions.unsqueeze(1)).squeeze(1);
        const advantage = reward - baseline.value;
        baseline.value = baseline.decay * baseline.value + (1 - baseline.decay) * reward;
        const loss = chosen.mul(-advantage).mean();
        loss.backward();
        return loss.detach();
      },
      args: (call) => [values([2, 3], call), tensor(Int32Array.of(call % 4, 1)), 1 + call],
      state: () => [policy, baseline],
    };
  },
  calls: 5,
  expected: { graphs: 2 },
};

const gae: CorpusFunction = {
  name: 'generalized advantages over a trajectory',
  make: () => {
    const critic = weights([2], 1);
    return {
      fn: (trajectory: { state: Tensor; reward: number; done: boolean }[], gamma = 0.9) => {
        const estimates = trajectory.map(({ state }) => state.mul(critic).sum());
        let carried: Tensor = zeros([]);
        const advantages: Tensor[] = [];
        for (let i = trajectory.length - 1; i >= 0; i--) {
          const { reward, done } = trajectory[i]!;
          const next = done || i + 1 >= estimates.length ? zeros([]) : estimates[i + 1]!;
          const delta = next.mul(gamma).add(reward).sub(estimates[i]!);
          carried = done ? delta : delta.add(carried.mul(gamma * 0.95));
          advantages.push(carried);
        }
        return advantages.reverse();
      },
      args: (call) => [
        [0, 1, 2].map((i) => ({ state: values([2], call + i), reward: i, done: i === 1 })),
      ],
      state: () => critic,
    };
  },
  expected: { graphs: 1 },
};

const epsilonGreedy: CorpusFunction = {
  name: 'epsilon-greedy choice with a generator of its own',
  make: () => {
    const q = values([3, 4], 2);
    const rng = { state: 7 };
    const random = () => {
      rng.state = (rng.state * 16807) % 2147483647;
      return rng.state / 2147483647;
    };
    return {
      fn: (s: number, epsilon: number) => {
        if (random() < epsilon) return Math.floor(random() * 4);
        return q.select(0, s).argmax().itemSync();
      },
      args: (call) => [call % 3, 0.5],
      state: () => [rng, q],
    };
  },
  calls: 6,
  expected: { graphs: 1, breaks: ['data-read'] },
};

const replay: CorpusFunction = {
  name: 'a replay buffer of limited size',
  make: () => {
    const buffer: { x: Tensor; r: number }[] = [];
    const w = weights([2], 1);
    return {
      fn: (x: Tensor, r: number) => {
        buffer.push({ x, r });
        if (buffer.length > 2) buffer.shift();
        const errors = buffer.map((item) => item.x.mul(w).sum().sub(item.r).pow(2));
        return errors.reduce((a, b) => a.add(b)).div(buffer.length);
      },
      args: (call) => [values([2], call), call],
      state: () => [buffer, w],
    };
  },
  calls: 6,
  expected: { graphs: 4 },
};

const valueTable: CorpusFunction = {
  name: 'temporal differences in a table by state',
  make: () => {
    const table = new Map<string, number>();
    return {
      fn: (episode: [string, number][]) => {
        for (let i = 0; i < episode.length; i++) {
          const [state, reward] = episode[i]!;
          const next = episode[i + 1]?.[0];
          const old = table.get(state) ?? 0;
          const target = reward + 0.9 * (next === undefined ? 0 : (table.get(next) ?? 0));
          table.set(state, old + 0.5 * (target - old));
        }
        return [...table.entries()].map(([state, value]) => `${state}:${value.toFixed(2)}`);
      },
      args: () => [
        [
          ['a', 0],
          ['b', 1],
        ],
      ],
      state: () => [...table],
    };
  },
  expected: { graphs: 0 },
};

const kMeans: CorpusFunction = {
  name: 'k-means for some rounds',
  make: () => ({
    fn: (points: Tensor, k: number, rounds: number) => {
      let centres = points.narrow(0, 0, k);
      for (let i = 0; i < rounds; i++) {
        const away = points.unsqueeze(1).sub(centres.unsqueeze(0)).pow(2).sum(-1);
        const nearest = away.argmin(-1);
        const sums: Tensor[] = [];
        for (let c = 0; c < k; c++) {
          const mine = nearest.eq(c).to('float32').unsqueeze(1);
          sums.push(points.mul(mine).sum(0, { keepDim: true }).div(mine.sum().add(1e-9)));
        }
        centres = cat(sums, 0);
      }
      return centres;
    },
    args: (call) => [values([6, 2], call), 2, 2],
  }),
  expected: { graphs: 1 },
};

const descent: CorpusFunction = {
  name: 'gradient descent until it is good enough',
  make: () => {
    const target = values([3], 4);
    return {
      fn: (start: Tensor, tolerance: number) => {
        let x = start;
        let steps = 0;
        while (steps < 20) {
          const gap = x.sub(target);
          const error = gap.pow(2).mean().itemSync();
          if (error < tolerance) break;
          x = x.sub(gap.mul(0.5));
          steps++;
        }
        return { x, steps };
      },
      args: (call) => [values([3], call), 0.01],
      state: () => target,
    };
  },
  expected: { graphs: 1, breaks: ['data-read'] },
};

const powerIteration: CorpusFunction = {
  name: 'power iteration with a vector kept between calls',
  make: () => {
    const state: { u: Tensor } = { u: ones([3]) };
    return {
      fn: (m: Tensor) =>
        noGrad(() => {
          for (let i = 0; i < 2; i++) {
            const v = m.matmul(state.u.unsqueeze(1)).squeeze(1);
            state.u = v.div(v.pow(2).sum().sqrt().add(1e-9));
          }
          return m.matmul(state.u.unsqueeze(1)).pow(2).sum().sqrt();
        }),
      args: (call) => [values([3, 3], call)],
      state: () => state,
    };
  },
  expected: { graphs: 1, garbage: true },
};

const life: CorpusFunction = {
  name: 'the game of life by rolled boards',
  make: () => ({
    fn: (board: Tensor, turns: number) => {
      let alive = board;
      for (let turn = 0; turn < turns; turn++) {
        let around: Tensor | null = null;
        for (const dy of [-1, 0, 1]) {
          for (const dx of [-1, 0, 1]) {
            if (dy === 0 && dx === 0) continue;
            const moved = alive.roll([dy, dx], [0, 1]);
            around = around ? around.add(moved) : moved;
          }
        }
        const three = around!.eq(3).to('float32');
        alive = three.add(around!.eq(2).to('float32').mul(alive));
      }
      return alive;
    },
    args: (call) => [values([4, 4], call).gt(0).to('float32'), 2],
  }),
  expected: { graphs: 1 },
};

export const decisions: readonly CorpusFunction[] = [
  mixture,
  topOne,
  plugins,
  returns,
  policyGradient,
  gae,
  epsilonGreedy,
  replay,
  valueTable,
  descent,
  powerIteration,
  life,
  kMeans,
];
