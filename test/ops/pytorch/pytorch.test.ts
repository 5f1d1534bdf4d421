import { describe, expect, it } from 'vitest';
import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { conv2d } from '../../../runtime/ops/convolution/conv.ts';
import { crossEntropy, mseLoss } from '../../../runtime/ops/loss/class-losses.ts';
import { where } from '../../../runtime/ops/pointwise/pointwise.ts';
import { linear } from '../../../runtime/ops/products/matmul.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor } from '../eager.ts';
import {
  expectRecorded,
  isRecordedTensor,
  type RecordedTensor,
  readRecords,
  toTensor,
} from './recorded.ts';

interface OpRecordLine {
  readonly op: string;
  readonly input: RecordedTensor;
  readonly args?: readonly unknown[];
  readonly kwargs?: Readonly<Record<string, unknown>>;
  readonly output: RecordedTensor;
  readonly gradOutputs?: readonly RecordedTensor[];
  /** Of the tensors with `grad`, in order of appearance. */
  readonly grads?: readonly (RecordedTensor | null)[];
}

type Keywords = Readonly<Record<string, unknown>>;
/** PyTorch's call in our names. */
type Call = (x: Tensor, args: readonly unknown[], keywords: Keywords) => Tensor;

/** Methods with the same arguments. */
const method =
  (name: string): Call =>
  (x, args) =>
    (x as unknown as Record<string, (...rest: readonly unknown[]) => Tensor>)[name]!(...args);

const reduction =
  (name: 'sum' | 'mean' | 'amax'): Call =>
  (x, _args, { dim, keepdim }) =>
    x[name](dim as number | undefined, { keepDim: (keepdim as boolean) ?? false });

const inPlace =
  (name: 'addcmul_' | 'addcdiv_'): Call =>
  (x, [y, z]) =>
    noGrad(() => x.clone()[name](y as Tensor, z as Tensor));

const calls: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(
    'add sub mul div maximum eq ne lt le gt ge abs neg exp log sqrt sign tanh sigmoid matmul reshape flatten squeeze unsqueeze permute transpose narrow select expand'
      .split(' ')
      .map((name) => [name, method(name)]),
  ),
  mm: method('matmul'),
  mv: method('matmul'),
  dot: method('matmul'),
  sum: reduction('sum'),
  mean: reduction('mean'),
  max: reduction('amax'),
  amax: reduction('amax'),
  argmax: (x, _args, { dim }) => x.argmax(dim as number),
  softmax: (x) => x.softmax(),
  log_softmax: (x) => x.logSoftmax(),
  where: (x, [test, other]) => where(test as Tensor, x, other as Tensor),
  addcmul: inPlace('addcmul_'),
  addcdiv: inPlace('addcdiv_'),
  'nn.functional.relu': (x) => x.relu(),
  'nn.functional.linear': (x, [w, b]) => linear(x, w as Tensor, (b ?? null) as Tensor | null),
  'nn.functional.conv2d': (x, [w, b], { padding, ...rest }) =>
    conv2d(x, w as Tensor, b as Tensor | null, {
      ...rest,
      padding: padding === 'valid' ? 0 : (padding as number),
    }),
  'nn.functional.mse_loss': (x, [target]) => mseLoss(x, target as Tensor),
  'nn.functional.cross_entropy': (x, [target]) => crossEntropy(x, target as Tensor),
};

/** Exponentials and long sums lose more bits than the rest. */
const loose = { relative: 2e-5, absolute: 5e-5 };

const lines = readRecords<OpRecordLine>(new URL('data/pytorch-opinfo.jsonl', import.meta.url));
const ops = [...new Set(lines.map(({ op }) => op))];

function check(line: OpRecordLine, what: string): void {
  const x = toTensor(line.input);
  const operands = (line.args ?? []).map((arg) => (isRecordedTensor(arg) ? toTensor(arg) : arg));
  const output = calls[line.op]!(x, operands, line.kwargs ?? {});
  expectRecorded(output, line.output, `${what}: output`, loose);
  if (line.grads && output.requiresGrad) {
    output.backward(toTensor(line.gradOutputs![0]!));
    const leaves = [x, ...operands].filter(
      (value): value is Tensor => value instanceof Object && (value as Tensor).requiresGrad,
    );
    expect(leaves.length).toBe(line.grads.length);
    line.grads.forEach((expected, i) => {
      const { grad } = leaves[i]!;
      if (expected) expectRecorded(grad!, expected, `${what}: gradient ${i}`, loose);
      else expect(grad, `${what}: gradient ${i}`).toBe(null);
    });
    for (const leaf of leaves) leaf.grad?.dispose();
  }
}

describe("ops give PyTorch's recorded values and gradients", () => {
  for (const op of ops) {
    const samples = lines.filter((line) => line.op === op);
    it(`${op} (${samples.length} samples)`, () => {
      const before = allocated();
      samples.forEach((line, i) => {
        tidy(() => check(line, `${op} #${i}`));
      });
      expect(allocated()).toBe(before);
    });
  }
});
