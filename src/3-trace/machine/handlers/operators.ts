import { assertNever } from '../../../../runtime/errors/invariant.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { BinaryOperator, Primitive } from '../../../vm/bytecode/instructions.ts';
import { binary, unary } from '../../../vm/bytecode/operators.ts';
import { growableIn } from '../../control-flow/lists/growable-array.ts';
import { ask, typeOfUnion } from '../../control-flow/merge/union-operators.ts';
import { scalarBinary, scalarUnary } from '../../control-flow/numbers/scalars.ts';
import { concatenated, textOfAll } from '../../control-flow/numbers/text-operations.ts';
import { orRaise } from '../../state/exceptions.ts';
import { guardNumbers } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  constantOf,
  expectFewTexts,
  expectNoneFromBreak,
  truthiness,
  typeOf,
} from '../../state/value-guards.ts';
import { looselyEqual, strictlyEqual } from '../../values/equality.ts';
import { isInGrowable } from '../../values/lists.ts';
import { countedOn, deferOperator, deferToRun } from '../../values/numbers.ts';
import { isInstance } from '../../values/objects/instances.ts';
import { hasProperty } from '../../values/property-keys.ts';
import { withPrimitive, withPrimitives, withPropertyKey } from '../../values/to-primitive.ts';
import { elementAtOffset } from '../../values/varying-array.ts';
import { textBreak } from '../../variables/text-variable.ts';
import { specialized } from '../../variables/unions.ts';
import { known, type Variable } from '../../variables/variable.ts';
import { noteComparison } from './control.ts';
import { get, type Handlers, set } from './handler.ts';

/** Operators on JavaScript values. Operators on tensors have no meaning in JavaScript and run natively. */
export const operatorHandlers: Handlers<
  'unary' | 'binary' | 'toNumeric' | 'increment' | 'toPropertyKey' | 'template'
> = {
  unary: (t, frame, { dst, operator, src }) => {
    const value = get(frame, src);
    if (value.kind === 'union' && operator === 'typeof') {
      return set(frame, dst, typeOfUnion(t, value));
    }
    if (value.kind === 'union' && operator === '!') {
      return set(
        frame,
        dst,
        ask(t, value, (option) => !truthiness(t, option)),
      );
    }
    const operand = specialized(value);
    if (operand.kind === 'scalar') return set(frame, dst, scalarUnary(t, operator, operand));
    switch (operator) {
      case '!':
        if (operand.kind === 'tensor') noteComparison(t, frame, operand);
        return set(frame, dst, deferToRun(t, '!', [operand]) ?? known(!truthiness(t, operand)));
      case 'typeof':
        return set(frame, dst, known(typeOf(t, operand)));
      case 'void':
        return set(frame, dst, known(undefined));
      case '-':
      case '+':
      case '~': {
        return set(
          frame,
          dst,
          withPrimitive(t, operand, 'number', (primitive) => numberUnary(t, operator, primitive)),
        );
      }
      default:
        return assertNever(operator, 'unary operator');
    }
  },
  binary: (t, frame, { dst, operator, left, right }) => {
    const compared = compareUnion(t, operator, get(frame, left), get(frame, right));
    if (compared) return set(frame, dst, compared);
    const operands = [specialized(get(frame, left)), specialized(get(frame, right))] as const;
    const [a, b] = operands;
    if (operator === 'in' || operator === 'instanceof') expectObject(t, operator, a, b);
    if (operator === 'in') return set(frame, dst, hasKey(t, a, b));
    if (operator === 'instanceof') return set(frame, dst, isInstance(t, a, b));
    if (isEquality(operator)) return set(frame, dst, combine(t, operator, a, b));
    const hint = operator === '+' ? 'default' : 'number';
    const result = withPrimitives(t, operands, hint, ([x, y]) => combine(t, operator, x!, y!));
    set(frame, dst, result);
  },
  toNumeric: (t, frame, { dst, src }) => {
    set(
      frame,
      dst,
      withPrimitive(t, get(frame, src), 'number', (operand) => numeric(t, operand)),
    );
  },
  increment: (t, frame, { dst, src, by }) => {
    const stepped = withPrimitive(t, get(frame, src), 'number', (operand) =>
      incremented(t, operand, by),
    );
    set(frame, dst, stepped);
  },
  toPropertyKey: (t, frame, { dst, src }) => {
    set(
      frame,
      dst,
      withPrimitive(t, get(frame, src), 'string', (primitive) => {
        const value = constantOf(t, primitive);
        return known(typeof value === 'symbol' ? value : String(value));
      }),
    );
  },
  template: (t, frame, { dst, strings, values, inner }) => {
    const operands = values.map((reg) => get(frame, reg));
    const [only] = operands;
    // The enclosing template converts the number to text together with its other parts.
    if (inner && only?.kind === 'symbolic') return set(frame, dst, only);
    const joined = withPrimitives(t, operands, 'string', (primitives) => {
      const pieces = strings.flatMap((text, i) => [known(text), ...primitives.slice(i, i + 1)]);
      const text = textOfAll(t, pieces);
      if (text) return text;
      expectFewTexts(t, primitives);
      const parts = primitives.map((value) => String(hostNumber(t, value)));
      return known(strings.map((text, i) => text + (parts[i] ?? '')).join(''));
    });
    set(frame, dst, joined);
  },
};

