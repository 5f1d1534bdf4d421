/** Functions as users write them, with sizes that depend on data. */

import {
  arange,
  bincount,
  cat,
  crossEntropy,
  oneHot,
  ones,
  rand,
  randn,
  stack,
  type Tensor,
  tensor,
  unique,
  uniqueConsecutive,
  zeros,
} from '../../../src/index.ts';

export interface Case {
  // biome-ignore lint/suspicious/noExplicitAny: each function has its own arguments.
  readonly fn: (...args: any[]) => unknown;
  /** Makes the arguments of a run with random numbers, and with sizes that follow from its number. */
  readonly args: (run: number) => Tensor[];
}

const int = (...values: number[]) => tensor(values, { dtype: 'int32' });
const leaf = (...shape: number[]) => randn(shape).requiresGrad_();

const extent = (boxes: Tensor, dim: number) => boxes.select(1, dim + 2).sub(boxes.select(1, dim));

function overlap(boxes: Tensor, box: Tensor): Tensor {
  const low = boxes.narrow(1, 0, 2).maximum(box.narrow(1, 0, 2));
  const high = boxes.narrow(1, 2, 2).minimum(box.narrow(1, 2, 2));
  const sides = high.sub(low).clamp(0, null);
  return sides.select(1, 0).mul(sides.select(1, 1));
}

