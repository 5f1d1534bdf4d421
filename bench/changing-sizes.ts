/**
 * A training step on batches whose size changes from call to call, and calls with a changing number: processor time
 * relative to a constant size, and to eager execution.
 */

import { nn, optim, randn, type Tensor, tensor, toStatic } from '../src/index.ts';

/** Returns the least processor time of one call, in microseconds, over `rounds` of all calls. */
function least(calls: readonly (() => void)[], rounds: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (const call of calls) call();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  return best / calls.length;
}

function trainingStep(): (x: Tensor) => Tensor {
  const layer = new nn.Linear(64, 32);
  const optimizer = new optim.SGD(layer.parameters(), { lr: 0.01 });
  return (x) => {
    optimizer.zeroGrad();
    const loss = layer.forward(x).mul(2).sum();
    loss.backward();
    optimizer.step();
    return loss;
  };
}

function sizesInTurn(count: number): void {
  const [captured, own] = [toStatic(trainingStep()), toStatic(trainingStep())];
  const batches = Array.from({ length: count }, (_, i) => randn([i + 2, 64]));
  // The mean of these sizes, for the same number of calls.
  const middle = batches[count >> 1]!;
  const inTurn = batches.map((batch) => () => captured(batch).dispose());
  const first = least(inTurn, 1);
  const changing = least(inTurn, 20);
  const single = least(
    batches.map(() => () => own(middle).dispose()),
    20,
  );
  const { plans } = captured.stats();
  const ratio = (changing / single).toFixed(2);
  console.log(
    `${count} batch sizes in turn: ${changing.toFixed(0)} µs a step, one size ${single.toFixed(0)} µs: ` +
      `${ratio} times; ${plans} plans, ${(first / single).toFixed(0)} times for the first of each`,
  );
}

const x = randn([64, 64]);
const ids = tensor(new Int32Array(64));
const numbers: Readonly<Record<string, (k: number) => Tensor>> = {
  'mul(k)': (k) => x.mul(k),
  'select(0, k)': (k) => x.select(0, k).mul(2),
  'narrow(0, k, 8)': (k) => x.narrow(0, k, 8).mul(2),
  'pow(k)': (k) => x.pow(k),
  'tensor(k)': (k) => x.mul(tensor(k)),
  'remainder(k)': (k) => x.remainder(k),
  'ids.add(k)': (k) => ids.add(k),
};

function numbersInTurn(): void {
  for (const [name, fn] of Object.entries(numbers)) {
    const captured = toStatic(fn);
    const calls = (body: (k: number) => Tensor) =>
      Array.from({ length: 50 }, (_, k) => () => body(k).dispose());
    const changing = least(calls(captured), 60);
    const eager = least(calls(fn), 60);
    const ratio = (changing / eager).toFixed(2);
    const { translations, plans } = captured.stats();
    console.log(
      `${name.padEnd(16)} ${changing.toFixed(1)} µs a call, eagerly ${eager.toFixed(1)} µs: ` +
        `${ratio} times; ${translations} traces, ${plans} plans`,
    );
  }
}

for (const count of [1, 8, 32, 200]) sizesInTurn(count);
numbersInTurn();
