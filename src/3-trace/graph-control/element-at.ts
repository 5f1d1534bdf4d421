/** Arrays at a number of the program. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { arrayElement, arrayLength, asArray } from '../arrays.ts';
import { settled } from '../choices.ts';
import type { Tracer } from '../tracer.ts';
import {
  type ChoiceVariable,
  known,
  type ScalarVariable,
  undefinedVariable,
  type Variable,
} from '../variable.ts';
import { chosenBy } from './choice.ts';
import { asNumber } from './scalars.ts';

/** `array[index]`: one of the elements, or undefined. */
export function elementAt(t: Tracer, base: Variable, index: ScalarVariable): Variable {
  const array = expectArray(t, base);
  const count = arrayLength(t, array);
  const elements = Array.from({ length: count }, (_, i) => arrayElement(t, array, i));
  return chosenBy(t, asNumber(t, index), [...elements, undefinedVariable], 'an element');
}

/** The index as one of those that the array has. Throws ChoiceMet; on each way it is known. */
export function indexIn(t: Tracer, base: Variable, index: ScalarVariable): Variable {
  const count = arrayLength(t, expectArray(t, base));
  let choice = indices.get(index)?.get(count);
  if (!choice) {
    const options = Array.from({ length: count }, (_, i) => known(i));
    choice = chosenBy(t, asNumber(t, index), [...options, outside], 'an index');
    const known_ = indices.get(index) ?? new Map<number, ChoiceVariable>();
    indices.set(index, known_.set(count, choice));
  }
  const found = settled(choice);
  if (found !== outside) return found;
  // As where the language throws: the run ends without an effect, and the call runs as it is written.
  throw new GraphBreak('throw', 'an array is written past its end');
}

/** By what is asked: the ways that follow from one question meet the same answer. */
const indices = new WeakMap<ScalarVariable, Map<number, ChoiceVariable>>();
const outside = known('outside');

function expectArray(t: Tracer, base: Variable) {
  const array = asArray(t, base);
  if (array) return array;
  throw new GraphBreak('unsupported-value', 'a number of the graph as key of no array');
}
