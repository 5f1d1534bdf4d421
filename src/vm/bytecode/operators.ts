import { assertNever } from '../../../runtime/errors/invariant.ts';
import type { BinaryOperator, UnaryOperator } from './instructions.ts';

/** The language's operators as functions, for any executor. */

export function unary(operator: UnaryOperator, value: unknown): unknown {
  switch (operator) {
    case '-':
      return -(value as number);
    case '+':
      return +(value as number);
    case '!':
      return !value;
    case '~':
      return ~(value as number);
    case 'typeof':
      return typeof value;
    case 'void':
      return undefined;
    default:
      return assertNever(operator, 'unary operator');
  }
}

export function binary(operator: BinaryOperator, left: unknown, right: unknown): unknown {
  // Either operand may be any value: these are the built-in operators.
  const a = left as number;
  const b = right as number;
  switch (operator) {
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's operator
      return a == b;
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: the user's operator
      return a != b;
    case '===':
      return a === b;
    case '!==':
      return a !== b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
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
    case 'in':
      return (left as PropertyKey) in (right as object);
    case 'instanceof':
      return left instanceof (right as new () => unknown);
    default:
      return assertNever(operator, 'binary operator');
  }
}
