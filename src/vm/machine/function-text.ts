import type { Expression, Function as FunctionNode, Pattern, Statement } from 'estree';
import type { Code } from '../bytecode/code.ts';
import type { Opcode } from '../bytecode/instructions.ts';
import { block, call, declare, element, id, literal, property, returns } from './estree.ts';
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
export function functionText(code: Code): string {
  const uses = (ops: ReadonlySet<Opcode>) => code.instructions.some(({ op }) => ops.has(op));
  const hasFrame = uses(needFrame);
  const hasList = uses(needList);
  const { variables, body } = bodyText(code, [0], {
    marksPlace: hasFrame,
    start: literal(0),
    argument: (index) => (hasList ? argumentInList(index) : id(`a${index}`)),
    held: () => undefined,
  });
  const isArrow = code.kind === 'arrow';
  const closure = id('closure');
  const around = property(closure, 'lexicalThis');
  const made: FunctionNode = {
    type: isArrow ? 'ArrowFunctionExpression' : 'FunctionExpression',
    ...(isArrow ? { expression: false } : { id: null }),
    params: hasList ? [{ type: 'RestElement', argument: id('A') }] : parameters(code),
    body: block([
      ...(isArrow ? [] : [declare('const', [[id('T'), { type: 'ThisExpression' }]])]),
      ...(hasFrame ? [frameOf(code, hasList)] : []),
      variables,
      ...body,
    ]),
  } as FunctionNode;
  const maker: Expression = {
    type: 'FunctionExpression',
    id: null,
    params: [closure],
    body: block([
      declare('const', [
        [id('S'), property(closure, 'scope')],
        [id('K'), property(closure, 'cells')],
        ...(isArrow ? [[id('T'), optional(around, 'value')] as const] : []),
      ]),
      returns(named(code, made as Expression)),
    ]),
  };
  return programText(code, maker);
}

/**
 * Returns as many parameters as `length` says; further parameters have defaults, so that `length` doesn't count
 * them.
 */
function parameters(code: Code): Pattern[] {
  let count = code.parameterCount;
  for (const each of code.instructions) {
    if (each.op === 'arg') count = Math.max(count, each.index + 1);
  }
  return Array.from({ length: count }, (_, index): Pattern => {
    const left = id(`a${index}`);
    const isCounted = index < code.parameterCount;
    return isCounted ? left : { type: 'AssignmentPattern', left, right: literal(undefined) };
  });
}

function frameOf(code: Code, hasList: boolean): Statement {
  const target: Expression =
    code.kind === 'arrow'
      ? optional(property(id('closure'), 'lexicalThis'), 'newTarget')
      : { type: 'MetaProperty', meta: id('new'), property: id('target') };
  const list: Expression = hasList ? id('A') : { type: 'ArrayExpression', elements: [] };
  const args = [id('closure'), id('T'), list, code.kind === 'method' ? literal(undefined) : target];
  return declare('const', [[id('F'), call(property(id('H'), 'frame'), args)]]);
}

const optional = (object: Expression, key: string): Expression => ({
  type: 'ChainExpression',
  expression: {
    type: 'MemberExpression',
    object,
    property: id(key),
    computed: false,
    optional: true,
  },
});

/** The engine names a function after its key; a computed key is always an ordinary key. */
function named(code: Code, made: Expression): Expression {
  const key = literal(code.name);
  const object: Expression = {
    type: 'ObjectExpression',
    properties: [
      {
        type: 'Property',
        kind: 'init',
        key,
        value: made,
        computed: true,
        shorthand: false,
        method: code.kind === 'method',
      },
    ],
  };
  return element(object, key);
}
