import { describe, expect, it } from 'vitest';
import { indexPut } from '../../../runtime/ops/advanced-indexing/advanced-index.ts';
import { embedding } from '../../../runtime/ops/advanced-indexing/embedding.ts';
import { type PadMode, pad } from '../../../runtime/ops/arranging/padding.ts';
import { maskedSelect } from '../../../runtime/ops/indexing/data-dependent.ts';
import { cat, dstack, hstack, stack, vstack } from '../../../runtime/ops/movement/joining.ts';
import {
  arange,
  eye,
  fullLike,
  linspace,
  onesLike,
  zerosLike,
} from '../../../runtime/ops/movement/ranges.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { allocated } from '../eager.ts';
import {
  expectRecorded,
  isRecordedTensor,
  type RecordedTensor,
  readRecords,
  toTensor,
} from './recorded.ts';

/** PyTorch's recorded behaviour of ops that move, join, choose and order elements, and make ranges. */

type Recorded = RecordedTensor | readonly RecordedTensor[];

interface OpRecordLine {
  readonly op: string;
  readonly input: unknown;
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly output: Recorded;
  readonly gradOutputs?: readonly RecordedTensor[];
  /** Of the tensors with `grad`, in order of appearance. */
  readonly grads?: readonly (RecordedTensor | null)[];
}

type Keywords = Readonly<Record<string, unknown>>;
type Result = Tensor | readonly Tensor[];
/** PyTorch's call in our names. */
type Call = (x: Tensor, args: readonly unknown[], keywords: Keywords) => Result;

const method =
  (name: string, ...keywordNames: readonly string[]): Call =>
  (x, args, keywords) => {
    const rest = [...args, ...keywordNames.map((key) => keywords[key])];
    return (x as unknown as Record<string, (...rest: readonly unknown[]) => Result>)[name]!(
      ...rest.filter((value) => value !== undefined),
    );
  };

const joining =
  (join: (tensors: readonly Tensor[], dim?: number) => Tensor): Call =>
  (tensors, [dim], { dim: named }) =>
    join(tensors as unknown as readonly Tensor[], (dim ?? named) as number | undefined);

const numbers = (first: unknown, args: readonly unknown[]) => [first, ...args].map(Number);

const calls: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(
    'chunk diag diagonal expand fliplr flipud rot90 roll split unflatten gather sort scatter topk unbind unfold msort movedim repeat squeeze tile tril triu argsort trace kthvalue take'
      .split(' ')
      .map((name) => [name, method(name)]),
  ),
  diagonal: method('diagonal', 'offset'),
  diag_embed: method('diagEmbed', 'offset'),
  flip: method('flip', 'dims'),
  broadcast_to: method('broadcastTo'),
  tensor_split: (x, [pieces, dim]) =>
    x.tensorSplit(
      pieces instanceof Tensor ? [...pieces.dataSync()] : (pieces as number),
      dim as number | undefined,
    ),
  index_fill: method('indexFill'),
  index_copy: method('indexCopy'),
  index_select: method('indexSelect'),
  index_add: (x, [dim, index, source], { alpha }) =>
    x.indexAdd(dim as number, index as Tensor, (source as Tensor).mul(alpha as number)),
  index_put: (x, [indices, value], { accumulate }) =>
    indexPut(x, indices as Tensor[], value as Tensor, { accumulate: accumulate as boolean }),
  scatter_add: method('scatterAdd'),
  take_along_dim: method('takeAlongDim'),
  repeat_interleave: method('repeatInterleave', 'repeats', 'dim'),
  masked_select: (x, [mask]) => maskedSelect(x, mask as Tensor),
  'nn.functional.embedding': (x, [indices]) => embedding(x, indices as Tensor),
  'nn.functional.pad': (x, [amounts, mode, value]) =>
    pad(x, amounts as number[], mode as PadMode | undefined, value as number | undefined),
  cat: joining(cat),
  stack: joining(stack),
  hstack: joining(hstack),
  vstack: joining(vstack),
  dstack: joining(dstack),
  zeros_like: (x, _args, { dtype }) => zerosLike(x, options(dtype)),
  ones_like: (x, _args, { dtype }) => onesLike(x, options(dtype)),
  full_like: (x, [value], { dtype }) => fullLike(x, value as number, options(dtype)),
  eye: (n, args) => {
    const [rows, columns] = numbers(n, args);
    return eye(rows!, columns);
  },
  arange: (first, args, { dtype }) => {
    const [start, end, step] = numbers(first, args);
    return arange(start!, end, step, options(dtype));
  },
  linspace: (start, args) => {
    const [from, to, steps] = numbers(start, args);
    return linspace(from!, to!, steps!);
  },
};

function options(dtype: unknown): { dtype?: DType } {
  return dtype ? { dtype: dtype as DType } : {};
}

/** Tensors for records, also in lists. */
function revive(value: unknown): unknown {
  if (isRecordedTensor(value)) return toTensor(value);
  return Array.isArray(value) ? value.map(revive) : value;
}

function leavesIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return value.requiresGrad ? [value] : [];
  return Array.isArray(value) ? value.flatMap(leavesIn) : [];
}

function check(line: OpRecordLine, what: string): void {
  const operands = [line.input, ...line.args].map(revive);
  const [x, ...args] = operands;
  const keywords = Object.fromEntries(
    Object.entries(line.kwargs).map(([key, value]) => [key, revive(value)]),
  );
  const outputs = [calls[line.op]!(x as Tensor, args, keywords)].flat() as Tensor[];
  const expected = [line.output].flat() as RecordedTensor[];
  expect(outputs.length, what).toBe(expected.length);
  outputs.forEach((output, i) => {
    expectRecorded(output, expected[i]!, `${what}: output ${i}`);
  });
  const { grads, gradOutputs } = line;
  if (!grads) return;
  gradOutputs!.forEach((gradient, i) => {
    if (outputs[i]!.requiresGrad) outputs[i]!.backward(toTensor(gradient));
  });
  const leaves = leavesIn(operands);
  expect(leaves.length, `${what}: tensors with gradient`).toBe(grads.length);
  grads.forEach((gradient, i) => {
    const { grad } = leaves[i]!;
    const zero = gradient?.tensor.every((value) => value === 0) ?? true;
    if (gradient && (grad || !zero)) {
      expectRecorded(grad!, gradient, `${what}: gradient ${i}`, { absolute: 1e-5 });
    } else expect(grad, `${what}: gradient ${i}`).toBe(null);
    grad?.dispose();
  });
}

const lines = readRecords<OpRecordLine>(new URL('data/pytorch-arranging.jsonl', import.meta.url));

describe("arranging ops give PyTorch's recorded values and gradients", () => {
  for (const op of new Set(lines.map((line) => line.op))) {
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
