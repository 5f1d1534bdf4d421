/** Calls of functions with what PyTorch computed in float64: results, gradients, and gradients of those. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as runtime from '../../src/index.ts';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

export interface RecordedTensor {
  readonly tensor: readonly (number | string)[];
  readonly shape: readonly number[];
  readonly dtype: runtime.DType;
  readonly grad?: boolean;
}

export interface RecordedFunction {
  /** PyTorch's name, and ours. */
  readonly op: string;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly outputs: readonly RecordedTensor[];
  /** Gradients of the outputs, for those that have one. */
  readonly weights?: readonly RecordedTensor[];
  /** The gradients of the arguments; then those of the sum of their squares. */
  readonly grads?: readonly (RecordedTensor | null)[];
  readonly second?: readonly (RecordedTensor | null)[];
}

const file = new URL('data/pytorch-functional.jsonl.gz', import.meta.url);

export const recordedFunctions: readonly RecordedFunction[] = gunzipSync(readFileSync(file))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedFunction);

const isRecorded = (value: unknown): value is RecordedTensor =>
  typeof value === 'object' && value !== null && 'tensor' in value;

/** The tensor in the precision that is tested, or in its own dtype if that isn't floating-point. */
export function made(record: RecordedTensor, precision: 'float32' | 'float64'): Tensor {
  const dtype = record.dtype === 'float64' ? precision : record.dtype;
  return tensor(record.tensor.map(Number), {
    shape: [...record.shape],
    dtype,
    requiresGrad: record.grad ?? false,
  });
}

export interface Found {
  readonly outputs: readonly Tensor[];
  readonly grads: readonly (Tensor | null)[];
  readonly second: readonly (Tensor | null)[];
}

/** What doesn't depend on the signs of vectors, in place of factors that do. */
const invariants: Readonly<Record<string, (...args: never[]) => readonly Tensor[]>> = {
  eigh: (x: Tensor, options: object) => {
    const [values, vectors] = runtime.eigh(x, options);
    return [values, vectors.square()];
  },
  svd: (x: Tensor, options: object) => {
    const [u, s, vh] = runtime.svd(x, options);
    const k = s.shape.at(-1)!;
    const [left, right] = [u.narrow(-1, 0, k), vh.narrow(-2, 0, k)];
    return [left.square(), s, right.square(), left.matmul(right)];
  },
};

/** Returns a function of the recorded tensors that calls the function, and computes its gradients as recorded. */
export function computation(record: RecordedFunction, precision: 'float32' | 'float64') {
  const operands: RecordedTensor[] = [];
  const find = (value: unknown): void => {
    if (isRecorded(value)) operands.push(value);
    else if (Array.isArray(value)) value.forEach(find);
  };
  record.args.forEach(find);
  const weights = record.weights ?? [];
  const functions = { ...runtime, ...invariants } as unknown as Record<
    string,
    (...args: unknown[]) => unknown
  >;
  const call = functions[record.name]!;
  const isLeaf = operands.map(({ grad }) => grad === true);
  const { args, second } = record;
  const run = (tensors: readonly Tensor[], factors: readonly Tensor[]): Found => {
    let next = 0;
    const place = (value: unknown): unknown => {
      if (isRecorded(value)) return tensors[next++];
      return Array.isArray(value) ? value.map(place) : value;
    };
    const outputs = [call(...args.map(place))].flat() as Tensor[];
    const leaves = tensors.filter((_, i) => isLeaf[i]);
    if (factors.length === 0) return { outputs, grads: [], second: [] };
    const differentiable = outputs.filter(({ requiresGrad }) => requiresGrad);
    const createGraph = second !== undefined;
    const options = { gradOutputs: [...factors], allowUnused: true, createGraph };
    const grads = runtime.grad(differentiable, leaves, options);
    if (!createGraph) return { outputs, grads, second: [] };
    const squares = grads.filter((own) => own?.requiresGrad).map((own) => own!.square().sum());
    // A function without curvature has no such gradient here; PyTorch's is 0.
    if (squares.length === 0) return { outputs, grads, second: leaves.map(() => null) };
    const total = squares.reduce((all, own) => all.add(own));
    return { outputs, grads, second: runtime.grad(total, leaves, { allowUnused: true }) };
  };
  const inputs = () => [operands, weights].map((list) => list.map((own) => made(own, precision)));
  return {
    eager: () => run(...(inputs() as [Tensor[], Tensor[]])),
    captured: () => {
      const f = toStatic(run, { fullGraph: true });
      return () => f(...(inputs() as [Tensor[], Tensor[]]));
    },
  };
}
