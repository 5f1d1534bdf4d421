import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Operand } from '../../runtime/ops/core/promotion.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { addcdiv, addcmul, xlogy } from '../../runtime/ops/pointwise/combining.ts';
import { copysign } from '../../runtime/ops/pointwise/pairs.ts';
import { maximum, where } from '../../runtime/ops/pointwise/pointwise.ts';
import { searchsorted } from '../../runtime/ops/reduce/counting.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type Tensor, tensor } from '../ops/eager.ts';

const all = Object.keys(dtypes) as DType[];

/** `torch.promote_types`, with int64 read as int32. */
const pytorch: { readonly [D in DType]: readonly DType[] } = {
  bool: ['bool', 'uint8', 'int32', 'float16', 'bfloat16', 'float32', 'float64'],
  uint8: ['uint8', 'uint8', 'int32', 'float16', 'bfloat16', 'float32', 'float64'],
  int32: ['int32', 'int32', 'int32', 'float16', 'bfloat16', 'float32', 'float64'],
  float16: ['float16', 'float16', 'float16', 'float16', 'float32', 'float32', 'float64'],
  bfloat16: ['bfloat16', 'bfloat16', 'bfloat16', 'float32', 'bfloat16', 'float32', 'float64'],
  float32: ['float32', 'float32', 'float32', 'float32', 'float32', 'float32', 'float64'],
  float64: ['float64', 'float64', 'float64', 'float64', 'float64', 'float64', 'float64'],
};

/** A tensor and a number, whole or not: `torch.result_type(tensor, 2)` and `(tensor, 2.5)`. */
const withNumber: { readonly [D in DType]: readonly [whole: DType, fraction: DType] } = {
  bool: ['int32', 'float32'],
  uint8: ['uint8', 'float32'],
  int32: ['int32', 'float32'],
  float16: ['float16', 'float16'],
  bfloat16: ['bfloat16', 'bfloat16'],
  float32: ['float32', 'float32'],
  float64: ['float64', 'float64'],
};

const of = (dtype: DType) => tensor([1], { dtype });

describe.each(all)('%s with another dtype', (left) => {
  it.each(all)('and %s', (right) => {
    tidy(() => {
      const joined = pytorch[left][all.indexOf(right)]!;
      const real = dtypes[joined].floating ? joined : 'float32';
      const [a, b] = [of(left), of(right)];
      expect(a.add(b).dtype).toBe(joined);
      expect(a.mul(b).dtype).toBe(joined);
      expect(maximum(a, b).dtype).toBe(joined);
      expect(where(tensor([true]), a, b).dtype).toBe(joined);
      expect(a.div(b).dtype).toBe(real);
      expect(a.atan2(b).dtype).toBe(real);
      expect(a.lt(b).dtype).toBe('bool');
      expect(a.floorDivide(b).dtype).toBe(joined === 'bool' ? 'int32' : joined);
      expect(a.pow(b).dtype).toBe(joined === 'bool' ? 'int32' : joined);
      if (joined !== 'bool') expect(a.sub(b).dtype).toBe(joined);
    });
  });

  it('and a number', () => {
    tidy(() => {
      const [whole, fraction] = withNumber[left];
      const x = of(left);
      expect(x.add(2).dtype).toBe(whole);
      expect(x.mul(2).dtype).toBe(whole);
      expect(x.pow(2).dtype).toBe(whole);
      expect(x.floorDivide(2).dtype).toBe(whole);
      expect(x.add(2.5).dtype).toBe(fraction);
      expect(x.mul(2.5).dtype).toBe(fraction);
      expect(x.maskedFill(tensor([true]), 2).dtype).toBe(left);
      expect(x.eq(2).dtype).toBe('bool');
      expect(x.div(2).dtype).toBe(dtypes[left].floating ? left : 'float32');
      expect(x.exp().dtype).toBe(dtypes[left].floating ? left : 'float32');
      expect(x.sum().dtype).toBe(dtypes[left].floating ? left : 'int32');
    });
  });

  it('a target takes what is not of a later kind', () => {
    const kinds = all.map((dtype) => (dtypes[dtype].floating ? 2 : Number(dtype !== 'bool')));
    for (const right of all) {
      tidy(() => {
        const [target, other] = [of(left), of(right)];
        const holds = kinds[all.indexOf(right)]! <= kinds[all.indexOf(left)]!;
        if (holds) expect(target.add_(other)).toBe(target);
        else expect(() => target.add_(other)).toThrow("the target's dtype can't hold the result");
      });
    }
  });
});

