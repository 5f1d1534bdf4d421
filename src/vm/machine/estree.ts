import type {
  BinaryOperator,
  BlockStatement,
  Expression,
  Identifier,
  SpreadElement,
  Statement,
  UnaryOperator,
} from 'estree';
import type { Primitive, Reg } from '../bytecode/instructions.ts';

/** Factories for the nodes of generated code. */

export const id = (name: string): Identifier => ({ type: 'Identifier', name });

export const register = (index: Reg): Identifier => id(`r${index}`);

export function literal(value: Primitive): Expression {
  if (value === undefined) return unary('void', literal(0));
  if (typeof value === 'bigint') {
    return value < 0n ? unary('-', bigint(-value)) : bigint(value);
  }
  if (typeof value === 'number' && (value < 0 || Object.is(value, -0))) {
    return unary('-', literal(-value));
  }
  if (value === Number.POSITIVE_INFINITY) {
    return { type: 'BinaryExpression', operator: '/', left: literal(1), right: literal(0) };
  }
  return { type: 'Literal', value };
}

const bigint = (value: bigint): Expression => ({
  type: 'Literal',
  value,
  bigint: String(value),
  raw: `${value}n`,
});

export const unary = (operator: UnaryOperator, argument: Expression): Expression => ({
  type: 'UnaryExpression',
  operator,
  prefix: true,
  argument,
});

export const binary = (
  operator: BinaryOperator,
  left: Expression,
  right: Expression,
): Expression => ({ type: 'BinaryExpression', operator, left, right });

const isName = /^[A-Za-z_$][\w$]*$/;

/** `object.key`, or `object["key"]` if the key isn't an identifier. */
export function property(object: Expression, key: string): Expression {
  return isName.test(key)
    ? { type: 'MemberExpression', object, property: id(key), computed: false, optional: false }
    : element(object, literal(key));
}

export const element = (object: Expression, key: Expression): Expression => ({
  type: 'MemberExpression',
  object,
  property: key,
  computed: true,
  optional: false,
});

export const call = (
  callee: Expression,
  args: readonly (Expression | SpreadElement)[],
): Expression => ({ type: 'CallExpression', callee, arguments: [...args], optional: false });

export const array = (elements: readonly Expression[]): Expression => ({
  type: 'ArrayExpression',
  elements: [...elements],
});

export const assign = (left: Expression, right: Expression): Statement =>
  run({
    type: 'AssignmentExpression',
    operator: '=',
    left: left as Identifier,
    right,
  });

export const run = (expression: Expression): Statement => ({
  type: 'ExpressionStatement',
  expression,
});

export const block = (body: readonly Statement[]): BlockStatement => ({
  type: 'BlockStatement',
  body: [...body],
});

export const when = (test: Expression, then: readonly Statement[]): Statement => ({
  type: 'IfStatement',
  test,
  consequent: block(then),
});

export const returns = (argument: Expression): Statement => ({ type: 'ReturnStatement', argument });

/** `try { … } catch (error) { … }` */
export const tries = (body: readonly Statement[], caught: readonly Statement[]): Statement => ({
  type: 'TryStatement',
  block: block(body),
  handler: { type: 'CatchClause', param: id('error'), body: block(caught) },
});

export const throws = (argument: Expression): Statement => ({ type: 'ThrowStatement', argument });

/** `for (;;) { … }` */
export const loop = (label: string | undefined, body: readonly Statement[]): Statement => {
  const statement: Statement = { type: 'ForStatement', body: block(body) };
  return label === undefined ? statement : labelled(label, statement);
};

export const labelled = (label: string, body: Statement): Statement => ({
  type: 'LabeledStatement',
  label: id(label),
  body,
});

export const declare = (
  kind: 'const' | 'let',
  names: readonly (readonly [Identifier, Expression | undefined])[],
): Statement => ({
  type: 'VariableDeclaration',
  kind,
  declarations: names.map(([name, init]) => ({
    type: 'VariableDeclarator',
    id: name,
    init: init ?? null,
  })),
});
