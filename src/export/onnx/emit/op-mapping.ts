import type { AttrValue } from '../../../../runtime/device/kernel-op.ts';
import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import { isSymbolic } from '../../../../runtime/ops/numbers/symbolic-number.ts';
import type { SizeAttr } from '../../lowering/symbolic-sizes.ts';
import type { Element, OpCall as LoweredCall } from '../../lowering/target.ts';
import { type Dim, type Dims, fixedDims } from './dims.ts';
import type { Emitter, Value } from './emitter.ts';

/** A known attribute, or one that depends on sizes of the call. */
export type OnnxAttr = AttrValue | SizeAttr;

/** One op of a program that is lowered to ONNX. */
export interface OpCall extends LoweredCall<Value, OnnxAttr> {
  readonly to: Emitter;
}

/** Emits an op and returns its results, in order. */
export type OpMapping = (call: OpCall) => Value | readonly Value[];

/** An attribute that may change from run to run, as a 0-d value. */
export function numberAttr(
  { to, attrs, computed, number }: OpCall,
  name: string,
  element: Element,
): Value {
  const own = computed?.[name];
  if (own) return to.convert(own, element);
  const value = attrs[name]!;
  if (isSymbolic(value as AttrValue)) {
    return to.convert(number(value as Parameters<typeof number>[0]), element);
  }
  if (typeof value === 'object') return to.convert(to.sizeNumber(value as Dim), element);
  return to.constant(Number(value), element);
}

/** A size or position along a dimension. Throws ArgumentError if it is computed in each run. */
export function dimAttr(call: OpCall, name: string): Dim {
  const value = call.attrs[name]!;
  return isSymbolic(value as AttrValue) ? fixedAttr(call, name) : (value as Dim);
}

export const sizesAttr = ({ attrs }: OpCall, name: string): Dims => attrs[name] as Dims;

/** Numbers that are part of the graph. Throws ArgumentError if they depend on sizes of the call. */
export function fixedList(call: OpCall, name: string): readonly number[] {
  return fixedDims(sizesAttr(call, name)) ?? dynamic(call, name);
}

/** An attribute that determines what is computed. Throws ArgumentError if it is computed in each run. */
export function fixedAttr(call: OpCall, name: string): number {
  const value = call.attrs[name]!;
  return typeof value === 'number' ? value : dynamic(call, name);
}

/** A shape that is part of the graph. */
export function fixedShape(call: OpCall, shape: Dims, what: string): readonly number[] {
  return fixedDims(shape) ?? dynamic(call, what);
}

function dynamic({ op }: OpCall, name: string): never {
  throw new ArgumentError({
    what: `export: ${op.name} with a ${name} that changes from run to run`,
    given: 'a number that each run computes',
    expected: 'a constant',
    remedy: "export for one set of sizes: { sizes: 'fixed' }",
  });
}
