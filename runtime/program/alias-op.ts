import type { OpRecord } from '../ops/record/define-op.ts';
import type { ProgramOp } from './program.ts';

/** The same elements under another name: a view without gradient history. Not in the op table: programs alone have it. */
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
 * A value of its own without gradient history. With attr `leaf` a new leaf: gradients that come to it are its
 * own, or those of the program's input that it is an alias of. With attr `same` the same tensor, for paths on which
 * it has no history.
 */
export const aliasOp = sameElements('alias');

/** It represents the same tensor as its operand, and no other one on the same memory. */
export const isSameTensor = ({ op, attrs }: Pick<ProgramOp, 'op' | 'attrs'>): boolean =>
  op === aliasOp && (attrs.same === true || attrs.leaf !== undefined);
