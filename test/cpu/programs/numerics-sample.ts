/** Prints what kernels compute with and a hash of the bits of many results, eager and captured. */

import { describeNumerics } from '../../../runtime/device/cpu/numerics-report.ts';
import {
  conv2d,
  crossEntropy,
  init,
  layerNorm,
  logcumsumexp,
  matmul,
  nn,
  noGrad,
  optim,
  polygamma,
  randn,
  seed,
  slogdet,
  softmax,
  type Tensor,
  toStatic,
} from '../../../src/index.ts';

// Threads as TOSTATIC_THREADS says.
if (process.argv.includes('revectorize')) await init('cpu', { revectorize: true });

function hash(results: readonly Tensor[]): string {
  let sum = 0;
  for (const x of results) {
    const { buffer, byteOffset, byteLength } = x.detach().contiguous().dataSync();
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) {
      sum = (Math.imul(sum, 31) + byte) | 0;
    }
  }
  return (sum >>> 0).toString(16).padStart(8, '0');
}

/** Products of all kinds, convolutions of all kinds, rows, scans and functions. */
function results(): Tensor[] {
  seed(7);
  const a = randn([37, 61]);
  const b = randn([61, 29]);
  const wide = randn([1, 300]);
  const image = randn([2, 4, 9, 9]);
  const positive = a.abs().add(0.125);
  const large = a.mul(1e6);
  const single = [a.exp(), positive.log(), a.tanh(), a.sin(), large.cos(), positive.pow(a)];
  const double = a.double();
  const bounded = double.tanh();
  const wider = [
    ...[double.exp(), double.expm1(), double.exp2(), double.sin(), double.mul(1e8).cos()],
    ...[double.tan(), double.atan(), double.sinh(), double.cosh(), double.asinh(), double.erf()],
    ...[bounded.asin(), bounded.acos(), bounded.atanh(), double.atan2(bounded)],
    ...[double.abs().log1p(), double.abs().log2(), double.abs().log10(), double.abs().pow(double)],
  ];
  return [
    ...[matmul(a, b), matmul(wide, randn([300, 13])), matmul(randn([13, 300]), wide.t())],
    ...[
      conv2d(image, randn([6, 4, 3, 3])),
      conv2d(image, randn([4, 1, 3, 3]), null, { groups: 4 }),
    ],
    ...[softmax(a), layerNorm(a, [61]), logcumsumexp(a, 1), polygamma(1, positive)],
    ...[slogdet(randn([5, 5]))[1], ...single, ...wider],
  ];
}

const model = () => {
  seed(3);
  return new nn.Sequential(
    new nn.Linear(20, 33),
    new nn.GELU(),
    new nn.LayerNorm(33),
    new nn.Linear(33, 7),
  );
};

function train(capture: boolean): Tensor[] {
  const own = model();
  const optimizer = new optim.SGD(own.parameters(), { lr: 0.1, momentum: 0.9 });
  const step = (x: Tensor, y: Tensor): Tensor => {
    const loss = crossEntropy(own.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss.detach();
  };
  const run = capture ? toStatic(step) : step;
  const x = randn([19, 20]);
  const y = x.narrow(1, 0, 7).argmax(1).int();
  const losses = [run(x, y), run(x, y), run(x, y)];
  return [...losses, ...own.parameters()];
}

const functions = noGrad(results);
console.log(
  JSON.stringify({
    numerics: describeNumerics(),
    functions: hash(functions),
    captured: hash(noGrad(() => toStatic(results)())),
    eagerTraining: hash(train(false)),
    capturedTraining: hash(train(true)),
  }),
);
