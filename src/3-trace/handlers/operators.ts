import { assertNever } from '../../../runtime/errors/invariant.ts';
import type { BinaryOperator, Primitive } from '../../bytecode/instructions.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../tracer.ts';
import { known, type Variable } from '../variable.ts';
import { get, type Handlers, set } from './handler.ts';
import { typeofVariable } from './values.ts';

/** Operators on host values. Operators on tensors have no meaning in JavaScript and run natively. */
export const operatorHandlers: Handlers<
  'unary' | 'binary' | 'toNumeric' | 'increment' | 'toPropertyKey' | 'template'
> = {
  unary: (t, frame, { dst, operator, src }) => {
    const operand = get(frame, src);
    switch (operator) {
      case '!':
        return set(frame, dst, known(!t.truthiness(operand)));
      case 'typeof':
        return set(frame, dst, known(typeofVariable(t, operand)));
      case 'void':
        return set(frame, dst, known(undefined));
      case '-':
        return set(frame, dst, known(-(hostNumber(t, operand) as number)));
      case '+':
        return set(frame, dst, known(+(hostNumber(t, operand) as number)));
      case '~':
        return set(frame, dst, known(~(hostNumber(t, operand) as number)));
      default:
        return assertNever(operator, 'unary operator');
    }
  },
  binary: (t, frame, { dst, operator, left, right }) => {
    const [a, b] = [get(frame, left), get(frame, right)];
    const result = isEquality(operator)
      ? equality(t, operator, a, b)
      : compute(operator, hostNumber(t, a), hostNumber(t, b));
    set(frame, dst, known(result));
  },
  toNumeric: (t, frame, { dst, src }) => {
    const value = hostNumber(t, get(frame, src));
    set(frame, dst, known(typeof value === 'bigint' ? value : Number(value)));
  },
  increment: (t, frame, { dst, src, by }) => {
    const value = hostNumber(t, get(frame, src));
    set(frame, dst, known(typeof value === 'bigint' ? value + BigInt(by) : Number(value) + by));
  },
  toPropertyKey: (t, frame, { dst, src }) => {
    const value = t.constantOf(get(frame, src));
    set(frame, dst, known(typeof value === 'symbol' ? value : String(value)));
  },
  template: (t, frame, { dst, strings, values }) => {
    const parts = values.map((reg) => String(hostNumber(t, get(frame, reg))));
    set(frame, dst, known(strings.map((text, i) => text + (parts[i] ?? '')).join('')));
  },
};

/**
 * A primitive that is computed on. A number that came out of a break differs from run to run: while
 * the graph is still empty it is computed natively, so that no entry depends on it.
 */
function hostNumber(t: Tracer, variable: Variable): Primitive {
  if (variable.kind === 'constant' && typeof variable.value === 'symbol') {
    throw new GraphBreak('throw', 'a symbol is computed on');
  }
  const fromBreak = variable.kind === 'constant' && variable.source?.kind === 'register';
  if (fromBreak && typeof variable.value === 'number' && t.builder.opCount === 0) {
    throw new GraphBreak('host-value', 'a number read since the last graph');
  }
  return t.constantOf(variable) as Primitive;
}

type Equality = '==' | '!=' | '===' | '!==';

function isEquality(operator: BinaryOperator): operator is Equality {
  return operator === '===' || operator === '!==' || operator === '==' || operator === '!=';
}

function equality(t: Tracer, operator: Equality, a: Variable, b: Variable): boolean {
  const negated = operator === '!=' || operator === '!==';
  if (a.kind === 'constant' && b.kind === 'constant') {
    return compute(operator, hostNumber(t, a), hostNumber(t, b)) as boolean;
  }
  if (a.kind === 'constant' || b.kind === 'constant') {
    const [constant, other] = a.kind === 'constant' ? [a, b] : [b as typeof a, a];
    // An object equals a primitive only loosely, through conversion that user code may define.
    const value = t.constantOf(constant);
    const strict = operator === '===' || operator === '!==' || value === null;
    if (!strict && value !== undefined) {
      throw new GraphBreak('unsupported-value', `an object ${operator} a primitive`);
    }
    t.truthiness(other);
    return negated;
  }
  return (identical(t, a, b) as boolean) !== negated;
}

function identical(t: Tracer, a: Variable, b: Variable): boolean {
  if (a === b) return true;
  if (isOuter(a) && isOuter(b)) {
    throw new GraphBreak('unsupported-value', 'two objects from outside are compared');
  }
  t.truthiness(a);
  t.truthiness(b);
  // What was made inside is nothing else.
  return false;
}

function isOuter(variable: Variable): boolean {
  return 'source' in variable && variable.source !== null;
}

function compute(operator: BinaryOperator, x: Primitive, y: Primitive): Primitive {
  // The operands are primitives: the host's own operators give the language's own results.
  const [a, b] = [x as number, y as number];
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case '**':
      return a ** b;
    case '<<':
      return a << b;
    case '>>':
      return a >> b;
    case '>>>':
      return a >>> b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '&':
      return a & b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    case '===':
      return a === b;
    case '!==':
      return a !== b;
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's operator.
      return a == b;
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's operator.
      return a != b;
    case 'in':
    case 'instanceof':
      throw new GraphBreak('unsupported-value', `the operator ${operator}`);
    default:
      return assertNever(operator, 'binary operator');
  }
}
