import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { maximum, where } from '../../runtime/ops/pointwise/pointwise.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { tensor } from '../ops/eager.ts';

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

it('docs/dtypes.md has the table (UPDATE_FIXTURES=1 rewrites it)', () => {
  const text = readFileSync(file, 'utf8');
  const before = text.slice(0, text.indexOf(begin) + begin.length);
  const after = text.slice(text.indexOf(end));
  const expected = `${before}\n\n${promotionTable()}\n\n${after}`;
  if (process.env.UPDATE_FIXTURES) writeFileSync(file, expected);
  expect(readFileSync(file, 'utf8')).toBe(expected);
});
