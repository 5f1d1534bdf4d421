import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import { isSymbolic } from '../../../../runtime/ops/numbers/symbolic-number.ts';
import type { Element, OpCall as LoweredCall } from '../../lowering/target.ts';
import type { Emitter, Value } from './emitter.ts';

/** One op of a program that is lowered to StableHLO. */
export interface OpCall extends LoweredCall<Value> {
  readonly to: Emitter;
}

/** Emits an op and returns its results, in order. */
export type OpMapping = (call: OpCall) => Value | readonly Value[];

/** An attribute that may change from run to run: one number, or a constant in a shape. */
export function numberAttr(
  { to, attrs, computed, number }: OpCall,
  name: string,
  element: Element,
  shape: Value['shape'] = [],
): Value {
  const own = computed?.[name];
  if (own) return to.convert(own, element);
  const value = attrs[name]!;
  return isSymbolic(value)
    ? to.convert(number(value), element)
    : to.constant(Number(value), element, shape);
}

export const sizesAttr = ({ attrs }: OpCall, name: string): readonly number[] =>
  attrs[name] as readonly number[];

/** An attribute that determines what is computed. Throws ArgumentError if it is computed in each run. */
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
