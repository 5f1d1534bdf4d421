/** Numerical algorithms around tensors: alignments, filters, speculation. */

import {
  cat,
  eye,
  full,
  inverse,
  logaddexp,
  logdet,
  logSoftmax,
  multinomial,
  nn,
  noGrad,
  rand,
  stack,
  type Tensor,
  tensor,
  where,
  zeros,
} from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

const alignments: CorpusFunction = {
  name: 'a loss over all alignments with the labels',
  make: () => {
    const head = new nn.Linear(3, 4);
    const impossible = (n: number) => full([n], -1e30);
    const lossOf = (logits: Tensor, labels: number[], length: number) => {
      const states = [0, ...labels.flatMap((label) => [label, 0])];
      const count = states.length;
      const index = tensor(states, { dtype: 'int32' });
      const skips = tensor(states.map((each, i) => i > 1 && each !== 0 && each !== states[i - 2]));
      const at = (t: number) => logits.select(0, t).indexSelect(0, index);
      let alpha = cat([at(0).slice(0, 0, 2), impossible(count - 2)]);
      for (let t = 1; t < length; t++) {
        const one = cat([impossible(1), alpha.slice(0, 0, count - 1)]);
        const two = cat([impossible(2), alpha.slice(0, 0, count - 2)]);
        alpha = logaddexp(logaddexp(alpha, one), where(skips, two, impossible(count))).add(at(t));
      }
      return logaddexp(alpha.select(0, count - 1), alpha.select(0, count - 2)).neg();
    };
    return {
      fn: (x: Tensor, batch: { labels: number[]; length: number }[]) => {
        const logits = logSoftmax(head.forward(x), -1);
        return stack(
          batch.map(({ labels, length }, i) => lossOf(logits.select(1, i), labels, length)),
        ).mean();
      },
      args: (call) => [
        values([4, 2, 3], call),
        [
          { labels: [1, 2], length: 4 },
          { labels: call % 2 ? [3, 3] : [2], length: 3 },
        ],
      ],
      state: () => head,
    };
  },
  calls: 3,
  expected: { graphs: 2 },
};

interface Belief {
  mean: Tensor;
  covariance: Tensor;
}

const filter: CorpusFunction = {
  name: 'a Kalman filter as a generator, with missing measurements',
  make: () => {
    const [move, look] = [
      tensor([
        [1, 0.1],
        [0, 1],
      ]),
      tensor([[1, 0]]),
    ];
    const noise = weights([2], 4);
    function* beliefs(measured: Iterable<number | null>) {
      let belief: Belief = { mean: zeros([2, 1]), covariance: eye(2) };
      for (const z of measured) {
        const covariance = move.matmul(belief.covariance).matmul(move.t()).add(noise.exp().diag());
        belief = { mean: move.matmul(belief.mean), covariance };
        if (z !== null) {
          const error = tensor([[z]]).sub(look.matmul(belief.mean));
          const spread = look.matmul(covariance).matmul(look.t()).add(0.5);
          const gain = covariance.matmul(look.t()).matmul(inverse(spread));
          belief = {
            mean: belief.mean.add(gain.matmul(error)),
            covariance: eye(2).sub(gain.matmul(look)).matmul(covariance),
          };
          yield { belief, fit: error.pow(2).div(spread).sum().add(logdet(spread)) };
        } else yield { belief, fit: null };
      }
    }
    return {
      fn: (measured: (number | null)[]) => {
        const fits: Tensor[] = [];
        let last: Belief | undefined;
        for (const { belief, fit } of beliefs(measured)) {
          if (fit) fits.push(fit);
          last = belief;
        }
        return { loss: stack(fits).sum(), mean: last?.mean, seen: fits.length };
      },
      args: (call) => [[0.1, call % 2 ? null : 0.3, 0.2 + call]],
      state: () => [noise, move, look],
    };
  },
  expected: { graphs: 3 },
};

const speculation: CorpusFunction = {
  name: 'tokens that a small model proposes and a large one accepts',
  make: () => {
    const models = [1, 2].map((i) => ({ table: values([5, 4], i), head: values([4, 5], i + 7) }));
    const next = ({ table, head }: (typeof models)[number], tokens: Tensor) =>
      table.indexSelect(0, tokens).matmul(head).softmax(-1);
    return {
      fn: (prefix: Tensor, count: number) =>
        noGrad(() => {
          const [draft, model] = models as [(typeof models)[number], (typeof models)[number]];
          let tokens = prefix;
          const proposed: Tensor[] = [];
          for (let i = 0; i < count; i++) {
            const p = next(draft, tokens).select(0, tokens.size(0) - 1);
            const token = multinomial(p, 1);
            proposed.push(p.gather(0, token));
            tokens = cat([tokens, token]);
          }
          const judged = next(model, tokens);
          const start = prefix.size(0);
          let accepted = 0;
          for (; accepted < count; accepted++) {
            const token = tokens.narrow(0, start + accepted, 1);
            const p = judged.select(0, start + accepted - 1).gather(0, token);
            if (!rand([1]).lt(p.div(proposed[accepted]!)).itemSync()) break;
          }
          return { tokens: tokens.narrow(0, 0, start + accepted), accepted };
        }),
      args: (call) => [tensor([call % 5, 1], { dtype: 'int32' }), 3],
      state: () => models.map(({ table, head }) => [table, head]),
    };
  },
  expected: { graphs: 5, breaks: ['data-read'] },
};

export const algorithms: readonly CorpusFunction[] = [alignments, filter, speculation];
