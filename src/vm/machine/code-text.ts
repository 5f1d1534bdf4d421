import type { Primitive, Reg } from '../bytecode/instructions.ts';

/** Texts of generated code. Expressions are in parentheses wherever a surrounding operator could split them. */

declare const kind: unique symbol;
export type Expression = string & { readonly [kind]: 'expression' };
export type Statement = string & { readonly [kind]: 'statement' };

export const expression = (text: string): Expression => text as Expression;
export const statement = (text: string): Statement => text as Statement;

export const id = expression;

export const register = (index: Reg): Expression => id(`r${index}`);

export function literal(value: Primitive): Expression {
  switch (typeof value) {
    case 'undefined':
      return expression('void 0'); // names may be the user's
    case 'string':
      return expression(JSON.stringify(value));
    case 'bigint':
      return value < 0n ? unary('-', literal(-value)) : expression(`${value}n`);
    case 'number':
      return number(value);
    default:
      return expression(String(value));
  }
}

function number(value: number): Expression {
  if (value < 0 || Object.is(value, -0)) return unary('-', number(-value));
  if (Number.isFinite(value)) return expression(String(value));
  return binary('/', number(Number.isNaN(value) ? 0 : 1), number(0));
}

/** `(typeof argument)` */
export const unary = (operator: string, argument: Expression): Expression =>
  expression(`(${operator} ${argument})`);

/** `(left < right)` */
export const binary = (operator: string, left: Expression, right: Expression): Expression =>
  expression(`(${left} ${operator} ${right})`);

export const conditional = (
  test: Expression,
  consequent: Expression,
  alternate: Expression,
): Expression => expression(`(${test} ? ${consequent} : ${alternate})`);

const isName = /^[A-Za-z_$][\w$]*$/;

/** `object.key`, or `object["key"]` if the key isn't an identifier. */
export const property = (object: Expression, key: string): Expression =>
  isName.test(key) ? expression(`${object}.${key}`) : element(object, literal(key));

export const element = (object: Expression, key: Expression): Expression =>
  expression(`${object}[${key}]`);

export const call = (callee: Expression, args: readonly Expression[]): Expression =>
  expression(`${callee}(${args.join(', ')})`);

export const array = (elements: readonly Expression[]): Expression =>
  expression(`[${elements.join(', ')}]`);

export const assign = (left: Expression, right: Expression): Statement =>
  statement(`${left} = ${right};`);

export const run = (expression: Expression): Statement => statement(`${expression};`);

export function block(body: readonly Statement[]): Statement {
  // Appended one by one, so that the engine doesn't copy the contents for every enclosing block.
  let text = '{\n';
  for (const each of body) text += `${each}\n`;
  return statement(`${text}}`);
}

export const when = (test: Expression, then: readonly Statement[]): Statement =>
  statement(`if (${test}) ${block(then)}`);

export const returns = (argument: Expression): Statement => statement(`return ${argument};`);

/** `try { … } catch (error) { … }` */
export const tries = (body: readonly Statement[], caught: readonly Statement[]): Statement =>
  statement(`try ${block(body)} catch (error) ${block(caught)}`);

export const throws = (argument: Expression): Statement => statement(`throw ${argument};`);

/** `for (;;) { … }` */
export const loop = (body: readonly Statement[]): Statement => statement(`for (;;) ${block(body)}`);

export const labelled = (label: string, body: Statement): Statement =>
  statement(`${label}: ${body}`);

/** Continues the loop, or the innermost one if there is no label. */
export const continues = (label = ''): Statement => statement(`continue ${label};`);

export const breaks = (label: string): Statement => statement(`break ${label};`);

/** A value and its statements in a `switch`; undefined for all other values. */
export interface Case {
  readonly test: number | undefined;
  readonly body: readonly Statement[];
}

/** `switch (value) { case 0: … }`, where statements continue with the next case. */
export function switches(value: Expression, cases: readonly Case[]): Statement {
  const body = cases.flatMap(({ test, body }) => [
    statement(test === undefined ? 'default:' : `case ${test}:`),
    ...body,
  ]);
  return statement(`switch (${value}) ${block(body)}`);
}

export const declare = (
  kind: 'const' | 'let',
  names: readonly (readonly [Expression, Expression | undefined])[],
): Statement => {
  const parts = names.map(([name, value]) => (value === undefined ? name : `${name} = ${value}`));
  return statement(`${kind} ${parts.join(', ')};`);
};

/** `function (parameter) { … }`, in parentheses. */
export const functionOf = (parameters: readonly Expression[], body: Statement): Expression =>
  expression(`(function (${parameters.join(', ')}) ${body})`);
