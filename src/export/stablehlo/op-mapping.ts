import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { AttrValue, OpRecord } from '../../../runtime/ops/define-op.ts';
import { isSymbolic, type SymbolicNumber } from '../../../runtime/ops/symbolic-number.ts';
import type { TensorMeta } from '../../../runtime/tensor/meta.ts';
import type { Element, Emitter, Value } from './emitter.ts';

/** One op of a program on its way to StableHLO. */
export interface OpCall {
  readonly to: Emitter;
  readonly op: OpRecord;
  /** Values of the operands; those that give a shape alone have one too. */
  readonly inputs: readonly Value[];
  /** In row-major order from the first element on: where an element lies says nothing here. */
  readonly metas: readonly TensorMeta[];
  readonly outputs: readonly TensorMeta[];
  readonly attrs: Readonly<Record<string, AttrValue>>;
  readonly number: (symbol: SymbolicNumber) => Value;
}

/** Results of the op, in their order. */
export type OpMapping = (call: OpCall) => Value | readonly Value[];

/** An attribute that may change from run to run, as a value without dimensions. */
export function numberAttr({ to, attrs, number }: OpCall, name: string, element: Element): Value {
  const value = attrs[name]!;
  return isSymbolic(value)
    ? to.convert(number(value), element)
    : to.constant(Number(value), element);
}

export const sizesAttr = ({ attrs }: OpCall, name: string): readonly number[] =>
  attrs[name] as readonly number[];

/** An attribute that decides what is computed. Throws ArgumentError where each run computes it. */
export function fixedAttr({ attrs, op }: OpCall, name: string): number {
  const value = attrs[name]!;
  if (typeof value === 'number') return value;
  throw new ArgumentError({
    what: `export: ${op.name} with a ${name} that changes from run to run`,
    given: 'a number that each run computes',
    expected: 'a constant',
    remedy: 'compute it from numbers that stay, or pass a tensor of places to index()',
  });
}

/** What halves are summed in. */
export const wideElement = (element: Element): Element =>
  element === 'f16' || element === 'bf16'
    ? 'f32'
    : element === 'ui8' || element === 'i1'
      ? 'i32'
      : element;

export const isFloat = (element: Element): boolean =>
  ['f16', 'bf16', 'f32', 'f64'].includes(element);
