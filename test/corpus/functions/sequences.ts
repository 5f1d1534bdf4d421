/** Text and sequences. */

import {
  cat,
  embedding,
  full,
  nn,
  noGrad,
  ones,
  stack,
  type Tensor,
  tanh,
  tensor,
  tril,
  where,
  zeros,
} from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

const raggedRecurrent: CorpusFunction = {
  name: 'a recurrent net over ragged lists',
  make: () => {
    const cell = { wx: weights([3, 4], 1), wh: weights([4, 4], 2), b: weights([4], 3) };
    const step = (x: Tensor, h: Tensor) =>
      tanh(x.matmul(cell.wx).add(h.matmul(cell.wh)).add(cell.b));
    return {
      fn: (sequences: Tensor[][]) => {
        const finals: Tensor[] = [];
        for (const sequence of sequences) {
          let h: Tensor = zeros([1, 4]);
          for (const x of sequence) h = step(x, h);
          finals.push(h);
        }
        return cat(finals, 0);
      },
      args: (call) => {
        const lengths = call % 2 ? [2, 1, 3] : [1, 3];
        return [
          lengths.map((n, i) => Array.from({ length: n }, (_, t) => values([1, 3], i * 5 + t))),
        ];
      },
      state: () => cell,
    };
  },
  expected: { graphs: 2 },
};

const teacherForcing: CorpusFunction = {
  name: 'an LSTM unrolled with teacher forcing',
  make: () => {
    const cell = new nn.LSTMCell(3, 4);
    const head = new nn.Linear(4, 3);
    return {
      fn: (targets: Tensor, forced: boolean[]) => {
        let [h, c]: [Tensor, Tensor] = [zeros([2, 4]), zeros([2, 4])];
        let input = targets.select(0, 0);
        const outputs: Tensor[] = [];
        for (let t = 1; t < targets.shape[0]!; t++) {
          [h, c] = cell.forward(input, [h, c]);
          const output = head.forward(h);
          outputs.push(output);
          input = forced[t] ? targets.select(0, t) : output;
        }
        return stack(outputs, 0);
      },
      args: (call) => [values([4, 2, 3], call), [false, true, false, true]],
      state: () => [cell, head],
    };
  },
  expected: { graphs: 1 },
};

interface Beam {
  tokens: number[];
  score: number;
}

const beamSearch: CorpusFunction = {
  name: 'beam search',
  make: () => {
    const transition = values([5, 5], 3);
    return {
      fn: (start: number, width: number, steps: number) => {
        let beams: Beam[] = [{ tokens: [start], score: 0 }];
        for (let i = 0; i < steps; i++) {
          const candidates: Beam[] = [];
          for (const { tokens, score } of beams) {
            const row = transition.select(0, tokens.at(-1)!).logSoftmax(-1).dataSync();
            row.forEach((logp, token) => {
              candidates.push({ tokens: [...tokens, token], score: score + logp });
            });
          }
          beams = candidates.sort((a, b) => b.score - a.score).slice(0, width);
        }
        return beams.map(({ tokens, score }) => ({ text: tokens.join(' '), score }));
      },
      args: (call) => [call % 3, 2, 3],
      state: () => transition,
    };
  },
  expected: { graphs: 6, breaks: ['data-read'] },
};

const attention: CorpusFunction = {
  name: 'attention of several heads with masks',
  make: () => {
    const w = {
      q: weights([8, 8], 1),
      k: weights([8, 8], 2),
      v: weights([8, 8], 3),
      o: weights([8, 8], 4),
    };
    const heads = 2;
    const split = (x: Tensor) =>
      x.reshape([x.shape[0]!, x.shape[1]!, heads, -1]).permute([0, 2, 1, 3]);
    return {
      fn: (x: Tensor, padding: Tensor | null, { causal = true } = {}) => {
        const [q, k, v] = [w.q, w.k, w.v].map((m) => split(x.matmul(m))) as [
          Tensor,
          Tensor,
          Tensor,
        ];
        const length = x.shape[1]!;
        let scores = q.matmul(k.transpose(-1, -2)).div(Math.sqrt(q.shape.at(-1)!));
        const minus = full([], -1e9);
        if (causal) scores = where(tril(ones([length, length])).eq(0), minus, scores);
        if (padding) scores = where(padding.reshape([-1, 1, 1, length]), minus, scores);
        const mixed = scores
          .softmax(-1)
          .matmul(v)
          .permute([0, 2, 1, 3])
          .reshape([...x.shape]);
        return mixed.matmul(w.o);
      },
      args: (call) => [
        values([2, 3, 8], call),
        call % 2 ? values([2, 3], 9).gt(0.5) : null,
        { causal: call !== 3 },
      ],
      state: () => w,
    };
  },
  expected: { graphs: 3 },
};

