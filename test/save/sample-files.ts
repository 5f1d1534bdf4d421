/** Files with every part that a file can have, and the calls that run what is in them. */

import {
  conv2d,
  embedding,
  maxPool2d,
  nn,
  noGrad,
  optim,
  rand,
  randn,
  save,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import type { Calls, Fn } from './exercise.ts';

export interface SampleFile {
  readonly name: string;
  readonly make: () => Promise<Uint8Array>;
  /** Null: nothing in it runs, or a changed one might run for ever. */
  readonly calls: (() => Calls) | null;
}

const full = { fullGraph: true } as const;

async function fileOf(f: Fn, calls: Calls): Promise<Uint8Array> {
  const { debug } = console;
  console.debug = () => {};
  try {
    for (const args of calls) tidy(() => void f(...args));
    return await save(f as never);
  } finally {
    console.debug = debug;
  }
}

function program(name: string, make: () => Fn, calls: () => Calls, runs = true): SampleFile {
  return { name, make: () => fileOf(make(), calls()), calls: runs ? calls : null };
}

const rows = (n: number) =>
  tensor(
    Float32Array.from({ length: n * 3 }, (_, i) => i - 2),
    { shape: [n, 3] },
  );

export const sampleFiles: readonly SampleFile[] = [
  program(
    'branches, loops and lists',
    () => {
      const layer = new nn.Linear(3, 2);
      return toStatic((x: Tensor, factor: number) => {
        let y = layer.forward(x).mul(factor);
        if (y.sum().itemSync() > 0) y = y.mul(2);
        let n = 0;
        const sums: number[] = [];
        const states: Tensor[] = [];
        while (y.abs().sum().itemSync() < 9) {
          y = y.mul(3).add(rand([2]));
          sums.push(y.sum().itemSync());
          states.push(y);
          n++;
        }
        console.debug('turns', n);
        return { y, both: [y.add(1), x], n, sums, states };
      }, full) as Fn;
    },
    () => [2, 3].map((factor) => [tensor([[1, 2, 3]]), factor]),
    false,
  ),
  program(
    'decisions, text, objects and effects',
    () => {
      const scale = tensor([2, 3, 4]).requiresGrad_();
      let calls = 0;
      return toStatic(
        (x: Tensor, out: { y?: Tensor; n: number; list: unknown[]; old?: number }) => {
          const drawn = rand([3]).add(randn([3]));
          calls++;
          const sum = x.sum().itemSync();
          const y = sum > 0 ? x.mul(scale) : x.exp();
          out.y = y.add(out.n);
          out.n = calls;
          out.list.push(y.mul(2), 'end');
          delete out.old;
          const text = `sum ${sum.toFixed(2).padStart(8)}, ${sum > 1}`;
          return {
            text,
            label: sum > 0 ? 'up' : 'down',
            both: [y, x, null, 1 / calls],
            map: new Map([['x', y.narrow(0, 0, 1)]]),
            set: new Set([1, 'x']),
            maybe: sum > 9 ? x.neg() : null,
            drawn,
          };
        },
        full,
      ) as Fn;
    },
    () =>
      [1, -1, 20].map((factor) => [
        tensor([factor, 2, 0.5]).requiresGrad_(),
        { n: 3, list: [1], old: 2 },
      ]),
  ),
  program(
    'a training step',
    () => {
      seed(4);
      const net = new nn.Linear(3, 1);
      const optimizer = new optim.Adam(net.parameters(), { lr: 0.1 });
      return toStatic((x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const loss = net.forward(x).sub(y).square().mean();
        loss.backward();
        optimizer.step();
        return loss.detach();
      }, full) as Fn;
    },
    () => [2, 2, 2].map((n) => [rows(n), rows(n).sum(1, { keepDim: true })]),
  ),
  program(
    'kernels of many kinds',
    () => {
      const table = randn([5, 3]).requiresGrad_();
      return toStatic((x: Tensor, index: Tensor) => {
        const image = x.reshape([1, 1, 2, 3]);
        return [
          conv2d(image, table.narrow(0, 0, 2).reshape([1, 1, 2, 3]), undefined, {
            padding: 1,
          }),
          maxPool2d(image, 2, { stride: 1 }),
          embedding(table, index),
          x.to('float64').cumsum(1),
          x.to('float16').softmax(1),
          x.transpose(0, 1).contiguous(),
          x.sort(1)[0],
          x.flip(0).roll(1, 0),
          noGrad(() => x.mul(1).narrow(1, 0, 2).add_(1)),
        ];
      }, full) as Fn;
    },
    () => [[rows(2).requiresGrad_(), tensor(new Int32Array([0, 4, 2]))]],
  ),
  program(
    'a program for every size',
    () =>
      toStatic((x: Tensor) => x.mul(x.shape[0]!).relu().sum(1).reshape([-1, 1]), {
        ...full,
        inputSpec: [tensorSpec(['n', 3])],
      }) as Fn,
    () => [[rows(1).requiresGrad_()], [rows(5)]],
  ),
  {
    name: 'tensors and plain data',
    make: () => {
      const base = randn([4, 6]);
      return save({
        views: [base, base.transpose(0, 1), tensor([1, 0], { dtype: 'bool' })],
        rest: new Map<string, Set<bigint | null> | number>([
          ['a', new Set([null, 12n])],
          ['b', Number.NaN],
        ]),
      } as never);
    },
    calls: null,
  },
];
