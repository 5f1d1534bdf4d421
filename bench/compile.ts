/**
 * What the first calls of a training step take, eagerly and captured: `npx tsx bench/compile.ts mlp|gpt|lstm`. Each
 * job wants a process of its own, since kernels that one has compiled are there for the next.
 */

import { CharTransformer } from '../examples/workloads/char-transformer.ts';
import { CharLstm } from '../examples/workloads/lstm.ts';
import { spans } from '../runtime/profiler/spans.ts';
import {
  crossEntropy,
  nn,
  optim,
  randint,
  randn,
  seed,
  type Tensor,
  tidy,
  toStatic,
} from '../src/index.ts';

interface Job {
  readonly step: (...inputs: Tensor[]) => Tensor;
  readonly inputs: readonly Tensor[];
}

function trained(
  model: nn.Module & { forward(x: Tensor): Tensor },
  optimizer: optim.Optimizer,
  inputs: readonly Tensor[],
): Job {
  const step = (x: Tensor, y: Tensor): Tensor => {
    const scores = model.forward(x);
    const loss = crossEntropy(scores.reshape([-1, scores.shape.at(-1)!]), y.flatten());
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  return { step: step as Job['step'], inputs };
}

const text = (batch: number, length: number) => randint(0, 65, [batch, length]);

const jobs: Readonly<Record<string, () => Job>> = {
  mlp() {
    const [first, second, last] = [[784, 128] as const, [128, 128] as const, [128, 10] as const];
    const model = new nn.Sequential(
      new nn.Linear(...first),
      new nn.ReLU(),
      new nn.Linear(...second),
      new nn.ReLU(),
      new nn.Linear(...last),
    );
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    return trained(model, optimizer, [randn([64, 784]), randint(0, 10, [64])]);
  },
  gpt() {
    const size = { characters: 65, length: 64, width: 64, heads: 4, layers: 6 };
    const model = new CharTransformer(size);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-3, weightDecay: 0.1 });
    return trained(model, optimizer, [text(8, 64), text(8, 64)]);
  },
  lstm() {
    const model = new CharLstm({ characters: 65, width: 128, layers: 1 });
    const optimizer = new optim.Adam(model.parameters(), { lr: 3e-3 });
    return trained(model, optimizer, [text(16, 32), text(16, 32)]);
  },
};

const name = process.argv[2] ?? 'mlp';
const steps = 50;

/** Milliseconds of each call. */
function timesOf({ step, inputs }: Job): number[] {
  return Array.from({ length: steps }, () => {
    const start = performance.now();
    tidy(() => void step(...inputs).itemSync());
    return performance.now() - start;
  });
}

function print(title: string, times: readonly number[]): void {
  const all = times.reduce((sum, each) => sum + each, 0);
  const [first, second] = times.map((each) => each.toFixed(0));
  const later = Math.min(...times.slice(2)).toFixed(2);
  console.log(`${title}: ${first} + ${second} ms, then ${later}; ${steps} in ${all.toFixed(0)} ms`);
}

/** What the phases of the first call have taken, those inside of others left out. */
const phases = new Map<string, number>();
const open: { readonly name: string; readonly start: number }[] = [];
spans.sink = {
  begin({ kind, name }) {
    open.push({ name: kind === 'compile' ? name : '', start: performance.now() });
  },
  end() {
    const { name, start } = open.pop()!;
    const isInner = open.some((each) => each.name === name);
    if (name && !isInner) phases.set(name, (phases.get(name) ?? 0) + performance.now() - start);
  },
  open: () => () => {},
  timed: () => ({ end() {} }),
};
const make = () => {
  seed(1);
  return jobs[name]!();
};
const captured = { ...make() };
const step = toStatic(captured.step);
const begin = performance.now();
tidy(() => void step(...captured.inputs).itemSync());
const first = performance.now() - begin;
spans.sink = null;
const times = [first, ...timesOf({ ...captured, step }).slice(1)];
print('captured', times);
const told = [...phases].map(([phase, ms]) => `${phase} ${ms.toFixed(0)}`);
console.log(`the first call, in ms: ${told.join(', ')}`);
print('eager, with these kernels there', timesOf(make()));
