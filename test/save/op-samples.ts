/** A call of every op, seen while others were made, and a file whose program is that call. */

import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { currentDevice } from '../../runtime/device/current.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import {
  contiguousMeta,
  isContiguousMeta,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { bind } from '../../runtime/ops/core/bind.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { forwardCases } from '../ops/cases/forward-cases.ts';
import { tensorOf, valuesOf } from '../ops/cases/forward-dtypes.ts';
import { gradientCases } from '../ops/cases/gradient-cases.ts';
import { spread, tensor } from '../ops/eager.ts';
import { fileOf } from './mutations.ts';

export interface OpCall {
  readonly op: OpRecord;
  readonly inputs: readonly TensorMeta[];
  readonly attrs: Attrs;
}

type Told = (inputs: readonly TensorMeta[], attrs: Attrs) => void;

/** Tells of every call of the op inside `body`. */
function watching(tell: (op: OpRecord) => Told, body: () => void): void {
  const undo: (() => void)[] = [];
  for (const op of opTable.values()) {
    const told = tell(op);
    const holder =
      op.kernel.kind === 'view' ? { of: op.kernel, key: 'view' } : { of: op, key: 'infer' };
    const own = Reflect.get(holder.of, holder.key) as (...args: Parameters<Told>) => unknown;
    Reflect.set(holder.of, holder.key, (inputs: readonly TensorMeta[], attrs: Attrs = {}) => {
      told(inputs, attrs);
      return own(inputs, attrs);
    });
    undo.push(() => Reflect.set(holder.of, holder.key, own));
  }
  try {
    body();
  } finally {
    for (const each of undo) each();
  }
}

const isLoss = (name: string): boolean => /nll|crossEntropy|label/.test(name);

const windows = { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 };
const pools = { kernel: [2, 2], stride: [2, 1], padding: [0, 0], dilation: [1, 1] };
const rows = { view: [3, 4], over: [1], weightShape: [4], eps: 0.1, centered: true };

/** Ops that nothing else calls here; operands are float32, but labels and codes. */
const more: readonly (readonly [name: string, shapes: readonly Shape[], attrs: Attrs])[] = [
  ['literal', [], { shape: [2], dtype: 'float32', values: [1, Number.NaN] }],
  ['uniform', [], { shape: [2], dtype: 'float32', seed: 1, offset: 0 }],
  ['normal', [], { shape: [2], dtype: 'float32', seed: 1, offset: 0 }],
  ['addSum_', [[4], [3, 4]], { dims: [0] }],
  ['nllLossShare', [[], [3]], {}],
  ['crossEntropyGrad', [[], [3], [3, 4]], {}],
  ['labelScores', [[3, 4], [3]], {}],
  ['nllLossOfScores', [[3], [3]], { classes: 4 }],
  [
    'addMatmul_',
    [
      [2, 3],
      [2, 4],
      [4, 3],
    ],
    { start: 0 },
  ],
  [
    'addConv2dWeightGrad_',
    [
      [2, 3, 2, 2],
      [1, 2, 3, 3],
      [1, 3, 4, 4],
      [2, 3, 2, 2],
    ],
    windows,
  ],
  ['packBits', [[3, 5]], {}],
  ['unpackBits', [[2]], { shape: [3, 5] }],
  ['quantize', [[3, 50]], { code: 'signed' }],
  ['dequantize', [[3, 50], [2]], { code: 'linear' }],
  ['maxPool2dCoded', [[1, 2, 4, 5]], { ...pools, size: [2, 4] }],
  [
    'maxPool2dCodedGrad',
    [
      [1, 2, 2, 4],
      [1, 2, 2, 4],
      [1, 2, 4, 5],
    ],
    pools,
  ],
  [
    'standardizeByStats',
    [
      [3, 4],
      [3, 2],
    ],
    rows,
  ],
  ['standardizeAffineByStats', [[3, 4], [3, 2], [4], [4]], rows],
  ['addStandardizeWeightGrad_', [[4], [3, 4], [3, 4], [3, 2], [4]], rows],
];

