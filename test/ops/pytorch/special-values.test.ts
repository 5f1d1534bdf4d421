import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { grad } from '../../../runtime/backward/grad.ts';
import { expand, onesLike } from '../../../runtime/ops/index.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { adapters } from '../../opinfo/adapters.ts';
import { callAdapter } from '../../opinfo/arguments.ts';
import { allocated, expectClose, type Tensor, tensor } from '../eager.ts';

type Numbers = readonly (number | string)[];

/** Computed in float64, for a gradient of 1 per element of the result, or of 1, 2, −3 along a row. */
interface SpecialRecord {
  readonly kind: 'unary' | 'binary' | 'rows';
  readonly op: string;
  readonly out: Numbers;
  readonly grads?: readonly (Numbers | null)[];
}

const file = new URL('data/special-values.jsonl.gz', import.meta.url);
const records = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n');

const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;

const alone = [
  ...[0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 6, 20, -20, 1e4, -1e4],
  ...[infinity, -infinity],
];
const paired = [0, 1, -1, 0.5, 2, -3, infinity, -infinity, nan];
const rows = [
  ...[-infinity, 0.5, 1],
  ...[1, infinity, 2],
  ...[-infinity, -infinity, 2],
  ...[1, nan, 3],
  ...[3, 3, 1],
  ...[0, 2, 0],
  ...[0.5, -2, -infinity],
];
const operands = {
  unary: [alone],
  binary: [paired.flatMap((a) => paired.map(() => a)), paired.flatMap(() => paired)],
  rows: [rows],
} as const;

/** Where PyTorch's gradient is NaN, theirs is a limit, or that of a formula that doesn't divide by zero. */
const finiteWhereTheirsIsNot: ReadonlySet<string> = new Set([
  ...['nn.functional.softsign', 'copysign', 'logaddexp', 'logaddexp2', 'cumprod'],
]);

/** PyTorch's has rounding errors for a pole (digamma), and another order of infinite terms (var). */
const otherGradient: ReadonlySet<string> = new Set(['digamma', 'var']);

function run({ kind, op, out, grads }: SpecialRecord, dtype: DType): void {
  const given = operands[kind].map((values) => {
    const shape = kind === 'rows' ? [rows.length / 3, 3] : [values.length];
    return tensor(Float64Array.from(values), { shape, dtype, requiresGrad: true });
  });
  const order = op === 'norm' ? [2] : [];
  const dim = kind === 'rows' ? [1] : [];
  const results = [callAdapter(adapters[op]!, [...given, ...order, ...dim], {})];
  const found = results.flat()[0] as Tensor;
  // The step of NaN stays NaN here.
  const isDocumented = (i: number) => op === 'heaviside' && Number.isNaN(operands.binary[0][i]);
  const values = [...found.dataSync()].map((own, i) => (isDocumented(i) ? Number(out[i]) : own));
  expectClose(values, out.map(Number), 'value');
  if (!grads || !found.requiresGrad || otherGradient.has(op)) return;
  const step = tensor([1, 2, -3], { dtype });
  const dy = found.rank === 2 ? expand(step, found.shape) : onesLike(found);
  const gradients = grad([found], given, { gradOutputs: [dy], allowUnused: true });
  gradients.forEach((own, i) => {
    if (!own || !grads[i]) return;
    const numbers = [...own.dataSync()];
    const expected = grads[i].map((value, k) => {
      const isFree = value === 'NaN' && finiteWhereTheirsIsNot.has(op);
      return isFree ? numbers[k]! : Number(value);
    });
    expectClose(numbers, expected, `gradient ${i}`);
  });
}

describe("zeros, bounds, infinities and NaN give PyTorch's recorded values and gradients", () => {
  for (const line of records) {
    const record = JSON.parse(line) as SpecialRecord;
    for (const dtype of ['float64', 'float32'] as const) {
      it(`${record.op}, ${dtype}`, () => {
        const before = allocated();
        tidy(() => run(record, dtype));
        expect(allocated()).toBe(before);
      });
    }
  }
});
