/** Huge numbers, integers, truth values and tensors without elements, for every operator of the table. */

import { describe, expect, it } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { bincount, crossEntropy, nn, pad, polygamma, zeros } from '../../runtime/index.ts';
import { cast } from '../../runtime/ops/core/cast.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { adapters } from '../opinfo/adapters.ts';
import { callAdapter } from '../opinfo/arguments.ts';
import { opinfo } from '../opinfo/operators-doc.ts';
import {
  isRecordedTensor,
  type RecordedTensor,
  readSamples,
  type Sample,
  toTensor,
} from '../opinfo/samples.ts';
import { allocated, expectClose, tensor } from './eager.ts';

const samples = readSamples(opinfo);
const ops = [...new Set(samples.map(({ op }) => op))].filter((op) => adapters[op]);

type Make = (recorded: RecordedTensor) => Tensor;

/** Runs a sample, forward and backward, with its tensors made in another way. */
function run({ op, input, args, kwargs }: Sample, make: Make): void {
  const leaves: Tensor[] = [];
  const built = (value: unknown): unknown => {
    if (isRecordedTensor(value)) {
      const made = make(value);
      if (value.grad && dtypes[made.dtype].floating) leaves.push(made.requiresGrad_());
      return made;
    }
    if (Array.isArray(value)) return value.map(built);
    if (value === 'Infinity' || value === '-Infinity' || value === 'NaN') return Number(value);
    return value;
  };
  const given = [input, ...args].map(built);
  const keywords = Object.entries(kwargs).map(([name, own]) => [name, built(own)]);
  const result = callAdapter(adapters[op]!, given, Object.fromEntries(keywords));
  const roots = (result instanceof Tensor ? [result] : result).filter((own) => own.requiresGrad);
  if (roots.length === 0) return;
  const gradOutputs = roots.map((root) => root.detach().mul(0).add(1));
  grad(roots, leaves, { gradOutputs, allowUnused: true });
}

/** Every sample of every operator ends soon, in a result or in an error of the library. */
function sweep(title: string, make: Make, fits: (sample: Sample) => boolean = () => true): void {
  describe(title, () => {
    it.each(ops)('%s', { timeout: 20_000 }, (op) => {
      const before = allocated();
      for (const [i, sample] of samples.filter((own) => own.op === op).entries()) {
        if (!fits(sample)) continue;
        try {
          tidy(() => {
            run(sample, make);
            return null;
          });
        } catch (error) {
          if (!(error instanceof TostaticError)) {
            throw new Error(`${op} ${sample.variant} #${i}: ${error}`, { cause: error });
          }
        }
      }
      expect(allocated()).toBe(before);
    });
  });
}

const plain = (recorded: RecordedTensor): Tensor =>
  toTensor({ ...recorded, grad: false }, 'float64');

/** Floating-point numbers times a factor. */
const scaled =
  (factor: number): Make =>
  (recorded) => {
    const made = plain(recorded);
    return dtypes[made.dtype].floating ? made.mul(factor).detach() : made;
  };

for (const size of [1e8, -1e8, 1e30, -1e30]) sweep(`numbers of about ${size}`, scaled(size));
sweep('infinities and NaN', (recorded) => {
  const made = plain(recorded);
  return dtypes[made.dtype].floating ? made.div(0).detach() : made;
});

for (const dtype of ['bool', 'uint8', 'int32'] as const satisfies readonly DType[]) {
  sweep(`all floating-point operands as ${dtype}`, (recorded) => {
    const made = plain(recorded);
    return dtypes[made.dtype].floating ? cast(made, dtype) : made;
  });
}

for (const dtype of ['bool', 'uint8'] as const) {
  sweep(`all indices as ${dtype}`, (recorded) => {
    const made = plain(recorded);
    return made.dtype === 'int32' ? cast(made, dtype) : made;
  });
}

/** No entries in the first, or the last, dimension of every tensor that has one. */
const emptied =
  (last: boolean): Make =>
  (recorded) => {
    const made = plain(recorded);
    const { shape, dtype } = made;
    if (shape.length === 0) return made;
    const at = last ? shape.length - 1 : 0;
    return tensor([], { shape: shape.map((size, d) => (d === at ? 0 : size)), dtype });
  };

sweep('no entries in the first dimension', emptied(false));
sweep('no entries in the last dimension', emptied(true));

