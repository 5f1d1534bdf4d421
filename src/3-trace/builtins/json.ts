/** JSON of primitives and of known text. Other values are traced: `polyfills/json.ts`. */

import type { Code } from '../../vm/bytecode/code.ts';
import { newObject, setOwnProperty } from '../heap/made-objects.ts';
import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import {
  isCallable,
  isPrimitiveVariable,
  textOfPrimitive,
  withPrimitive,
} from '../values/to-primitive.ts';
import { codeBehind } from '../variables/code-of.ts';
import {
  isPrimitive,
  known,
  newArray,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import type { BuiltinTable } from './builtin.ts';

/** Creates a new object each time, as the native function does. */
function parsedVariable(t: Tracer, value: unknown): Variable {
  if (isPrimitive(value)) return known(value);
  if (Array.isArray(value)) return newArray(value.map((item) => parsedVariable(t, item)));
  const object = newObject(t);
  Object.keys(value as object).forEach((key) => {
    setOwnProperty(t, object, key, parsedVariable(t, (value as Record<string, unknown>)[key]));
  });
  return object;
}

/** V8 since Node 22 passes the source of parsed primitives to the reviver, as its third argument. */
const passesSource = 'rawJSON' in JSON;

/** Whether the reviver is a function that reads nothing but key and value. */
export function readsKeyAndValue(t: Tracer, reviver: Variable | undefined): boolean {
  if (!reviver || !isCallable(reviver)) return false;
  if (!passesSource) return true;
  const code = codeBehind(t.codeOf, reviver);
  return code !== undefined && !readsPast(code, 2);
}

const readsPast = ({ instructions }: Code, count: number): boolean =>
  instructions.some(
    (each) =>
      (each.op === 'arg' && each.index >= count) ||
      each.op === 'restArgs' ||
      each.op === 'arguments',
  );

export const jsonBuiltins: BuiltinTable = [
  [
    JSON.stringify,
    (t, _receiver, [value = undefinedVariable, replacer]) => {
      if (replacer || (value.kind !== 'constant' && value.kind !== 'symbolic')) return undefined;
      const constant = constantOf(t, value);
      return known(orRaise(t, () => JSON.stringify(constant)));
    },
  ],
  [
    JSON.parse,
    (t, _receiver, [text = undefinedVariable, reviver]) => {
      if (reviver && !(isPrimitiveVariable(reviver) && constantOf(t, reviver) === undefined)) {
        return undefined;
      }
      return withPrimitive(t, text, 'string', (primitive) => {
        const source = textOfPrimitive(t, primitive);
        return parsedVariable(
          t,
          orRaise(t, () => JSON.parse(source) as unknown),
        );
      });
    },
  ],
];
