/** Whole algorithms as one program, forward and backward. */

import { describe, it } from 'vitest';
import { cond, randn, seed, type Tensor, tensor, whileLoop } from '../../src/index.ts';
import { sameAsEager } from './suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
const loose = { exact: false };

describe('whole algorithms in one program', () => {
  it("Newton's iteration until it has converged, with its gradient", () => {
    const root = (a: Tensor) => {
      let y = a;
      for (;;) {
        const next = y.add(a.div(y)).mul(0.5);
        if (next.sub(y).abs().max().itemSync() < 1e-4) return next;
        y = next;
      }
    };
    sameAsEager(root, [() => [x(2, 9)], () => [x(100, 0.5)], () => [x(1, 1)]], {
      ...loose,
      never: [['no iteration', 'y.add(', 'the first iteration is known']],
    });
  });

  it('an early-exit network', () => {
    seed(1);
    const layers = [1, 2, 3].map(() => randn([4, 4]).mul(0.7));
    const heads = [1, 2, 3].map(() => randn([4, 3]));
    const f = (x: Tensor) => {
      let h = x;
      let logits = h.matmul(heads[0]!);
      for (let i = 0; i < layers.length; i++) {
        h = h.matmul(layers[i]!).tanh();
        logits = h.matmul(heads[i]!);
        if (logits.softmax(-1).max().itemSync() > 0.8) return [logits, i];
      }
      return [logits, layers.length];
    };
    const input = (scale: number) => () => [randn([1, 4]).mul(scale).detach().requiresGrad_()];
    const data = [0.1, 1, 3, 8].map((scale) => input(scale)()[0]!.dataSync());
    sameAsEager(
      f,
      data.map((values) => () => [tensor([...values], { shape: [1, 4] }).requiresGrad_()]),
      { ...loose, never: [['no iteration', 'layers.length', 'the first iteration is known']] },
    );
  });

  it('k-means until no centre moves', () => {
    const kMeans = (points: Tensor, start: Tensor) => {
      let centres = start;
      let turns = 0;
      let moved = 1;
      while (moved > 1e-6 && turns < 50) {
        const distance = points.unsqueeze(1).sub(centres.unsqueeze(0)).pow(2).sum(2);
        const nearest = distance.argmin(1);
        const member = nearest
          .unsqueeze(1)
          .eq(tensor([0, 1], { dtype: 'int32' }))
          .to('float32');
        const count = member.sum(0).clamp(1, 1e9).unsqueeze(1);
        const next = member.transpose(0, 1).matmul(points).div(count);
        moved = next.sub(centres).abs().max().itemSync();
        centres = next;
        turns++;
      }
      return [centres, turns];
    };
    const points = () =>
      tensor([
        [0, 0],
        [1, 0],
        [9, 9],
        [10, 9],
        [0, 1],
        [10, 10],
      ]);
    sameAsEager(
      kMeans,
      [
        () => [
          points(),
          tensor([
            [0, 0],
            [1, 0],
          ]),
        ],
        () => [
          points(),
          tensor([
            [9, 9],
            [0, 1],
          ]),
        ],
      ],
      {
        ...loose,
        never: [
          ['no iteration', '1e-6', 'the iteration itself asks whether there is one'],
          ['one iteration', '1e-6', 'the first iteration is known'],
          ['second branch', 'turns < 50', 'six points settle sooner'],
        ],
      },
    );
  });

  it('a recurrent cell over as many steps as the data says', () => {
    seed(3);
    const [w, u] = [randn([3, 3]).mul(0.5), randn([3, 3]).mul(0.5)];
    const rnn = (x: Tensor, length: Tensor) => {
      let h = x.mul(0);
      let step = 0;
      while (step < length.itemSync()) {
        h = h.matmul(u).add(x.matmul(w)).tanh();
        step++;
      }
      return h;
    };
    const input = () => tensor([[0.1, 0.2, 0.3]]).requiresGrad_();
    sameAsEager(
      rnn,
      [0, 1, 4].map((n) => () => [input(), tensor([n])]),
      loose,
    );
  });

  it('all states of a recurrent cell over sequences of several lengths', () => {
    seed(4);
    const [w, u] = [randn([3, 3]).mul(0.5), randn([3, 3]).mul(0.5)];
    const rnn = (x: Tensor, length: Tensor) => {
      const states: Tensor[] = [];
      let h = x.mul(0);
      for (let step = 0; step < length.itemSync(); step++) {
        h = h.matmul(u).add(x.matmul(w)).tanh();
        states.push(h);
      }
      return { states, last: states.at(-1) ?? h, steps: states.length };
    };
    const input = () => tensor([[0.1, 0.2, 0.3]]).requiresGrad_();
    sameAsEager(
      rnn,
      [0, 1, 5].map((n) => () => [input(), tensor([n])]),
      loose,
    );
  });

  it('beam search of fixed width until every beam has ended', () => {
    seed(5);
    const table = randn([4, 4]);
    const search = (start: Tensor) => {
      let scores = start;
      let tokens: Tensor = tensor([0, 1], { dtype: 'int32' });
      let steps = 0;
      while (steps < 6) {
        const next = table.indexSelect(0, tokens).logSoftmax(-1).add(scores.unsqueeze(1));
        const [best, at] = next.reshape([8]).topk(2);
        scores = best;
        tokens = at.to('int32').remainder(4);
        steps++;
        if (tokens.eq(2).all().itemSync()) break;
      }
      return [scores, tokens, steps];
    };
    sameAsEager(search, [() => [x(0, -1)], () => [x(-3, 0)], () => [x(0, 0)]], {
      ...loose,
      never: [['no iteration', '6)', 'the iteration itself asks whether there is one']],
    });
  });

  it('beam search that keeps what each step chose, and goes back to the best sequence', () => {
    seed(5);
    const table = randn([4, 4]);
    const search = (start: Tensor, limit: Tensor) => {
      const steps: { from: Tensor; token: Tensor; scores: Tensor }[] = [];
      let scores = start;
      let tokens: Tensor = tensor([0, 1], { dtype: 'int32' });
      while (steps.length < limit.itemSync()) {
        const next = table.indexSelect(0, tokens).logSoftmax(-1).add(scores.unsqueeze(1));
        const [best, at] = next.reshape([8]).topk(2);
        const place = at.to('int32');
        scores = best;
        tokens = place.remainder(4);
        steps.push({ from: place.floorDivide(4), token: tokens, scores });
        if (tokens.eq(0).any().itemSync()) break;
      }
      const sequence: number[] = [];
      let beam = scores.argmax().itemSync();
      for (let i = steps.length - 1; i >= 0; i--) {
        const { from, token } = steps[i]!;
        sequence.push(token.select(0, beam).itemSync());
        beam = from.select(0, beam).itemSync();
      }
      return { sequence: sequence.reverse(), score: scores.max(), steps };
    };
    sameAsEager(
      search,
      [
        [0, -0.5, 6],
        [-1, 0, 6],
        [-1, 0, 2],
        [-1, 0, 0],
      ].map(([a, b, limit]) => () => [x(a!, b!), tensor([limit!])]),
      {
        ...loose,
        never: [
          [
            'no iteration',
            'steps.length < limit',
            'the iteration itself asks whether there is one',
          ],
          ['second branch', 'steps[i]!', 'there are so many'],
          ['second branch', 'sequence.reverse()', 'no callback takes elements away'],
        ],
      },
    );
  });

  it('a block with weights that is repeated until it is stable', () => {
    const f = (x: Tensor, w: Tensor, b: Tensor) => {
      let h = x;
      let n = 0;
      do {
        h = h.matmul(w).add(b).tanh().mul(0.5);
        n++;
      } while (h.abs().sum().itemSync() > 0.2 && n < 8);
      return h;
    };
    const weights = (...bias: number[]) => [
      tensor([
        [0.3, -0.2],
        [0.1, 0.4],
      ]).requiresGrad_(),
      x(...bias),
    ];
    sameAsEager(
      f,
      [
        () => [tensor([[1, 2]]).requiresGrad_(), ...weights(0.05, 0.02)],
        () => [tensor([[1, 2]]).requiresGrad_(), ...weights(2, 2)],
        () => [tensor([[0.1, 0.2]]).requiresGrad_(), ...weights(0.05, 0.02)],
      ],
      { ...loose, never: [['no iteration', 'h.matmul(w)', 'it has a first iteration']] },
    );
  });
});

describe('control flow as functions', () => {
  it('cond and whileLoop, called directly', () => {
    const f = (x: Tensor) => {
      const y = cond(
        x.sum().gt(0),
        (a: Tensor) => a.mul(2),
        (a: Tensor) => a.neg(),
        [x],
      );
      const [, z] = whileLoop(
        (i: Tensor, z: Tensor) => i.lt(3).logicalAnd(z.sum().lt(100)),
        (i, z) => [i.add(1), z.mul(x)],
        [x.sum().mul(0).detach(), y] as [Tensor, Tensor],
      );
      return z;
    };
    sameAsEager(
      f,
      [() => [x(1, 2)], () => [x(-1, -2)], () => [x(60, 60)], () => [x(20, 20)]],
      loose,
    );
  });
});