const file = join(import.meta.dirname, '../../docs/dtypes.md');
const [begin, end] = ['<!-- promotion:begin -->', '<!-- promotion:end -->'];

function promotionTable(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rows = all.map((left) =>
    tidy(() =>
      row([
        `**${left}**`,
        ...all.map((right) => zeros([1], { dtype: left }).add(zeros([1], { dtype: right })).dtype),
        of(left).add(2).dtype,
        of(left).add(2.5).dtype,
      ]),
    ),
  );
  const head = ['', ...all, 'a whole number', 'a fraction'];
  return [row(head), row(head.map(() => '---')), ...rows].join('\n');
}

describe('a number as an operand has all digits of the dtype that it joins', () => {
  const functions = {
    add: (a: Tensor, b: Operand) => a.add(b),
    sub: (a: Tensor, b: Operand) => a.sub(b),
    mul: (a: Tensor, b: Operand) => a.mul(b),
    div: (a: Tensor, b: Operand) => a.div(b),
    pow: (a: Tensor, b: Operand) => a.pow(b),
    fmod: (a: Tensor, b: Operand) => a.fmod(b),
    remainder: (a: Tensor, b: Operand) => a.remainder(b),
    floorDivide: (a: Tensor, b: Operand) => a.floorDivide(b),
    copysign: (a: Tensor, b: Operand) => copysign(a, b),
    xlogy: (a: Tensor, b: Operand) => xlogy(a, b),
    clampMin: (a: Tensor, b: Operand) => a.clampMin(b),
    clampMax: (a: Tensor, b: Operand) => a.clampMax(b),
    eq: (a: Tensor, b: Operand) => a.eq(b),
    lt: (a: Tensor, b: Operand) => a.lt(b),
    where: (a: Tensor, b: Operand) => where(tensor([true, false, true]), a, b),
    searchsorted: (a: Tensor, b: Operand) => searchsorted(a, b).reshape([1]),
  };
  const cases = (['float64', 'float32'] as const).map(
    (dtype) => [dtype, [0.05, 0.1234567890123, 0.2], 0.1234567890123] as const,
  );
  const whole = [['int32', [5, 16777216, 16777217], 16777217] as const];
  it.each([...cases, ...whole])('%s', (dtype, values, number) => {
    tidy(() => {
      const a = tensor(values, { dtype });
      for (const [name, fn] of Object.entries(functions)) {
        const [expected, actual] = [fn(a, tensor([number], { dtype })), fn(a, number)];
        expect(actual.dtype, name).toBe(expected.dtype);
        expect([...actual.dataSync()], name).toEqual([...expected.dataSync()]);
      }
    });
  });

  it('and leaves halves what they are', () => {
    tidy(() => {
      for (const dtype of ['float16', 'bfloat16'] as const) {
        const a = tensor([0.05, 0.125, 0.2], { dtype });
        for (const [name, fn] of Object.entries(functions)) {
          expect(fn(a, 0.1).dtype, name).toBe(fn(a, tensor([0.1], { dtype })).dtype);
        }
      }
    });
  });
});

it('docs/dtypes.md has the table (UPDATE_FIXTURES=1 rewrites it)', () => {
  const text = readFileSync(file, 'utf8');
  const before = text.slice(0, text.indexOf(begin) + begin.length);
  const after = text.slice(text.indexOf(end));
  const expected = `${before}\n\n${promotionTable()}\n\n${after}`;
  if (process.env.UPDATE_FIXTURES) writeFileSync(file, expected);
  expect(readFileSync(file, 'utf8')).toBe(expected);
});

it('addcmul and addcdiv multiply in the dtype of the result', () => {
  tidy(() => {
    const zero = tensor([0], { dtype: 'float64' });
    const third = tensor([1 / 3]);
    const nearest = Math.fround(1 / 3);
    expect([...addcmul(zero, third, third).dataSync()]).toEqual([nearest ** 2]);
    const one = tensor([1], { dtype: 'bfloat16' });
    expect([...addcdiv(zero, one, third).dataSync()]).toEqual([1 / nearest]);
    const large = tensor([70_000], { dtype: 'int32' });
    expect([...addcmul(tensor([0]), large, large).dataSync()]).toEqual([Math.fround(4.9e9)]);
  });
});
