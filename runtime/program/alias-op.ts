import type { OpRecord } from '../ops/record/define-op.ts';
import type { ProgramOp } from './program.ts';

/** Returns an op that renames its operand: a view without gradient history. Only in programs, not in the op table. */
export function sameElements(name: string): OpRecord {
  return {
    name,
    operands: [{ name: 'x', use: 'data' }],
    variadic: false,
    infer: ([x]) => [x!],
    kernel: { kind: 'view', view: ([x]) => x! },
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    flat: true,
  };
}

/**
 * A separate value without gradient history. With attr `leaf` it is a new leaf: gradients accumulate on it, or on the
 * program input that it aliases. With attr `same` it is the same tensor, for paths on which the tensor has no history.
 */
export const aliasOp = sameElements('alias');

/** Whether the result represents the same tensor as its operand, rather than another tensor on the same memory. */
export const isSameTensor = ({ op, attrs }: Pick<ProgramOp, 'op' | 'attrs'>): boolean =>
  op === aliasOp && (attrs.same === true || attrs.leaf !== undefined);
