/** Functions with what is around them. `CHANGED` names those whose surroundings differ in this process. */

import {
  arange,
  breakGraph,
  crossEntropy,
  gelu,
  matmul,
  nn,
  ones,
  optim,
  relu,
  softmax,
  Tensor,
  tanh,
  tensor,
  tidy,
  zeros,
} from '../../../src/index.ts';
import { scaled } from './helper.ts';

export interface Step {
  // biome-ignore lint/suspicious/noExplicitAny: whatever it takes.
  readonly fn: (...args: any[]) => unknown;
  /** The arguments of each call. */
  readonly calls: readonly (readonly unknown[])[];
  /** What else it changes. */
  readonly state?: () => unknown;
}

const changed = process.env.CHANGED?.split(',') ?? [];

const values = (shape: readonly number[], factor = 1): Tensor =>
  tidy(() => {
    const count = shape.reduce((a, b) => a * b, 1);
    return arange(0, count, 1)
      .mul(0.37 * factor)
      .sin()
      .reshape(shape);
  });

/** The same weights in every world and process. */
function filled<M extends nn.Module>(model: M): M {
  for (const [i, parameter] of model.parameters().entries()) {
    tidy(() => parameter.detach().copy_(values(parameter.shape, i + 1).mul(0.5)));
  }
  return model;
}

const twice = <T>(...args: readonly T[]): T[][] => [[...args], [...args], [...args]];

class Attention extends nn.Module {
  readonly norm = new nn.LayerNorm(16);
  readonly all = new nn.Linear(16, 48);
  readonly project = new nn.Linear(16, 16);

  override forward(x: Tensor, future: Tensor): Tensor {
    const [n, length, width] = x.shape as [number, number, number];
    const parts = this.all.forward(this.norm.forward(x)).reshape([n, length, 3, 2, width / 2]);
    const [q, k, v] = parts.permute([2, 0, 3, 1, 4]).unbind(0) as [Tensor, Tensor, Tensor];
    const scores = matmul(q, k.transpose(-1, -2)).mul(1 / Math.sqrt(width / 2));
    const weights = softmax(scores.maskedFill(future, Number.NEGATIVE_INFINITY));
    return x.add(
      gelu(this.project.forward(matmul(weights, v).transpose(1, 2).reshape([n, length, width]))),
    );
  }
}

class CharTransformer extends nn.Module {
  readonly characters = new nn.Embedding(11, 16);
  readonly blocks = [new Attention(), new Attention()];
  readonly last = new nn.Linear(16, 11);
  readonly future = nn.buffer(tidy(() => ones([6, 6], { dtype: 'bool' }).triu(1)));

  override forward(text: Tensor): Tensor {
    let x = this.characters.forward(text);
    for (const block of this.blocks) x = block.forward(x, this.future);
    return this.last.forward(x);
  }
}

const text = (from: number): Tensor =>
  tensor(Int32Array.from({ length: 12 }, (_, i) => (i * 7 + from) % 11)).reshape([2, 6]);

