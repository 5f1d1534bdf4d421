import type { Code } from '../bytecode/code.ts';
import type { Opcode } from '../bytecode/instructions.ts';
import {
  array,
  block,
  call,
  declare,
  type Expression,
  element,
  expression,
  functionOf,
  id,
  literal,
  property,
  returns,
  type Statement,
} from './code-text.ts';
import { argumentInList } from './machine-statements.ts';
import { bodyText, programText } from './machine-text.ts';

/** Instructions that access the frame. */
const needFrame: ReadonlySet<Opcode> = new Set<Opcode>([
  'closure',
  'class',
  'intrinsic',
  'arguments',
  'newTarget',
  'getSuper',
  'getSuperElem',
]);
const needList: ReadonlySet<Opcode> = new Set<Opcode>(['arguments', 'restArgs']);

/**
 * Returns whether calls of the code can be calls of an ordinary function, because its frames never have to be
 * saved.
 */
export const runsWithoutFrame = ({ kind, isAsync, isGenerator }: Code): boolean =>
  !isAsync && !isGenerator && (kind === 'arrow' || kind === 'function' || kind === 'method');

/**
 * In: verified code that `runsWithoutFrame`. Out: the text of a function body with the parameters C (the code) and
 * H (`machineHelpers`) that returns the maker of its functions:
 *   return function (closure) { const S = closure.scope, …; return { ["name"]: (a0, a1) => { … } }["name"] }
 * Guarantees: a call costs as much as a call of the user's function, except for instructions that need a frame.
 * Names and parameters are the user's where possible.
 */
export function functionText(code: Code, marksPcs = false): string {
  const uses = (ops: ReadonlySet<Opcode>) => code.instructions.some(({ op }) => ops.has(op));
  const hasFrame = uses(needFrame);
  const hasList = uses(needList);
  const { variables, body } = bodyText(code, [0], {
    marksPlace: hasFrame,
    marksPcs,
    start: literal(0),
    argument: (index) => (hasList ? argumentInList(index) : id(`a${index}`)),
    held: () => undefined,
  });
  const isArrow = code.kind === 'arrow';
  const closure = id('closure');
  const around = property(closure, 'lexicalThis');
  const expression = named(
    code,
    hasList ? '...A' : parameters(code),
    block([
      ...(isArrow ? [] : [declare('const', [[id('T'), id('this')]])]),
      ...(hasFrame ? [frameOf(code, hasList)] : []),
      variables,
      ...body,
    ]),
  );
  const maker = functionOf(
    [closure],
    block([
      declare('const', [
        [id('S'), property(closure, 'scope')],
        [id('K'), property(closure, 'cells')],
        ...(isArrow ? [[id('T'), optional(around, 'value')] as const] : []),
      ]),
      returns(expression),
    ]),
  );
  return programText(code, maker);
}

/**
 * Returns as many parameters as `length` says; further parameters have defaults, so that `length` doesn't count
 * them.
 */
function parameters(code: Code): string {
  let count = code.parameterCount;
  for (const each of code.instructions) {
    if (each.op === 'arg') count = Math.max(count, each.index + 1);
  }
  return Array.from({ length: count }, (_, index) =>
    index < code.parameterCount ? `a${index}` : `a${index} = ${literal(undefined)}`,
  ).join(', ');
}

function frameOf(code: Code, hasList: boolean): Statement {
  const target =
    code.kind === 'arrow'
      ? optional(property(id('closure'), 'lexicalThis'), 'newTarget')
      : code.kind === 'method'
        ? literal(undefined)
        : expression('new.target');
  const args = [id('closure'), id('T'), hasList ? id('A') : array([]), target];
  return declare('const', [[id('F'), call(property(id('H'), 'frame'), args)]]);
}

const optional = (object: Expression, key: string): Expression => expression(`${object}?.${key}`);

/** The engine names a function after its key; a computed key is always an ordinary key. */
function named({ kind, name }: Code, parameters: string, body: Statement): Expression {
  const key = literal(name);
  const text = {
    arrow: `[${key}]: (${parameters}) => ${body}`,
    method: `[${key}](${parameters}) ${body}`,
    function: `[${key}]: function (${parameters}) ${body}`,
  }[kind as 'arrow' | 'method' | 'function'];
  return element(expression(`{ ${text} }`), key);
}
