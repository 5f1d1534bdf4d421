import { exp, matmul, optim, randn, relu, type Tensor, tanh, tidy } from '../../src/index.ts';
import { sumOf, type Work } from './work.ts';

export const tinyOps = 96;

/** A chain of ops on 16 elements: the cost of an op besides its kernel. */
export function tiny(): Work {
  const x = randn([16]);
  const step = (): Tensor => {
    let y: Tensor = x;
    for (let i = 0; i < tinyOps / 3; i++) y = relu(y.mul(0.9)).add(0.1);
    return y;
  };
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

/** A product of two square matrices. */
export function product(size: number): Work {
  const [x, y] = [randn([size, size]), randn([size, size])];
  const step = (): Tensor => matmul(x, y);
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

/** Eleven element-by-element ops. */
export function chained(x: Tensor): Tensor {
  const c = tanh(x.mul(0.5).add(0.25));
  const f = exp(c.mul(c).neg().add(1));
  return exp(relu(f.sub(x)).add(c).mul(0.3)).div(f);
}

/** A chain of element-by-element ops, over 4 Mi floats in the benchmark. */
export function chain(elements: number): Work {
  const x = randn([elements]);
  const step = (): Tensor => chained(x);
  return { step, checksum: () => tidy(() => step().sum().itemSync() as number) };
}

/** AdamW over 100 matrices and 100 vectors with existing gradients. */
export function adamw(width: number): Work {
  const parameters = Array.from({ length: 200 }, (_, i) =>
    randn(i % 2 === 0 ? [width, width] : [width]).requiresGrad_(),
  );
  for (const parameter of parameters) parameter.grad = randn([...parameter.shape]);
  const optimizer = new optim.AdamW(parameters, { lr: 1e-3 });
  const step = (): undefined => optimizer.step() as undefined;
  return { step, checksum: () => sumOf(parameters) };
}
