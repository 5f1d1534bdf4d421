/**
 * `checkpoint` of functions that write to tensors from before the call, such as running statistics: eager backward
 * runs them again, and so does the program of a captured step.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomState } from '../../../runtime/random/seed.ts';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import {
  checkpoint,
  grad,
  memory,
  nn,
  noGrad,
  optim,
  randn,
  refcounted,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
} from '../../../src/index.ts';

const [batch, width, depth] = [24, 8, 2];

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Body = (x: Tensor) => Tensor;
type Make = () => { readonly body: Body; readonly parts: readonly nn.Module[] };

function sequential(...layers: ConstructorParameters<typeof nn.Sequential>): ReturnType<Make> {
  const all = new nn.Sequential(...layers);
  return { body: (x) => all.forward(x) as Tensor, parts: [all] };
}

/** A layer that counts its calls in a buffer and scales by what it finds there: the second run scales otherwise. */
class Counting extends nn.Module {
  calls = tensor([1]);
  scale = new nn.Linear(width, width);

  override forward(x: Tensor): Tensor {
    noGrad(() => this.calls.add_(1));
    return this.scale.forward(x).mul(this.calls).tanh();
  }
}

/** Blocks of [batch, width]. */
const blocks: Readonly<Record<string, Make>> = {
  'batch norm': () =>
    sequential(new nn.Linear(width, width), new nn.BatchNorm1d(width), new nn.ReLU()),
  'batch norm, the mean of all batches, and dropout': () =>
    sequential(
      new nn.Linear(width, width),
      new nn.BatchNorm1d(width, { momentum: null }),
      new nn.Dropout(0.3),
      new nn.Tanh(),
    ),
  'convolutions and norms of images': () => {
    const all = new nn.Sequential(
      new nn.Conv2d(2, 2, 3, { padding: 1 }),
      new nn.BatchNorm2d(2),
      new nn.ReLU(),
      new nn.InstanceNorm2d(2, { trackRunningStats: true, affine: true }),
    );
    return {
      body: (x) => (all.forward(x.reshape([batch, 2, 2, 2])) as Tensor).reshape([batch, width]),
      parts: [all],
    };
  },
  'a count that the result depends on': () => {
    const own = new Counting();
    return { body: (x) => own.forward(x), parts: [own] };
  },
  'a checkpoint inside': () => {
    const [first, last] = [
      sequential(new nn.Linear(width, width), new nn.BatchNorm1d(width), new nn.Tanh()),
      sequential(new nn.Linear(width, width), new nn.BatchNorm1d(width), new nn.Dropout(0.2)),
    ];
    const body = (x: Tensor) => checkpoint(last.body, first.body(x).mul(1.5)).add(x);
    return { body, parts: [...first.parts, ...last.parts] };
  },
  'a checkpoint without effects inside': () => {
    const [norm, plain] = [
      sequential(new nn.Linear(width, width), new nn.BatchNorm1d(width)),
      sequential(new nn.Linear(width, width), new nn.Tanh(), new nn.Dropout(0.2)),
    ];
    const body = (x: Tensor) => norm.body(checkpoint(plain.body, x.tanh())).add(x);
    return { body, parts: [...norm.parts, ...plain.parts] };
  },
};

interface World {
  readonly wrapped: Body;
  readonly optimizer: optim.SGD;
  readonly parameters: readonly Tensor[];
}

