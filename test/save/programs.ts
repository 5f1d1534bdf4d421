/** Functions of every kind that can be saved, with calls that take every way through them. */

import {
  arange,
  nn,
  noGrad,
  ones,
  optim,
  rand,
  randn,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic,
} from '../../src/index.ts';
import type { Calls, Fn } from './exercise.ts';

export interface SavedCase {
  readonly name: string;
  /** The captured function, or the module whose forward is captured. */
  readonly make: () => {
    readonly fn: Fn;
    readonly saved: Fn | nn.Module;
    readonly state: () => Readonly<Record<string, unknown>>;
  };
  /** Made anew with each call: those that compile, and those that are compared. */
  readonly calls: () => Calls;
  /** What is compared, where that is something else. */
  readonly later?: () => Calls;
}

const full = { fullGraph: true } as const;
const leaf = (...values: number[]) => tensor(values).requiresGrad_();

function plain(name: string, fn: Fn, calls: () => Calls): SavedCase {
  const make = () => {
    const captured = toStatic(fn, full) as Fn;
    return { fn: captured, saved: captured, state: () => ({}) };
  };
  return { name, make, calls };
}

class Network extends nn.Module {
  readonly layers = [new nn.Linear(4, 6), new nn.Linear(6, 2)];
  readonly norm = new nn.BatchNorm1d(6);
  readonly dropout = new nn.Dropout(0.5);
  calls = 0;

  override forward(x: Tensor): Tensor {
    this.calls++;
    const hidden = this.norm.forward(this.layers[0]!.forward(x)).relu();
    return this.layers[1]!.forward(this.dropout.forward(hidden));
  }
}

/** Under the names that the program has for them. */
function networkState(net: Network): Readonly<Record<string, unknown>> {
  const { layers, norm } = net;
  return {
    'layers.0.weight': layers[0]!.weight,
    'layers.0.bias': layers[0]!.bias,
    'norm.runningMean': norm.runningMean,
    'norm.runningVar': norm.runningVar,
    'norm.numBatchesTracked': norm.numBatchesTracked,
    'norm.weight': norm.weight,
    'norm.bias': norm.bias,
    'layers.1.weight': layers[1]!.weight,
    'layers.1.bias': layers[1]!.bias,
    calls: net.calls,
  };
}