export const functions: Readonly<Record<string, Case>> = {
  'suppression of overlapping boxes': {
    fn: (boxes: Tensor, scores: Tensor) => {
      const kept: Tensor[] = [];
      const area = extent(boxes, 0).mul(extent(boxes, 1));
      let order = scores.argsort(0, true);
      while (order.shape[0]! > 0) {
        const best = order.narrow(0, 0, 1);
        kept.push(best.reshape([]));
        const rest = order.narrow(0, 1, order.shape[0]! - 1);
        const shared = overlap(boxes.indexSelect(0, rest), boxes.indexSelect(0, best));
        const all = area.indexSelect(0, rest).add(area.indexSelect(0, best)).sub(shared);
        order = rest.index(shared.div(all).le(0.5));
      }
      return stack(kept);
    },
    args: () => {
      const corners = rand([6, 2]);
      return [cat([corners, corners.add(0.3)], 1), rand([6])];
    },
  },
  'boxes above a score, in order': {
    fn: (scores: Tensor, boxes: Tensor) => {
      const chosen = scores.gt(0.5).nonzero().reshape([-1]);
      const order = scores.indexSelect(0, chosen).argsort(0, true);
      return boxes.indexSelect(0, chosen).indexSelect(0, order);
    },
    args: () => [rand([8]), rand([8, 4])],
  },
  'experts of chosen rows': {
    fn: (x: Tensor, gate: Tensor, weights: Tensor) => {
      const scores = x.matmul(gate).softmax(1);
      let y: Tensor = x.mul(0);
      for (let e = 0; e < 3; e++) {
        const rows = scores.argmax(1).eq(e).nonzero().select(1, 0);
        const part = scores.select(1, e).indexSelect(0, rows).unsqueeze(1);
        const own = x.indexSelect(0, rows).matmul(weights.select(0, e)).mul(part);
        y = y.indexAdd(0, rows, own);
      }
      return y;
    },
    args: () => [leaf(6, 4), leaf(4, 3), leaf(3, 4, 4)],
  },
  'experts of sorted rows': {
    fn: (x: Tensor, gate: Tensor, weights: Tensor) => {
      const chosen = x.matmul(gate).argmax(1);
      const order = chosen.argsort(0);
      const ends = bincount(chosen, null, 3).cumsum(0).to('int32');
      const pieces = x.indexSelect(0, order).tensorSplit(ends.narrow(0, 0, 2));
      const results = cat(pieces.map((piece, e) => piece.matmul(weights.select(0, e))));
      return results.mul(0).indexAdd(0, order, results);
    },
    args: () => [leaf(6, 4), randn([4, 3]), leaf(3, 4, 4)],
  },
  'means of ragged segments': {
    fn: (x: Tensor, lengths: Tensor) => {
      const segments = arange(0, 3, 1, { dtype: 'int32' }).repeatInterleave(lengths);
      const rows = x.narrow(0, 0, segments.shape[0]!);
      const sums = zeros([3, 2]).indexAdd(0, segments, rows);
      return sums.div(lengths.float().clamp(1, null).unsqueeze(1));
    },
    args: (run) => [leaf(9, 2), int(1 + (run % 3), run % 2, 3)],
  },
  'sequences without their padding': {
    fn: (x: Tensor, lengths: Tensor) => {
      const parts: Tensor[] = [];
      for (let b = 0; b < 3; b++) {
        parts.push(x.select(0, b).narrow(0, 0, lengths.select(0, b).itemSync()));
      }
      return cat(parts).exp().mean(0);
    },
    args: (run) => [leaf(3, 4, 2), int(1 + (run % 4), 2, 4 - (run % 3))],
  },
  'a loss of labeled rows': {
    fn: (logits: Tensor, labels: Tensor) => {
      const valid = labels.ne(-100);
      return crossEntropy(logits.index(valid), labels.index(valid));
    },
    args: (run) => [leaf(6, 3), int(0, -100, 2, 1, run % 2 ? -100 : 1, run % 3 ? 2 : -100)],
  },
  'a loss of masked tokens': {
    fn: (x: Tensor, labels: Tensor, weight: Tensor) => {
      const masked = labels.reshape([-1]).ge(0).nonzero().reshape([-1]);
      const scores = x.reshape([-1, 4]).indexSelect(0, masked).tanh().matmul(weight);
      const targets = labels.reshape([-1]).indexSelect(0, masked).unsqueeze(1);
      return scores.logSoftmax(1).gather(1, targets).neg().mean();
    },
    args: (run) => [leaf(2, 3, 4), int(0, -1, 2, (run % 2) - 1, 1, -1).reshape([2, 3]), leaf(4, 3)],
  },
  'beams near the best': {
    fn: (scores: Tensor, tokens: Tensor) => {
      const alive = scores.index(tokens.ne(0));
      const kept = alive.ge(alive.amax().sub(1)).nonzero().reshape([-1]);
      return [alive.indexSelect(0, kept), kept, kept.numel()];
    },
    args: (run) => [randn([6]), int(1, 0, 2, run % 3, 4, 5)],
  },
  'messages along edges': {
    fn: (x: Tensor, adjacency: Tensor, weight: Tensor) => {
      const edges = adjacency.nonzero();
      const [from, to] = [edges.select(1, 0), edges.select(1, 1)];
      const messages = x.indexSelect(0, from).matmul(weight).relu();
      const degrees = zeros([4]).indexAdd(0, to, ones([to.shape[0]!]));
      return x.mul(0).indexAdd(0, to, messages).div(degrees.clamp(1, null).unsqueeze(1));
    },
    args: () => [leaf(4, 3), rand([4, 4]).gt(0.5).to('int32'), leaf(3, 3)],
  },
  'attention along edges': {
    fn: (x: Tensor, adjacency: Tensor, weight: Tensor) => {
      const edges = adjacency.nonzero();
      const [from, to] = [edges.select(1, 0), edges.select(1, 1)];
      const values = x.indexSelect(0, from);
      const scores = cat([values, x.indexSelect(0, to)], 1)
        .matmul(weight)
        .exp();
      const sums = zeros([4]).indexAdd(0, to, scores);
      const weights = scores.div(sums.indexSelect(0, to)).unsqueeze(1);
      return x.mul(0).indexAdd(0, to, values.mul(weights));
    },
    args: () => [leaf(4, 3), rand([4, 4]).gt(0.4).to('int32'), leaf(6)],
  },
  'one lookup per distinct id': {
    fn: (table: Tensor, ids: Tensor) => {
      const [distinct, places] = ids.unique({ returnInverse: true }) as [Tensor, Tensor];
      return table.indexSelect(0, distinct).tanh().indexSelect(0, places).sum(0);
    },
    args: (run) => [leaf(5, 2), int(0, run % 5, 3, 3, (run * 2) % 5)],
  },
  'one lookup per distinct row': {
    fn: (table: Tensor, ids: Tensor) => {
      const options = { dim: 0, returnInverse: true, returnCounts: true };
      const [rows, places, counts] = unique(ids, options) as [Tensor, Tensor, Tensor];
      const found = table.indexSelect(0, rows.select(1, 0)).tanh().mul(counts.unsqueeze(1));
      return found.indexSelect(0, places).sum(0);
    },
    args: (run) => [
      leaf(5, 2),
      int(0, run % 3, 3, 1, run % 3, 0, (run * 2) % 3, 1).reshape([4, 2]),
    ],
  },
  'runs of equal labels': {
    fn: (x: Tensor, labels: Tensor) => {
      const [runs, places] = uniqueConsecutive(labels, { returnInverse: true }) as [Tensor, Tensor];
      return x.mul(0).indexAdd(0, places, x.exp()).narrow(0, 0, runs.numel()).prod();
    },
    args: (run) => [leaf(5), int(1, run % 2, run % 2, 1, (run * 2) % 3)],
  },
  'tokens that are no padding': {
    fn: (x: Tensor, ids: Tensor) => {
      const flat = x.reshape([6, 2]);
      const kept = ids.reshape([6]).ne(0);
      const result = flat.clone();
      result.indexPut_([kept], flat.index(kept).mul(2).tanh());
      return result.reshape([2, 3, 2]);
    },
    args: (run) => [leaf(2, 3, 2), int(1, 2, 0, run % 2, 0, 3).reshape([2, 3])],
  },
  'the hardest examples': {
    fn: (losses: Tensor) => {
      const hard = losses.index(losses.gt(losses.mean()));
      return hard.topk(Math.min(3, hard.shape[0]!))[0].mean();
    },
    args: () => [leaf(8)],
  },
  'frequencies of ids': {
    fn: (ids: Tensor) => {
      const counts = bincount(ids).float();
      return counts.div(counts.sum()).mul(counts.shape[0]!);
    },
    args: (run) => [int(0, 1, run % 7, 2)],
  },
  'a confusion matrix': {
    fn: (found: Tensor, labels: Tensor) => {
      const classes = Math.max(found.amax().itemSync(), labels.amax().itemSync()) + 1;
      return oneHot(found, classes).float().t().matmul(oneHot(labels, classes).float());
    },
    args: (run) => [int(0, 1, run % 4), int(0, 2, 1)],
  },
  'the most probable tokens': {
    fn: (logits: Tensor) => {
      const [probabilities, tokens] = logits.softmax(0).sort(0, true);
      const count = probabilities.cumsum(0).lt(0.7).sum().itemSync() + 1;
      const kept = probabilities.narrow(0, 0, count);
      return [kept.div(kept.sum()), tokens.narrow(0, 0, count)];
    },
    args: () => [randn([7])],
  },
  'points within a distance': {
    fn: (points: Tensor) => {
      const near = points.index(points.square().sum(1).lt(3));
      return near.sub(near.mean(0)).square().sum(1).sqrt();
    },
    args: () => [leaf(8, 3)],
  },
  'rows that are not sure yet': {
    fn: (x: Tensor, weight: Tensor) => {
      let h = x;
      let sum: Tensor = x.mul(0);
      for (let layer = 0; layer < 3; layer++) {
        const unsure = h.softmax(1).amax(1).lt(0.6).nonzero().reshape([-1]);
        h = h.indexAdd(0, unsure, h.indexSelect(0, unsure).matmul(weight).tanh());
        sum = sum.add(h.mul(0.1));
      }
      return sum;
    },
    args: () => [leaf(5, 3), leaf(3, 3)],
  },
  'sums above a score, class by class': {
    fn: (scores: Tensor) => {
      const sums: Tensor[] = [];
      for (let c = 0; c < 3; c++) {
        const own = scores.select(1, c);
        sums.push(own.index(own.gt(0.5)).sum());
      }
      return stack(sums);
    },
    args: () => [rand([6, 3]).requiresGrad_()],
  },
};
