/** The works that speed is measured on, each with a checksum: the same numbers come of every way to run it. */

import {
  crossEntropy,
  exp,
  nn,
  optim,
  randn,
  relu,
  seed,
  type Tensor,
  tanh,
  tensor,
  tidy,
} from '../../src/index.ts';

/** One work with data of its own. */
export interface Work {
  /** Runs one step; the result is the caller's. */
  readonly step: () => Tensor | undefined;
  /** Of everything that the steps so far have computed. */
  readonly checksum: () => number;
}

export interface WorkDefinition {
  readonly name: string;
  readonly title: string;
  /** Ops of one step, where the time of one op is what counts. */
  readonly ops?: number;
  readonly make: () => Work;
}

function sumOf(tensors: readonly Tensor[]): number {
  return tidy(() => tensors.reduce((sum, each) => sum + (each.sum().itemSync() as number), 0));
}

const tinyOps = 96;

/** A chain of ops on 16 elements: what an op costs beside its kernel. */
function tiny(): Work {
  const x = randn([16]);
  const step = (): Tensor => {
    let y: Tensor = x;
    for (let i = 0; i < tinyOps / 3; i++) y = relu(y.mul(0.9)).add(0.1);
    return y;
  };
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

class Mlp extends nn.Module {
  readonly layers = [
    new nn.Linear(784, 512),
    new nn.Linear(512, 512),
    new nn.Linear(512, 10),
  ] as const;

  override forward(x: Tensor): Tensor {
    const [first, second, third] = this.layers;
    return third.forward(relu(second.forward(relu(first.forward(x)))));
  }
}

/** Forward, backward and update of an MLP 784-512-512-10, batch 128, cross-entropy, SGD. */
function mlp(): Work {
  const model = new Mlp();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const x = randn([128, 784]);
  const labels = tensor(Int32Array.from({ length: 128 }, (_, i) => i % 10));
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const loss = crossEntropy(model.forward(x), labels);
    loss.backward();
    optimizer.step();
    return loss;
  };
  return { step, checksum: () => sumOf(model.parameters()) };
}

/** A chain of element-by-element ops over 4 Mi floats. */
function chain(elements: number): Work {
  const x = randn([elements]);
  const step = (): Tensor => {
    const c = tanh(x.mul(0.5).add(0.25));
    const f = exp(c.mul(c).neg().add(1));
    return exp(relu(f.sub(x)).add(c).mul(0.3)).div(f);
  };
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

/** AdamW over 100 matrices and 100 vectors, whose gradients are there. */
function adamw(width: number): Work {
  const parameters = Array.from({ length: 200 }, (_, i) =>
    randn(i % 2 === 0 ? [width, width] : [width]).requiresGrad_(),
  );
  for (const parameter of parameters) parameter.grad = randn([...parameter.shape]);
  const optimizer = new optim.AdamW(parameters, { lr: 1e-3 });
  const step = (): undefined => optimizer.step() as undefined;
  return { step, checksum: () => sumOf(parameters) };
}

export interface Sizes {
  readonly chain: number;
  readonly width: number;
}

const usual: Sizes = { chain: 4 << 20, width: 256 };

/** `sizes`: of the works whose step has the same ops at any size. */
export function works({ chain: elements, width }: Sizes = usual): readonly WorkDefinition[] {
  const definitions: readonly WorkDefinition[] = [
    { name: 'W2', title: `${tinyOps} ops on 16 elements`, ops: tinyOps, make: tiny },
    { name: 'W3', title: 'MLP 784-512-512-10, a step of batch 128', make: mlp },
    { name: 'W6', title: `11 ops on ${elements} elements`, make: () => chain(elements) },
    { name: 'W12', title: `AdamW over 200 tensors, width ${width}`, make: () => adamw(width) },
  ];
  return definitions.map((each) => ({
    ...each,
    make: () => {
      seed(1);
      return each.make();
    },
  }));
}
