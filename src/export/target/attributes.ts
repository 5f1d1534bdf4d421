import type { Attrs, AttrValue } from '../../../runtime/device/kernel-op.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { isSymbolic } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { type Dim, type Dims, fixedDims } from './dims.ts';
import type { TargetCall } from './op-mapping.ts';
import type { Element, OpAttr, OpCall, TargetValue } from './target.ts';

type AnyCall = Pick<OpCall<TargetValue>, 'op' | 'attrs'>;

/** An attribute that may change between runs: one number, or a constant in a shape. */
export function numberAttr<V extends TargetValue>(
  { to, attrs, computed, number }: TargetCall<V>,
  name: string,
  element: Element,
  shape: Dims = [],
): V {
  const computedValue = computed?.[name];
  if (computedValue) return to.convert(computedValue, element);
  const value = attrs[name]!;
  if (isSymbolic(value as AttrValue)) {
    return to.convert(number(value as Parameters<typeof number>[0]), element);
  }
  if (typeof value === 'object') return to.convert(to.sizeNumber(value as Dim), element);
  return to.constant(Number(value), element, shape);
}

/** A size or position along a dimension. Throws ArgumentError if it is computed in each run. */
export function dimAttr(call: AnyCall, name: string): Dim {
  const value = call.attrs[name]!;
  return isSymbolic(value as AttrValue) ? fixedAttr(call, name) : (value as Dim);
}

export const sizesAttr = ({ attrs }: AnyCall, name: string): Dims => attrs[name] as Dims;

/** Numbers that are part of the graph. Throws ArgumentError if they depend on sizes of the call. */
export function fixedList(call: AnyCall, name: string): readonly number[] {
  return fixedDims(sizesAttr(call, name)) ?? dynamic(call, name);
}

/** An attribute that determines what is computed. Throws ArgumentError if it is computed in each run. */
export function fixedAttr(call: AnyCall, name: string): number {
  const value = call.attrs[name]!;
  return typeof value === 'number' ? value : dynamic(call, name);
}

/** A shape that is part of the graph. */
export function fixedShape(call: AnyCall, shape: Dims, what: string): readonly number[] {
  return fixedDims(shape) ?? dynamic(call, what);
}

/** All attributes. Throws ArgumentError if one is computed in each run. */
export function fixedAttrs(call: AnyCall): Attrs {
  const changing = Object.keys(call.attrs).find((name) => !isFixedAttr(call.attrs[name]!));
  return changing === undefined ? (call.attrs as Attrs) : dynamic(call, changing);
}

export const isFixedAttr = (value: OpAttr): boolean =>
  typeof value !== 'object' ||
  (Array.isArray(value) && value.every((item) => typeof item === 'number'));

function dynamic({ op }: AnyCall, name: string): never {
  throw new ArgumentError({
    what: `export: ${op.name} with a ${name} that changes from run to run`,
    given: 'a number that each run computes',
    expected: 'a constant',
    remedy:
      "export for one set of sizes, { sizes: 'fixed' }, or pass a tensor of places to index()",
  });
}
