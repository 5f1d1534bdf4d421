import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { bind } from '../../../../runtime/ops/core/bind.ts';
import { printOp } from '../../../../runtime/program/control-ops.ts';
import { mapText } from '../../../../runtime/program/number-text.ts';
import type { PrintPart, specialConstants } from '../../../../runtime/program/print-part.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { isPlainArray, isProxy } from '../../../guards/plain.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { changingNumber } from '../../control-flow/numbers/scalars.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { arrayElements, asArray, hasElement } from '../../values/arrays.ts';
import { resolved } from '../../variables/unions.ts';
import {
  absent,
  type DeviceScalar,
  hole,
  type NewArrayVariable,
  type NewObjectVariable,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';

const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;

/**
 * Prints a line on the console from within the program, if the whole function is one program; otherwise console calls
 * are native. Returns undefined for other calls. Refuses values that the line can't contain: if a function of the user's
 * in place of the console's were traced for them, its lines would come after those of the program.
 */
export function printInGraph(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): Variable | undefined {
  if (t.control.policy !== 'always') return undefined;
  const method = methods.find((name) => console[name] === fn);
  if (!method) return undefined;
  const operands: Tensor[] = [];
  const parts: PrintPart[] = [];
  for (const arg of args) {
    const part = partOf(t, arg, operands, []);
    if (!part)
      throw new GraphBreak(
        'native-call',
        `console.${method}() of a value that a line of the program can't contain`,
      );
    parts.push(part);
  }
  t.runApi(() => noGrad(() => bind(printOp, operands, { method, parts: JSON.stringify(parts) })));
  return undefinedVariable;
}

function scalarPart({ tensor, type }: DeviceScalar, operands: Tensor[]) {
  const index = operands.push(tensor) - 1;
  return type === 'boolean' ? { boolean: index } : { number: index };
}

/** `around`: the arrays and objects that contain the value. */
function partOf(
  t: Tracer,
  variable: Variable,
  operands: Tensor[],
  around: readonly Variable[],
): PrintPart | undefined {
  const arg = resolved(variable);
  if (around.includes(arg)) return undefined;
  const inside = (each: Variable) => partOf(t, each, operands, [...around, arg]);
  switch (arg.kind) {
    case 'tensor':
      return { value: operands.push(t.use(arg)) - 1 };
    case 'scalar':
      return scalarPart(arg, operands);
    case 'text':
      return { text: mapText(arg.parts, (value) => scalarPart(value, operands)) };
    case 'symbolic': {
      // The value changes between calls: a value guard would need a trace for each.
      const number = changingNumber(t, arg);
      return number ? scalarPart(number, operands) : { constant: constantOf(t, arg) as boolean };
    }
    case 'constant': {
      const constant = constantOf(t, arg);
      if (typeof constant === 'symbol' || typeof constant === 'bigint') return undefined;
      return constantPart(constant);
    }
    case 'newArray':
    case 'object': {
      const elements = plainElements(t, arg);
      const list = elements?.map(inside);
      return list?.every((each) => each !== undefined) ? { list } : undefined;
    }
    case 'newObject': {
      if (!isPlain(arg)) return undefined;
      const fields: [string, PrintPart][] = [];
      for (const [name, entry] of arg.entries) {
        const part = inside(entry);
        if (!part) return undefined;
        fields.push([name, part]);
      }
      return { fields };
    }
    default:
      return undefined;
  }
}

function constantPart(constant: string | number | boolean | null | undefined): PrintPart {
  const isWritable = constant === null || Number.isFinite(constant) || typeof constant !== 'number';
  if (constant !== undefined && isWritable && !Object.is(constant, -0)) return { constant };
  const name = Object.is(constant, -0) ? '-0' : String(constant);
  return { special: name as keyof typeof specialConstants };
}

/** Returns the elements of an array without holes and other properties; undefined for other values. */
function plainElements(
  t: Tracer,
  array: NewArrayVariable | ObjectVariable,
): readonly Variable[] | undefined {
  if (array.kind === 'object') {
    if (isProxy(array.value) || !isPlainArray(array.value)) return undefined;
  } else {
    const { elements, growable, extended, own, named, isArguments } = array;
    if (growable || extended || own || named || isArguments) return undefined;
    if (elements.includes(hole) || elements.includes(absent)) return undefined;
  }
  const known = asArray(t, array);
  const elements = known && arrayElements(t, known);
  const isHole = (each: Variable, i: number) =>
    each.kind === 'constant' && each.value === undefined && !hasElement(t, known!, i);
  return elements?.some(isHole) ? undefined : elements;
}

/** Returns whether the object has nothing but fields that every path creates in the same order. */
const isPlain = ({ entries, prototype, traits, errorType, order }: NewObjectVariable): boolean =>
  prototype === undefined &&
  !traits &&
  !errorType &&
  !order &&
  ![...entries.values()].includes(absent) &&
  !entries.has('__proto__');
