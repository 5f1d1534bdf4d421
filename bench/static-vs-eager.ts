/**
 * Time of one training step, eager and captured, and the overhead of a call beyond its kernels. Ratios within one
 * run.
 */

import {
  crossEntropy,
  nn,
  optim,
  randn,
  refcounted,
  relu,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../src/index.ts';

class Mlp extends nn.Module {
  first: nn.Linear;
  second: nn.Linear;
  constructor(inputs: number, hidden: number) {
    super();
    this.first = new nn.Linear(inputs, hidden);
    this.second = new nn.Linear(hidden, 10);
  }
  override forward(x: Tensor): Tensor {
    return this.second.forward(relu(this.first.forward(x)));
  }
}

/** Returns the median seconds of one call, interleaved so that drift of the machine affects all equally. */
function medians(ways: readonly (() => void)[], rounds: number): number[] {
  const times = ways.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    ways.forEach((run, i) => {
      const start = performance.now();
      run();
      times[i]!.push(performance.now() - start);
    });
  }
  return times.map((list) => list.sort((a, b) => a - b)[list.length >> 1]!);
}

function compare(title: string, batch: number, inputs: number, hidden: number, rounds: number) {
  seed(1);
  const model = new Mlp(inputs, hidden);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });
  const x = randn([batch, inputs]);
  const labels = tensor(new Int32Array(batch));
  const objective = (a: Tensor, b: Tensor) => crossEntropy(model.forward(a), b);
  const step = (run: (a: Tensor, b: Tensor) => Tensor) => () => {
    const loss = run(x, labels);
    loss.backward();
    tidy(() => optimizer.step());
    optimizer.zeroGrad();
    loss.dispose();
  };
  const captured = toStatic(objective);
  const ways = [
    step((a, b) => tidy(() => objective(a, b))),
    step(refcounted(objective)),
    step(captured),
  ];
  for (let i = 0; i < 20; i++) for (const way of ways) way();
  const [eager, counted, planned] = medians(ways, rounds) as [number, number, number];
  console.log(
    `${title}: eager ${(eager * 1000).toFixed(0)} µs, refcounted ${(counted / eager).toFixed(2)}×, ` +
      `captured ${(planned / eager).toFixed(2)}× (${captured.stats().graphs} subgraph)`,
  );
}

compare('MLP 784-128-10, batch 128', 128, 784, 128, 300);
compare('MLP 16-16-10, batch 4 (what is not kernels)', 4, 16, 16, 2000);
