/** Dtypes that a named kernel accepts for its operands, and their validation. */

import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError } from '../../errors/errors.ts';
import { shown } from '../../options/expect-options.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import { isHalf } from '../../spec/half.ts';
import { dtypeNames } from '../../spec/stored-numbers.ts';

/**
 * `common`: any dtype, shared by all operands with rule `common`, `number`, `floating` or `wide`. `number`: the shared
 * dtype, not bool. `floating`: the shared dtype, floating-point. `wide`: the shared dtype, or float32 if that is half
 * precision. `ignored`: any dtype, because only the shape is read. Otherwise a dtype by name.
 */
export type DTypeRule = 'common' | 'number' | 'floating' | 'wide' | 'ignored' | DType;

type Rules = Readonly<Record<string, DTypeRule | undefined>>;

const noRules: Rules = {};

const fits = (rule: DTypeRule, own: DType, common: DType): boolean => {
  switch (rule) {
    case 'ignored':
      return true;
    case 'common':
      return own === common;
    case 'number':
      return own === common && own !== 'bool';
    case 'floating':
      return own === common && dtypes[own].floating;
    case 'wide':
      return own === common || (own === 'float32' && isHalf(common));
    default:
      return own === rule;
  }
};

const isShared = (rule: DTypeRule): boolean => rule === 'ignored' || !(rule in dtypes);

/** Throws DTypeError unless every operand's dtype fits its rule. */
export function expectOperandDTypes(
  op: string,
  inputs: readonly TensorMeta[],
  names: readonly string[],
  rules: Rules = noRules,
): void {
  let common: DType | null = null;
  for (let i = 0; i < inputs.length; i++) {
    const rule = rules[names[Math.min(i, names.length - 1)]!] ?? 'common';
    const { dtype } = inputs[i]!;
    if (rule !== 'ignored' && isShared(rule)) common ??= dtype;
    if (!fits(rule, dtype, common ?? dtype)) throw unfit(op, inputs, names, rules);
  }
}

const expectations: Readonly<Partial<Record<DTypeRule, string>>> = {
  common: 'the dtype of the others',
  number: 'the dtype of the others, not bool',
  floating: 'the floating-point dtype of the others',
  wide: 'the dtype of the others, or float32 beside float16 and bfloat16',
};

function unfit(
  op: string,
  inputs: readonly TensorMeta[],
  names: readonly string[],
  rules: Rules,
): DTypeError {
  const read = names.filter((name) => rules[name] !== 'ignored');
  const nameOf = (i: number) => names[Math.min(i, names.length - 1)]!;
  const expected = read.map((name) => {
    const rule = rules[name] ?? 'common';
    return `${name}: ${expectations[rule] ?? rule}`;
  });
  return new DTypeError({
    what: `${op.replace('Scalar', '')}: operands of dtypes that don't go together`,
    given: inputs.map((meta, i) => `${nameOf(i)} ${formatSpec(meta)}`).join(', '),
    expected: expected.join('; '),
    remedy: "cast the operands: x.to('float32')",
  });
}

/** Throws DTypeError for anything but a dtype's name. */
export function expectDTypeName(op: string, dtype: DType): void {
  if (Object.hasOwn(dtypes, dtype)) return;
  throw new DTypeError({
    what: `${op}: no such dtype`,
    given: shown(dtype),
    expected: dtypeNames,
    remedy: dtypeRemedy(String(dtype)),
  });
}

function dtypeRemedy(name: string): string {
  if (/^u?int|^long/.test(name)) return 'integers are int32 and uint8';
  if (!/^(?:float|double|half)$/.test(name)) return 'check the name';
  return "PyTorch's float is 'float32', its double 'float64', its half 'float16'";
}
