/** Text that contains data-dependent numbers. It is formatted after the run, so traced code can't read it. */

import { mapText, valuesIn } from '../../../runtime/program/number-text.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { nameOfNumber } from './number-needed.ts';
import type { DeviceScalar, TextVariable, Variable } from './variable.ts';

/** Returns true if part of the text is certainly non-empty. Throws a graph break otherwise. */
export function truthOfText(text: TextVariable): true {
  if (text.parts.some((part) => typeof part === 'string' || 'value' in part)) return true;
  throw textBreak(text, 'is decided on');
}

/** Returns the graph break for traced code that needs the text. */
export function textBreak({ parts }: TextVariable, use: string): GraphBreak {
  const [first] = valuesIn(parts);
  const of = first ? ` of ${nameOfNumber(first)}` : '';
  return new GraphBreak('number-as-text', `text${of} ${use}`);
}

/** Returns the text's pattern. Texts with the same pattern differ only in their numbers and can be merged. */
export function patternOf({ parts }: TextVariable): string {
  return JSON.stringify(mapText(parts, ({ type }) => type));
}

/** Returns the same text with other numbers, in order. */
export function textOf({ parts }: TextVariable, numbers: readonly Variable[]): TextVariable {
  let next = 0;
  return { kind: 'text', parts: mapText(parts, () => numbers[next++] as DeviceScalar) };
}
