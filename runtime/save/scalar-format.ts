/** The file format of numbers in a program's outputs, and of text that contains them. */

import type { ScalarRecipe } from '../entry/recipe.ts';
import {
  isNumberFormat,
  isTextCall,
  type NumberFormat,
  type TextPart,
} from '../program/number-text.ts';
import type { Field } from './file/field.ts';
import { encodePrimitive, readPrimitive } from './primitive.ts';

export function encodeScalar({ index, type }: ScalarRecipe): Readonly<Record<string, unknown>> {
  return { scalar: index, type };
}

export function readScalar(field: Field, outputs: number): ScalarRecipe {
  const index = field.get('scalar').int(0, outputs - 1);
  return { kind: 'scalar', index, type: field.get('type').oneOf(['number', 'boolean']) };
}

export function encodeText(parts: readonly TextPart<ScalarRecipe>[]): unknown[] {
  return parts.map((part) => {
    if (typeof part === 'string') return { known: part };
    if ('value' in part) return { ...encodeScalar(part.value), ...part.format };
    return { call: part.method, of: encodeText(part.of), args: part.args.map(encodePrimitive) };
  });
}

export function readText(field: Field, outputs: number): TextPart<ScalarRecipe>[] {
  return field.items().map((part) => {
    if (part.has('known')) return part.get('known').string();
    if (part.has('call')) {
      const method = part.get('call').string();
      const args = part.list('args', readPrimitive);
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