/** Combines primitives; equality has its own rules if one side isn't a primitive. */
function combine(t: Tracer, operator: BinaryOperator, a: Variable, b: Variable): Variable {
  const inProgram = textBinary(t, operator, a, b) ?? scalarBinary(t, operator, a, b);
  if (inProgram) return inProgram;
  const symbolic = count(t, operator, a, b) ?? deferOperator(t, operator, [a, b]);
  if (symbolic) return symbolic;
  const isCompared = isEquality(operator);
  return known(isCompared ? equality(t, operator, a, b) : arithmetic(t, operator, a, b));
}

function numeric(t: Tracer, operand: Variable): Variable {
  if (operand.kind === 'scalar') return scalarUnary(t, '+', operand);
  if (operand.kind === 'symbolic' && typeof operand.value === 'number') {
    guardNumbers(t, operand);
    return operand;
  }
  const value = hostNumber(t, operand);
  return known(typeof value === 'bigint' ? value : Number(value));
}

function incremented(t: Tracer, operand: Variable, by: number): Variable {
  const later =
    scalarBinary(t, '+', operand, known(by)) ??
    countedOn(t, operand, by) ??
    deferToRun(t, '+', [operand, known(by)]);
  if (later) return later;
  const value = hostNumber(t, operand);
  return known(typeof value === 'bigint' ? value + BigInt(by) : Number(value) + by);
}

function numberUnary(t: Tracer, operator: '-' | '+' | '~', operand: Variable): Variable {
  if (operand.kind === 'scalar') return scalarUnary(t, operator, operand);
  const symbolic = deferToRun(t, unaryNames[operator], [operand]);
  if (symbolic) return symbolic;
  const value = hostNumber(t, operand) as number;
  return known(orRaise(t, () => unary(operator, value) as number));
}

/** With text that contains data-dependent numbers, `+` is the only supported operator. */
function textBinary(
  t: Tracer,
  operator: BinaryOperator,
  a: Variable,
  b: Variable,
): Variable | undefined {
  const text = operator === '+' ? concatenated(t, a, b) : undefined;
  const isText = (each: Variable) => each.kind === 'constant' && typeof each.value === 'string';
  if (operator === '+' && !text && (isText(a) || isText(b))) expectFewTexts(t, [a, b]);
  const dynamicText = [a, b].find((each) => each.kind === 'text');
  if (text || dynamicText?.kind !== 'text') return text;
  throw textBreak(dynamicText, `is an operand of ${operator}`);
}

const unaryNames = { '-': 'negate', '+': 'Number', '~': '~' } as const;