const greedy: CorpusFunction = {
  name: 'greedy decoding with an end token',
  make: () => {
    const table = values([5, 4], 1);
    const head = values([4, 5], 2);
    const decode = (first: number, limit: number) => {
      const tokens = [first];
      while (tokens.length < limit) {
        const last = tokens[tokens.length - 1]!;
        const scores = embedding(table, tensor(Int32Array.of(last))).matmul(head);
        const next = scores.argmax(-1).itemSync();
        tokens.push(next);
        if (next === 0) break;
      }
      return tokens;
    };
    return {
      fn: (first: number) => noGrad(() => decode(first, 5)),
      args: (call) => [call % 3],
      state: () => [table, head],
    };
  },
  expected: {
    graphs: 4,
    graphsInAuto: 10,
    breaks: ['data-read'],
    unexpected: ['framework-call'],
  },
};

const cache: CorpusFunction = {
  name: 'a cache of keys and values that grows with each token',
  make: () => {
    const past: { keys: Tensor[]; values: Tensor[] } = { keys: [], values: [] };
    const w = values([4, 4], 1);
    return {
      fn: (x: Tensor) => {
        past.keys.push(x.matmul(w));
        past.values.push(x.mul(2));
        if (past.keys.length > 3) {
          past.keys.shift();
          past.values.shift();
        }
        const scores = x.matmul(cat(past.keys, 0).transpose(0, 1)).softmax(-1);
        return scores.matmul(cat(past.values, 0));
      },
      args: (call) => [values([1, 4], call)],
      state: () => [past, w],
    };
  },
  calls: 6,
  expected: { graphs: 3 },
};

const positions: CorpusFunction = {
  name: 'sinusoidal positions computed in plain loops',
  make: () => ({
    fn: (x: Tensor) => {
      const [length, width] = x.shape as [number, number];
      const table: number[][] = [];
      for (let p = 0; p < length; p++) {
        const row: number[] = [];
        for (let i = 0; i < width; i++) {
          const angle = p / 10_000 ** ((2 * Math.floor(i / 2)) / width);
          row.push(i % 2 === 0 ? Math.sin(angle) : Math.cos(angle));
        }
        table.push(row);
      }
      return x.add(tensor(table));
    },
    args: (call) => [weights([3, 4], call)],
  }),
  expected: { graphs: 1 },
};

const bucketed: CorpusFunction = {
  name: 'sequences grouped by length in a Map',
  make: () => {
    const w = weights([2], 1);
    return {
      fn: (sequences: Tensor[]) => {
        const buckets = new Map<number, Tensor[]>();
        for (const sequence of sequences) {
          const length = sequence.shape[0]!;
          const bucket = buckets.get(length) ?? [];
          bucket.push(sequence);
          buckets.set(length, bucket);
        }
        const sums: Record<string, Tensor> = {};
        for (const [length, bucket] of [...buckets].sort(([a], [b]) => a - b)) {
          sums[`len${length}`] = stack(bucket, 0).mul(w).sum();
        }
        return sums;
      },
      args: () => [[3, 1, 3, 2, 1].map((n, i) => values([n, 2], i))],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

class Block extends nn.Module {
  readonly up: nn.Linear;
  readonly down: nn.Linear;
  readonly gain = nn.parameter(ones([4]));

  constructor(readonly config: { width: number; activation: 'relu' | 'tanh' }) {
    super();
    this.up = new nn.Linear(4, config.width);
    this.down = new nn.Linear(config.width, 4);
  }

  normalize(x: Tensor): Tensor {
    const centred = x.sub(x.mean(-1, { keepDim: true }));
    return centred.div(centred.pow(2).mean(-1, { keepDim: true }).add(1e-5).sqrt()).mul(this.gain);
  }

  override forward(x: Tensor): Tensor {
    const h = this.up.forward(this.normalize(x));
    return x.add(this.down.forward(this.config.activation === 'relu' ? h.relu() : h.tanh()));
  }
}

const transformer: CorpusFunction = {
  name: 'blocks built from a configuration, hidden states collected',
  make: () => {
    const blocks = [
      new Block({ width: 8, activation: 'relu' }),
      new Block({ width: 6, activation: 'tanh' }),
    ];
    return {
      fn: (x: Tensor, options?: { hidden?: boolean }) => {
        const states = [x];
        const output = blocks.reduce((h, block) => {
          const next = block.forward(h);
          if (options?.hidden) states.push(next);
          return next;
        }, x);
        return options?.hidden ? { output, states } : { output };
      },
      args: (call) => [values([2, 4], call), call % 2 ? { hidden: true } : undefined],
      state: () => blocks,
    };
  },
  expected: { graphs: 2 },
};

export const sequences: readonly CorpusFunction[] = [
  raggedRecurrent,
  teacherForcing,
  beamSearch,
  attention,
  greedy,
  cache,
  positions,
  bucketed,
  transformer,
];