export const savedCases: readonly SavedCase[] = [
  plain(
    'text of its numbers',
    (x: Tensor) => {
      const n = x.sum().itemSync();
      const label = n > 2 ? `large: ${n.toFixed(3).padStart(9)}` : `small: ${n.toFixed(3)}`;
      return { label, all: [`${n} ${n > 1}`, String(x.max().itemSync())], y: x.mul(2) };
    },
    () => [[tensor([1, 2])], [tensor([0.1, 0.25])], [tensor([-3, 4])]],
  ),
  plain(
    'branches and loops, with gradients',
    (x: Tensor) => {
      let y = x.sum().itemSync() > 0 ? x.mul(2) : x.exp();
      let turns = 0;
      while (y.sum().itemSync() < 40) {
        y = y.mul(x.abs().add(1));
        turns++;
        if (turns > 3) break;
      }
      return { y, turns, large: y.max().itemSync() > 9 };
    },
    () => [[leaf(1, 2)], [leaf(-1, -2)], [leaf(30, 20)]],
  ),
  plain(
    'several sizes and numbers of the host',
    (x: Tensor, factor: number, mode: string) =>
      mode === 'mean' ? x.mean(0).mul(factor) : x.reshape([-1]).mul(factor).sum(),
    () =>
      [2, 3, 5, 3].flatMap((rows) => [
        [ones([rows, 4]).mul(rows).requiresGrad_(), rows / 3, 'mean'],
        [ones([rows, 4]).mul(-rows), 1 / rows, 'sum'],
      ]),
  ),
  {
    name: 'sizes that no call had before it was saved',
    make: () => {
      const captured = toStatic(
        (x: Tensor, { mask }: { mask: Tensor }) => {
          const y = x.mul(mask).relu().sum(1);
          return y.sum().itemSync() > x.shape[0]! ? y.add(x.shape[0]!) : y.neg();
        },
        { ...full, inputSpec: [tensorSpec(['n', 'k']), { mask: tensorSpec(['n', 1]) }] },
      ) as Fn;
      return { fn: captured, saved: captured, state: () => ({}) };
    },
    calls: () => [[ones([2, 3]).requiresGrad_(), { mask: ones([2, 1]) }]],
    later: () =>
      [
        [4, 3],
        [7, 2],
        [1, 5],
        [33, 1],
      ].map(([n, k]) => [
        ones([n!, k!])
          .mul(n! % 2)
          .requiresGrad_(),
        { mask: ones([n!, 1]) },
      ]),
  },
  plain(
    'nested arguments and results',
    (x: Tensor, { mask, rest }: { mask: Tensor; rest: [Tensor, number] }) => {
      const y = x.maskedFill(mask, rest[1]);
      const both = [y, rest[0]];
      return {
        y,
        both,
        map: new Map([['x', x.add(1)]]),
        set: new Set([1, y]),
        none: null,
        nan: NaN,
      };
    },
    () => [[leaf(1, 2, 3), { mask: tensor([true, false, true]), rest: [leaf(5), 7] }]],
  ),
  plain(
    'random numbers',
    (x: Tensor) => x.mul(rand([3])).add(randn([3])),
    () => [[leaf(1, 2, 3)], [leaf(4, 5, 6)]],
  ),
  plain(
    'random numbers in branches and loops',
    (x: Tensor) => {
      let y = x.sum().itemSync() > 0 ? x.add(rand([3])) : x;
      while (y.sum().itemSync() < 20) y = y.add(rand([2]).sum());
      return y.add(randn([3]));
    },
    () => [[leaf(1, 2, 3)], [leaf(-4, 1, 2)], [leaf(9, 9, 9)]],
  ),
  plain(
    'arrays that grow in a loop',
    (x: Tensor) => {
      const [states, sums, above]: [Tensor[], number[], boolean[]] = [[], [], []];
      let y = x;
      while (y.abs().sum().itemSync() < 60) {
        y = y.mul(2).add(1);
        states.push(y);
        sums.push(y.sum().itemSync());
        above.push(y.max().itemSync() > 9);
      }
      return { states, sums, above };
    },
    () => [[leaf(1, 2, 3)], [leaf(-4, 1, 2)], [leaf(90, 9, 9)]],
  ),
  plain(
    'every dtype',
    (x: Tensor) => [
      x.to('float16').mul(3),
      x.to('bfloat16').exp(),
      x.to('float64').div(7),
      x.to('int32').mul(2),
      x.to('uint8').add(1),
      x.gt(2),
    ],
    () => [[tensor([1, 2.5, 3.75])]],
  ),
  plain(
    'strided arguments, views and writes in place',
    (x: Tensor) =>
      noGrad(() => {
        const y = x.transpose(0, 1).contiguous();
        y.select(0, 1).add_(10);
        x.mul_(2);
        return [y, y.narrow(1, 0, 1), x];
      }),
    () => [[arange(6).reshape([2, 3])], [arange(6).reshape([2, 3]).mul(3)]],
  ),
  plain(
    'checks of the user that hold',
    (x: Tensor) => {
      if (x.isnan().any().itemSync()) throw new RangeError('no number');
      return x.log();
    },
    () => [[leaf(1, 2)], [leaf(3, 4)]],
  ),
  plain(
    'values of which the program chooses one, and numbers of JavaScript',
    (x: Tensor) => {
      const sum = x.sum().itemSync();
      const label = sum > 0 ? 'up' : 'down';
      const n = Math.max(sum % 3, Math.sin(sum));
      return { y: x.mul(n), label, n, maybe: sum > 100 ? x.exp() : null };
    },
    () => [[leaf(1, 2)], [leaf(-3, 1)], [leaf(80, 30)]],
  ),
  plain(
    'properties that are set on arguments',
    (x: Tensor, out: { y?: Tensor; n: number; list: unknown[] }) => {
      out.y = x.mul(out.n);
      out.n = 5;
      out.list.push(x.add(1), 'end');
      return x;
    },
    () => [[leaf(1, 2), { n: 3, list: [1] }]],
  ),
  {
    name: 'a module with statistics, dropout and a counter',
    make: () => {
      seed(3);
      const net = toStatic(new Network(), full);
      return {
        fn: (x: Tensor) => net.forward(x),
        saved: net,
        state: () => networkState(net),
      };
    },
    calls: () => [[randn([5, 4])], [randn([5, 4])], [randn([5, 4])]],
  },
  {
    name: 'a whole training step',
    make: () => {
      seed(4);
      const weight = randn([3, 1]).requiresGrad_();
      const optimizer = new optim.SGD([weight], { lr: 0.1, momentum: 0.9 });
      const fn = toStatic((x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const loss = x.matmul(weight).sub(y).square().mean();
        loss.backward();
        optimizer.step();
        return loss.detach();
      }, full) as Fn;
      return { fn, saved: fn, state: () => ({ weight }) };
    },
    calls: () => Array.from({ length: 4 }, () => [randn([6, 3]), randn([6, 1])]),
  },
];