/** Returns a primitive operand. If the graph may not break, a number from a break is a parameter of a generator. */
function hostNumber(t: Tracer, variable: Variable): Primitive {
  if (variable.kind === 'constant' && typeof variable.value === 'symbol') {
    throw new GraphBreak('throw', 'a symbol is computed on');
  }
  expectNoneFromBreak(t, [variable]);
  return constantOf(t, variable) as Primitive;
}

/** Adds a known number to a counter without reading the counter's value. */
function count(
  t: Tracer,
  operator: BinaryOperator,
  a: Variable,
  b: Variable,
): Variable | undefined {
  if (operator !== '+' && operator !== '-') return undefined;
  if (b.kind !== 'constant' || b.source || typeof b.value !== 'number') return undefined;
  return countedOn(t, a, operator === '+' ? b.value : -b.value);
}

type Equality = '==' | '!=' | '===' | '!==';

function isEquality(operator: BinaryOperator): operator is Equality {
  return operator === '===' || operator === '!==' || operator === '==' || operator === '!=';
}

/** Compares a union with a value by the index of its option. */
function compareUnion(
  t: Tracer,
  operator: BinaryOperator,
  a: Variable,
  b: Variable,
): Variable | undefined {
  if (!isEquality(operator) || (a.kind === 'union') === (b.kind === 'union')) return undefined;
  const [union, other] = a.kind === 'union' ? [a, b] : [b, a];
  if (union.kind !== 'union' || other.kind === 'scalar') return undefined;
  return ask(t, union, (option) => equality(t, operator, option, other));
}

function equality(t: Tracer, operator: Equality, a: Variable, b: Variable): boolean {
  if (isSymbol(a) && b.kind === 'constant') return isEqualSymbol(t, operator, a, b);
  if (isSymbol(b) && a.kind === 'constant') return isEqualSymbol(t, operator, b, a);
  if (a.kind === 'constant' && b.kind === 'constant') {
    return arithmetic(t, operator, a, b) as boolean;
  }
  const strict = operator === '===' || operator === '!==';
  const equal = strict ? strictlyEqual(t, a, b) : looselyEqual(t, a, b);
  return equal !== (operator === '!=' || operator === '!==');
}

const isSymbol = (variable: Variable): boolean =>
  variable.kind === 'constant' && typeof variable.value === 'symbol';

/** Compares a symbol with another primitive: symbols are never converted. */
function isEqualSymbol(t: Tracer, operator: Equality, symbol: Variable, other: Variable): boolean {
  const isEqual = constantOf(t, symbol) === constantOf(t, other);
  return isEqual === (operator === '==' || operator === '===');
}

function arithmetic(t: Tracer, operator: BinaryOperator, a: Variable, b: Variable): Primitive {
  // No destructuring: user code may have replaced the array iterator.
  const x = hostNumber(t, a);
  const y = hostNumber(t, b);
  // May throw, for example if BigInts and numbers are mixed.
  return orRaise(t, () => compute(operator, x, y));
}

function compute(operator: BinaryOperator, x: Primitive, y: Primitive): Primitive {
  return binary(operator, x, y) as Primitive;
}

/** Throws the operators' error for a primitive right operand. The message of `in` contains the key. */
function expectObject(t: Tracer, operator: 'in' | 'instanceof', a: Variable, b: Variable): void {
  if (!isHostPrimitive(b) || (operator === 'in' && !isHostPrimitive(a))) return;
  const key = operator === 'in' ? constantOf(t, a) : undefined;
  const value = constantOf(t, b);
  orRaise(t, () => binary(operator, key, value));
}

const isHostPrimitive = ({ kind }: Variable): boolean => kind === 'constant' || kind === 'symbolic';

function hasKey(t: Tracer, variable: Variable, object: Variable): Variable {
  const [key, base] = [specialized(variable), specialized(object)];
  const growable = key.kind === 'scalar' ? growableIn(t, base) : undefined;
  if (key.kind === 'scalar' && growable) return known(isInGrowable(t, growable, key));
  if (t.rows?.iteration?.element(base, key)) return known(true);
  if (key.kind === 'symbolic' && elementAtOffset(t, base, key)) return known(true);
  return withPropertyKey(t, key, (name) => hasProperty(t, base, name, false));
}