function transformer(): Step {
  const model = filled(new CharTransformer());
  const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-3, weightDecay: 0.1 });
  const lossOf = (scores: Tensor, next: Tensor) =>
    crossEntropy(scores.reshape([-1, scores.shape.at(-1)!]), next.flatten());
  const fn = (x: Tensor, y: Tensor) => {
    const loss = lossOf(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return { fn, calls: twice(text(0), text(1)), state: () => model.parameters() };
}

function schedule(): Step {
  const model = filled(new nn.Sequential(new nn.Linear(5, 4), new nn.ReLU(), new nn.Linear(4, 2)));
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const rates = new optim.StepLR(optimizer, 2, 0.5);
  const fn = (x: Tensor) => {
    const loss = model.forward(x).square().mean();
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    rates.step();
    return loss;
  };
  return { fn, calls: twice(values([3, 5])), state: () => model.parameters() };
}

function breaks(): Step {
  const layer = filled(new nn.Linear(4, 4));
  const inner = (x: Tensor) => {
    const y = layer.forward(x);
    breakGraph();
    return relu(y);
  };
  return { fn: (x: Tensor) => inner(inner(x)).add(1), calls: twice(values([2, 4])) };
}

function mode(): Step {
  const model = filled(new nn.Sequential(new nn.Linear(4, 4), new nn.BatchNorm1d(4)));
  if (changed.includes('mode')) model.eval();
  return { fn: (x: Tensor) => model.forward(x), calls: twice(values([3, 4])) };
}

function sizes(): Step {
  const fn = (x: Tensor) => x.mul(x.shape[0]!).sum(0);
  return { fn, calls: [2, 3, 4, 5, 3].map((rows) => [values([rows, 3])]) };
}

class Counter {
  #count = 0;
  readonly seen: number[] = [];
  add(rows: number): number {
    this.seen.push(rows);
    return ++this.#count;
  }
}

let total = 0;
function effects(): Step {
  total = 0;
  const losses: Tensor[] = [];
  const last = new Map<string, unknown>();
  const counter = new Counter();
  const config = { rate: 0.5 };
  const fn = (x: Tensor) => {
    const y = x.mul(config.rate).add(counter.add(x.shape[0]!));
    losses.push(y);
    last.set('loss', y);
    total++;
    return { y, list: [y, x], total };
  };
  const state = () => [losses, last, counter, total];
  return { fn, calls: twice(values([2, 2])), state };
}

function constant(): Step {
  const rate = changed.includes('constant') ? 0.25 : 0.75;
  return { fn: (x: Tensor) => x.mul(rate), calls: twice(values([2, 2])) };
}

function named(): Step {
  const activation = changed.includes('named') ? tanh : relu;
  return { fn: (x: Tensor) => activation(x).add(1), calls: twice(values([2, 2])) };
}

function code(): Step {
  const inner = changed.includes('code')
    ? (x: Tensor) => x.mul(5).add(2)
    : (x: Tensor) => x.mul(2).add(5);
  return { fn: (x: Tensor) => inner(x), calls: twice(values([2, 2])) };
}

/** Functions of one place in the code, with other variables around them. */
const multiplying = (factor: number) => (x: Tensor) => x.mul(factor);

function factory(): Step {
  const inner = multiplying(changed.includes('factory') ? 7 : 9);
  return { fn: (x: Tensor) => inner(x).add(1), calls: twice(values([2, 2])) };
}

/** A regular expression shows no property of its own but its place. */
function pattern(): Step {
  const digits = changed.includes('pattern') ? /\d+/g : /\d/;
  const fn = (x: Tensor) => x.mul('a12b34'.replace(digits, '').length);
  return { fn, calls: twice(values([2, 2])) };
}

class Doubling {
  of(x: Tensor): Tensor {
    return x.mul(2);
  }
}
class Tripling extends Doubling {
  override of(x: Tensor): Tensor {
    return super.of(x).add(x);
  }
}

function classes(): Step {
  const held = changed.includes('classes') ? new Doubling() : new Tripling();
  return { fn: (x: Tensor) => held.of(x), calls: twice(values([2, 2])) };
}

const { exp } = Tensor.prototype;
function patched(): Step {
  if (changed.includes('patched')) {
    Tensor.prototype.exp = function (this: Tensor) {
      return exp.call(this.mul(2));
    };
  }
  return { fn: (x: Tensor) => x.exp(), calls: twice(values([2, 2])) };
}

function shared(): Step {
  const first = { weight: values([2, 2]) };
  const second = changed.includes('shared') ? first : { weight: values([2, 2], 2) };
  const fn = (x: Tensor) => {
    const y = x.add(first.weight);
    second.weight = y;
    return first.weight.mul(y);
  };
  return { fn, calls: twice(values([2, 2])), state: () => [first, second] };
}

function imported(): Step {
  return { fn: (x: Tensor) => scaled(x).sub(1), calls: twice(values([2, 2])) };
}

/** It decides on a value of the program. */
function decision(): Step {
  const fn = (x: Tensor) => (x.sum().itemSync() > 0 ? x.mul(2) : x.sub(1));
  return { fn, calls: [[values([2, 2])], [zeros([2, 2])], [values([2, 2])]] };
}

/** Functions of the language that are traced from code of this package. */
function printed(): Step {
  const config = { scale: changed.includes('printed') ? 12 : 3, sizes: [1, 2] };
  const fn = (x: Tensor) => {
    const copy = structuredClone(config);
    return [x.mul(JSON.stringify(config).length), x.add(copy.scale), JSON.stringify(copy.sizes)];
  };
  return { fn, calls: twice(values([2, 2])) };
}

export const steps = {
  ...{ transformer, schedule, breaks, mode, sizes, effects, constant, named, code, factory },
  ...{ classes, patched, shared, imported, decision, pattern, printed },
} satisfies Record<string, () => Step>;

export type StepName = keyof typeof steps;