/** Whole steps. */
const steps = {
  'a step': ({ wrapped, optimizer }) =>
    function step(x: Tensor) {
      const loss = wrapped(x).square().mean();
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
  'two batches, one update': ({ wrapped, optimizer }) =>
    function step(x: Tensor) {
      const first = wrapped(x).square().mean();
      first.backward();
      const second = wrapped(x.mul(0.5)).square().mean();
      second.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return first.add(second).detach();
    },
  'two backwards of one graph': ({ wrapped, optimizer }) =>
    function step(x: Tensor) {
      const loss = wrapped(x).square().mean();
      loss.backward(null, { retainGraph: true });
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
  'a gradient of a gradient': ({ wrapped, optimizer }) =>
    function step(x: Tensor) {
      const input = x.detach().requiresGrad_();
      const loss = wrapped(input).square().mean();
      const [slope] = grad(loss, [input], { createGraph: true });
      const penalty = loss.add(slope!.square().sum());
      penalty.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return penalty;
    },
} satisfies Record<string, (world: World) => (x: Tensor) => Tensor>;

const options: Readonly<Record<string, ToStaticOptions>> = {
  'by default': {},
  'as one graph': { fullGraph: true },
  'with a budget': { memory: { budget: 4096 } },
  'with the preset cleaned': { memory: 'cleaned' },
  'with redundant work': { memory: { simplify: false } },
};

interface Run {
  readonly bits: unknown[];
  readonly peaks: number[];
  readonly predicted: number;
  readonly breaks: number;
}

function train(
  make: Make,
  stepOf: (world: World) => (x: Tensor) => Tensor,
  choice: ToStaticOptions | null,
  wrap: (body: Body) => Body = (body) => (x) => checkpoint(body, x),
): Run {
  const before = memory.stats('cpu').allocated;
  seed(3);
  const made = Array.from({ length: depth }, make);
  const parts = made.flatMap((each) => each.parts);
  const bodies = made.map(({ body }) => wrap(body));
  const wrapped = (x: Tensor) => {
    let y = x;
    for (const body of bodies) y = body(y);
    return y;
  };
  const parameters = parts.flatMap((part) => [...part.parameters()]);
  const optimizer = new optim.SGD(parameters, { lr: 0.05, momentum: 0.9 });
  const step = stepOf({ wrapped, optimizer, parameters });
  const captured = choice && new Captured(step as Captured['fn'], choice);
  const run = refcounted(step);
  const bits: unknown[] = [];
  const peaks: number[] = [];
  for (let i = 0; i < 3; i++) {
    const x = randn([batch, width]);
    memory.reset('cpu');
    const start = memory.stats('cpu').allocated;
    const loss = captured ? (captured.call(undefined, [x]) as Tensor) : run(x);
    peaks.push(memory.stats('cpu').peakAllocated - start);
    const { seed: random, offset } = randomState();
    bits.push(loss.itemSync(), random, offset);
    for (const each of [loss, x]) each.dispose();
    for (const part of parts) {
      bits.push(Object.entries(part.stateDict()).map(([name, own]) => [name, own.tolist()]));
    }
  }
  const predicted = captured?.parts.at(-1)?.record.planned?.forward.predicted?.peakBytes ?? 0;
  for (const each of [optimizer, ...parts]) each.dispose();
  expect(memory.stats('cpu').allocated).toBe(before);
  return { bits, peaks, predicted, breaks: captured?.stats().breaks.length ?? 0 };
}

const first = Object.keys(blocks)[0]!;

/** Every block takes a plain step and one of the others; the first block takes it with all options. */
const others = Object.entries(steps).slice(1);

describe.each(Object.entries(blocks).map(([name, make], at) => ({ name, make, at })))(
  '$name',
  ({ name, make, at }) => {
    const taken = [['a step', steps['a step']] as const, others[at % others.length]!];
    it.each(taken)('%s has eager bits and no breaks', (stepName, stepOf) => {
      const eager = train(make, stepOf, null);
      const isEach = name === first && stepName === 'a step';
      for (const [how, choice] of Object.entries(options).slice(0, isEach ? undefined : 1)) {
        const own = train(make, stepOf, choice);
        expect(own.bits, how).toEqual(eager.bits);
        expect(own.breaks, how).toBe(0);
        expect(own.peaks.at(-1), how).toBe(own.predicted);
        expect(own.peaks.at(-1), how).toBeLessThanOrEqual(eager.peaks.at(-1)!);
      }
    });
  },
);

it('keeps only what goes into each call', () => {
  const make = blocks[first]!;
  const plain = train(make, steps['a step'], {}, (body) => body);
  const own = train(make, steps['a step'], {});
  expect(own.predicted).toBeLessThan(plain.predicted);
});

it('a gradient that the caller asks for later comes from a call that runs natively', () => {
  const run = (isCaptured: boolean) => {
    seed(5);
    const norm = new nn.BatchNorm1d(width);
    const fn = (x: Tensor) => checkpoint((input: Tensor) => norm.forward(input).tanh(), x).sum();
    const captured = isCaptured ? new Captured(fn as Captured['fn'], {}) : null;
    const bits = Array.from({ length: 3 }, () => {
      const x = randn([batch, width]).requiresGrad_();
      const loss = captured ? (captured.call(undefined, [x]) as Tensor) : fn(x);
      const before = norm.runningMean!.tolist();
      loss.backward();
      return [loss.itemSync(), x.grad!.tolist(), before, norm.runningMean!.tolist()];
    });
    return { bits, breaks: captured?.stats().breaks.length };
  };
  const own = run(true);
  expect(own.bits).toEqual(run(false).bits);
  expect(own.breaks).toBe(1);
});

it('backward in a branch of the graph runs the function again there', () => {
  const outcome = (isCaptured: boolean) => {
    seed(4);
    const { body, parts } = blocks[first]!();
    const step = (x: Tensor) => {
      const loss = checkpoint(body, x).sum();
      if ((x.sum().itemSync() as number) > 0) loss.backward();
      else loss.mul(2).backward();
      return loss.detach();
    };
    const captured = new Captured(step as Captured['fn'], { fullGraph: true });
    return Array.from({ length: 3 }, (_, i) => {
      const x = randn([batch, width]).add(i % 2 === 0 ? 0.5 : -0.5);
      const loss = isCaptured ? (captured.call(undefined, [x]) as Tensor) : step(x);
      const gradients = [...parts[0]!.parameters()].map(({ grad }) => grad!);
      const state = Object.values(parts[0]!.stateDict());
      return [loss, ...gradients, ...state].map((each) => each.tolist());
    });
  };
  expect(outcome(true)).toEqual(outcome(false));
});