function callAll(): void {
  for (const [name, shapes, attrs] of more) {
    tidy(() => {
      const dtypeOf = (i: number): DType => {
        if (name === 'packBits') return 'bool';
        const ofBytes = i === 0 ? ['dequantize', 'unpackBits'] : ['maxPool2dCodedGrad'];
        if (i < 2 && ofBytes.includes(name)) return 'uint8';
        return isLoss(name) && i === 1 ? 'int32' : 'float32';
      };
      const operands = shapes.map((shape, i) => zeros(shape, { dtype: dtypeOf(i) }));
      noGrad(() => bind(opNamed(name), operands, attrs));
    });
  }
  for (const [name, cases] of Object.entries(forwardCases)) {
    for (const { inputs, attrs } of cases) {
      tidy(() => {
        const operands = inputs.map((input, i) => tensorOf(input, valuesOf(input, i)));
        noGrad(() => bind(opNamed(name), operands, attrs ?? {}));
      });
    }
  }
  for (const { shapes, range: [low, high] = [-1, 1], run } of Object.values(gradientCases).flat()) {
    tidy(() => {
      const operands = shapes.map((shape, i) => {
        const own = spread(shape, i).map((value) => low + ((value + 1) / 2) * (high - low));
        return tensor(own, { shape, requiresGrad: true });
      });
      const result = run(...operands);
      if (result.requiresGrad) result.sum().backward();
      for (const operand of operands) operand.grad?.dispose();
    });
  }
}

/** Pointwise ops read numbers alone. */
const mostCalls = ({ kernel }: OpRecord): number => (kernel.kind === 'pointwise' ? 1 : 2);

/** All calls are told; of each op the first ones with operands in order are kept. */
export function opCalls(tell: (call: OpCall) => void): OpCall[] {
  const calls: OpCall[] = [];
  watching((op) => {
    let kept = 0;
    return (inputs, attrs) => {
      const call = { op, inputs, attrs };
      tell(call);
      if (
        kept >= mostCalls(op) ||
        !inputs.every((own) => isContiguousMeta(own) && own.offset === 0)
      )
        return;
      kept++;
      calls.push(call);
    };
  }, callAll);
  return calls;
}

/** JSON of an attribute that `readPrimitive` reads. */
function written(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'number' || Number.isFinite(value)) return value;
  return { number: String(value) };
}

/** A file with one program: the call, with these attributes as they are to stand there. */
export function fileWith({ op, inputs }: OpCall, results: readonly TensorMeta[], attrs: object) {
  const ids = inputs.map((_, i) => i);
  const made = op.inPlace ? [] : results.map((_, i) => inputs.length + i);
  const outputs = op.inPlace ? [0] : made;
  const value = ({ dtype, shape, strides, offset }: TensorMeta) => [dtype, shape, strides, offset];
  const plan = {
    inputs: ids,
    steps: [{ op: op.name, inputs: ids, outputs: made, attrs, at: ['ops.ts', 1, 1], frees: [] }],
    outputs,
    unusedInputs: [],
    freesAtEnd: [...new Set([...ids, ...made])],
    arenaBytes: 0,
    reordered: false,
    predicted: [0, 0, 0, 0, 0],
  };
  const entry = {
    gradMode: true,
    guards: [],
    inputs: ids.map((i) => ({ place: ['argument', i], requiresGrad: false })),
    numbers: [],
    graph: 0,
    makes: [],
    effects: [],
    result: { output: 0 },
    reads: [],
    randomNumbers: 0,
    optional: [],
    spent: outputs.map(() => null),
  };
  const header = {
    program: {
      name: '',
      plannedFor: 'cpu',
      inputSpec: null,
      state: [],
      graphs: [{ values: [...inputs, ...(op.inPlace ? [] : results)].map(value), forward: plan }],
      entries: [entry],
      everySize: [],
    },
    tensors: { storages: [], tensors: [] },
  };
  return fileOf(JSON.stringify(header), new Uint8Array(0));
}

/** What the op makes of the call. */
export function resultsOf({ op, inputs, attrs }: OpCall): TensorMeta[] {
  const device = inputs[0]?.device ?? currentDevice();
  if (op.kernel.kind === 'view') return [op.kernel.view(inputs, attrs)];
  return op.infer(inputs, attrs).map((spec) => contiguousMeta(spec, device));
}

export const attrsInFile = (attrs: Attrs): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attrs).map(([name, value]) => [name, written(value)]));
