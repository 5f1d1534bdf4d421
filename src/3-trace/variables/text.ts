/** Text of numbers of the program: it is put together after the run, so code inside can't read it. */

import { mapText, valuesIn } from '../../../runtime/program/number-text.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { nameOfNumber } from './number-needed.ts';
import type { DeviceScalar, TextVariable, Variable } from './variable.ts';

/** Known to be true where some of it is there for sure. */
export function truthOfText(text: TextVariable): true {
  if (text.parts.some((part) => typeof part === 'string' || 'value' in part)) return true;
  throw textAsked(text, 'is decided on');
}

/** Code inside needs the text. */
export function textAsked({ parts }: TextVariable, use: string): GraphBreak {
  const [first] = valuesIn(parts);
  const of = first ? ` of ${nameOfNumber(first)}` : '';
  return new GraphBreak('number-as-text', `text${of} ${use}`);
}

/** Returns a text's pattern: texts of one pattern differ in numbers alone, which can be merged. */
export function patternOf({ parts }: TextVariable): string {
  return JSON.stringify(mapText(parts, ({ type }) => type));
}

/** The same text of other numbers, in their order. */
export function textOf({ parts }: TextVariable, numbers: readonly Variable[]): TextVariable {
  let next = 0;
  return { kind: 'text', parts: mapText(parts, () => numbers[next++] as DeviceScalar) };
}
