/** Numbers of a program's outputs, and text of them, in files. */

import {
  isNumberFormat,
  isTextCall,
  type NumberFormat,
  type TextPart,
} from '../program/number-text.ts';
import { numbersOf } from '../tensor/stored-numbers.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Field } from './field.ts';
import { encodePrimitive, readPrimitive } from './primitive.ts';

/** The number in an output. */
export interface SavedScalar {
  readonly kind: 'scalar';
  readonly index: number;
  readonly type: 'number' | 'boolean';
}

export function encodeScalar({ index, type }: SavedScalar): Readonly<Record<string, unknown>> {
  return { scalar: index, type };
}

export function readScalar(field: Field, outputs: number): SavedScalar {
  const index = field.get('scalar').int(0, outputs - 1);
  return { kind: 'scalar', index, type: field.get('type').oneOf(['number', 'boolean']) };
}

export function scalarReader({
  index,
  type,
}: SavedScalar): (results: { readonly outputs: readonly Tensor[] }) => number | boolean {
  return ({ outputs }) => {
    const tensor = outputs[index]!;
    const [value] = numbersOf(tensor.dataSync(), tensor.dtype);
    return type === 'boolean' ? Boolean(value) : Number(value);
  };
}

export function encodeText(parts: readonly TextPart<SavedScalar>[]): unknown[] {
  return parts.map((part) => {
    if (typeof part === 'string') return { known: part };
    if ('value' in part) return { ...encodeScalar(part.value), ...part.format };
    return { call: part.method, of: encodeText(part.of), args: part.args.map(encodePrimitive) };
  });
}

export function readText(field: Field, outputs: number): TextPart<SavedScalar>[] {
  return field.items().map((part) => {
    if (part.has('known')) return part.get('known').string();
    if (part.has('call')) {
      const method = part.get('call').string();
      const args = part.get('args').items().map(readPrimitive);
      if (!isTextCall(method, args)) return part.get('call').fail('a method of text');
      const of = readText(part.get('of'), outputs);
      return { method, of, args: args as (string | number)[] };
    }
    const method = part.get('method').string();
    const digits = part.get('digits').isNull ? null : part.get('digits').int(0, 100);
    if (!isNumberFormat(method, digits)) return part.get('method').fail('a method of numbers');
    return { value: readScalar(part, outputs), format: { method, digits } as NumberFormat };
  });
}