describe('as PyTorch records it', () => {
  const list = (own: Tensor) => [...own.dataSync()];
  const double = (values: readonly number[]) => tensor([...values], { dtype: 'float64' });

  it('polygamma, also far below 0', () => {
    const at = [-12345.25, -1.5, -1, -0.5, 0, 0.25, 3, 1e8, 1e30, Infinity];
    const expected: Readonly<Record<number, readonly number[]>> = {
      1: [
        19.739127802801214,
        9.37924664484954,
        Infinity,
        8.934802200117687,
        Infinity,
        17.19732915341456,
        0.39493406693194577,
        1.000000005e-8,
        1e-30,
        0,
      ],
      2: [
        124.02510671463835,
        -0.23620405164172825,
        -Infinity,
        -0.82879664423432,
        -Infinity,
        -129.32773993753688,
        -0.15411380631918856,
        -1.00000001e-16,
        -1e-60,
        0,
      ],
      3: [
        1558.5454565440382,
        194.59427621918758,
        Infinity,
        193.40909103400242,
        Infinity,
        1538.782144009189,
        0.11893940226682916,
        2.00000003e-24,
        2e-90,
        0,
      ],
    };
    for (const [order, values] of Object.entries(expected)) {
      tidy(() => {
        const found = polygamma(Number(order), double(at));
        expectClose(list(found), values, `order ${order}`, { relative: 1e-9, absolute: 0 });
      });
    }
  });

  it('the gradient of sinc, also near 0', () => {
    const at = [0, 1e-8, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 2.5, -1e-4, -0.1];
    // Computed with 50 digits.
    const expected = [
      0,
      -3.2898681336964526e-8,
      -3.289868133371756e-5,
      -0.0003289868101226756,
      -0.0032898648867278964,
      -0.0328954344817124,
      -0.325751267883124,
      -4 / Math.PI,
      -1,
      -0.05092958178940651,
      0.0003289868101226756,
      0.325751267883124,
    ];
    for (const [dtype, relative] of [
      ['float64', 1e-11],
      ['float32', 3e-6],
    ] as const) {
      const x = tensor(at, { dtype, requiresGrad: true });
      tidy(() => x.sinc().sum().backward());
      expectClose(list(x.grad!), expected, dtype, { relative, absolute: 0 });
      x.grad!.dispose();
      x.dispose();
    }
  });

  it.each([
    ['reflect', [-1, 2], [1, 2, 3, 2, 1]],
    ['reflect', [1, -1], [1, 0, 1, 2]],
    ['reflect', [-1, -1], [1, 2]],
    ['replicate', [-1, 2], [1, 2, 3, 3, 3]],
    ['replicate', [1, -1], [0, 0, 1, 2]],
    ['replicate', [-2, 0], [2, 3]],
    ['circular', [-1, 2], [1, 2, 3, 1, 2]],
    ['circular', [1, -1], [2, 0, 1, 2]],
    ['circular', [-1, -1], [1, 2]],
    ['constant', [-1, 2], [1, 2, 3, 0, 0]],
  ] as const)('pad with mode %s and amounts %j', (mode, amounts, expected) => {
    tidy(() => {
      expect(list(pad(tensor([[[0, 1, 2, 3]]]), amounts, mode))).toEqual(expected);
    });
  });

  it('batch norm of an empty batch leaves its running values, and gives gradients of 0', () => {
    tidy(() => {
      for (const momentum of [0.1, null]) {
        const layer = new nn.BatchNorm2d(3, { momentum });
        const x = zeros([0, 3, 2, 2]).requiresGrad_();
        const out = layer.forward(x);
        expect(out.shape).toEqual([0, 3, 2, 2]);
        out.sum().backward();
        expect(list(layer.runningMean!)).toEqual([0, 0, 0]);
        expect(list(layer.runningVar!)).toEqual([1, 1, 1]);
        expect(list(layer.numBatchesTracked!)).toEqual([1]);
        expect(list(layer.weight!.grad!)).toEqual([0, 0, 0]);
        x.grad?.dispose();
        layer.dispose();
      }
    });
  });

  it('products of integers wrap as their sums do; truth values have none', () => {
    tidy(() => {
      const numbers = (dtype: DType) =>
        tensor(
          [
            [1, 2],
            [3, 200],
          ],
          { dtype },
        );
      const others = (dtype: DType) =>
        tensor(
          [
            [1, 2],
            [3, 4],
          ],
          { dtype },
        );
      expect(list(numbers('uint8').matmul(others('uint8')))).toEqual([7, 10, 91, 38]);
      expect(list(numbers('int32').matmul(others('int32')))).toEqual([7, 10, 603, 806]);
      const large = tensor([[2 ** 30, 3]], { dtype: 'int32' });
      expect(list(large.matmul(large.mT))).toEqual([9]);
      expect(() => numbers('bool').matmul(others('bool'))).toThrow(TostaticError);
    });
  });

  it('truth values and uint8 where they are taken', () => {
    tidy(() => {
      const truths = tensor([true, false]);
      expect(list(truths.logit())).toEqual([Infinity, -Infinity]);
      expect(list(truths.isclose(tensor([true, true])))).toEqual([1, 0]);
      const bytes = tensor([0, 2, 2], { dtype: 'uint8' });
      expect(list(bincount(bytes))).toEqual([1, 0, 2]);
      const scores = zeros([3, 4]);
      expect(crossEntropy(scores, bytes).itemSync()).toBeCloseTo(Math.log(4), 6);
      const none = zeros([0], { dtype: 'uint8' });
      expect(zeros([4]).gather(0, none).shape).toEqual([0]);
    });
  });
});
