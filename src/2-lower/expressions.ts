import type { AnyNode, Expression, Literal } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { BinaryOperator, Primitive, Reg } from '../vm/bytecode/instructions.ts';
import { lowerAssignment, lowerUpdate } from './assignments.ts';
import { lowerCall, lowerNew, lowerTagged } from './calls.ts';
import { lowerYield } from './generators.ts';
import { lowerArray, lowerObject, lowerTemplate } from './literals.ts';
import type { ExpressionRule, Lowering } from './lowering.ts';
import { lowerChain, lowerDelete, lowerMember, lowerThis, privateKey } from './members.ts';
import { spanOf } from './syntax/nodes.ts';

/** Rejected before lowering starts. */
const refused = (_lowering: Lowering, node: AnyNode): never => {
  invariant(false, `${node.type} was refused`);
};

const expressionRules: { readonly [T in Expression['type']]: ExpressionRule<T> } = {
  Identifier: (l, node, dst) => l.variables.read(node, dst),
  Literal: (l, node, dst) => lowerLiteral(l, node, dst),
  ThisExpression: (l, node, dst) => lowerThis(l, node, dst),
  MetaProperty(l, node, dst = l.code.temp()) {
    l.code.emit({ op: 'newTarget', dst }, spanOf(node));
    return dst;
  },
  ArrayExpression: lowerArray,
  ObjectExpression: lowerObject,
  TemplateLiteral: lowerTemplate,
  FunctionExpression: (l, node, dst) =>
    l.closure({ node, kind: 'function', name: node.id?.name ?? '' }, dst),
  ArrowFunctionExpression: (l, node, dst) => l.closure({ node, kind: 'arrow', name: '' }, dst),
  UnaryExpression(l, node, dst = l.code.temp()) {
    const { operator, argument } = node;
    const span = spanOf(node);
    const mark = l.code.mark();
    if (operator === 'delete') {
      lowerDelete(l, node, dst);
    } else if (operator === 'void') {
      l.effect(argument);
      l.code.emit({ op: 'const', dst, value: undefined }, span);
    } else if (
      operator === 'typeof' &&
      argument.type === 'Identifier' &&
      l.variables.isFree(argument)
    ) {
      l.code.emit({ op: 'typeofFree', dst, name: argument.name }, span);
    } else if (
      operator === '-' &&
      argument.type === 'Literal' &&
      typeof argument.value === 'number'
    ) {
      l.code.emit({ op: 'const', dst, value: -argument.value }, span);
    } else {
      l.code.emit({ op: 'unary', dst, operator, src: l.expression(argument) }, span);
    }
    l.code.release(mark);
    return dst;
  },
  BinaryExpression(l, node, dst = l.code.temp()) {
    const mark = l.code.mark();
    if (node.left.type === 'PrivateIdentifier') {
      const object = l.expression(node.right);
      const { register, privateName } = privateKey(l, node.left);
      if (register !== undefined) {
        l.code.intrinsic('hasPrivate', [object, register], spanOf(node), dst);
      } else l.code.emit({ op: 'hasPrivate', dst, object, name: privateName }, spanOf(node));
      l.code.release(mark);
      return dst;
    }
    const left = l.operand(node.left, node.end);
    const right = l.expression(node.right);
    const operator = node.operator as BinaryOperator;
    l.code.emit({ op: 'binary', dst, operator, left, right }, spanOf(node));
    l.code.release(mark);
    return dst;
  },
  LogicalExpression(l, node, dst = l.code.temp()) {
    const end = l.code.label();
    l.expression(node.left, dst);
    const span = spanOf(node);
    if (node.operator === '??') {
      const otherwise = l.code.label();
      l.code.jumpOn('jumpIfNullish', dst, otherwise, span);
      l.code.jump(end, span);
      l.code.bind(otherwise);
    } else l.code.jumpOn(node.operator === '||' ? 'jumpIf' : 'jumpIfNot', dst, end, span);
    l.expression(node.right, dst);
    l.code.bind(end);
    return dst;
  },
  ConditionalExpression(l, node, dst = l.code.temp()) {
    const otherwise = l.code.label();
    const end = l.code.label();
    l.condition(node.test, otherwise, false);
    l.expression(node.consequent, dst);
    l.code.jump(end, spanOf(node));
    l.code.bind(otherwise);
    l.expression(node.alternate, dst);
    l.code.bind(end);
    return dst;
  },
  SequenceExpression(l, node, dst) {
    const last = node.expressions.length - 1;
    for (const expression of node.expressions.slice(0, last)) l.effect(expression);
    return l.expression(node.expressions[last]!, dst);
  },
  AssignmentExpression: lowerAssignment,
  UpdateExpression: (l, node, dst) => lowerUpdate(l, node, dst, true),
  MemberExpression: lowerMember,
  ChainExpression: lowerChain,
  CallExpression: lowerCall,
  NewExpression: lowerNew,
  TaggedTemplateExpression: lowerTagged,
  ParenthesizedExpression: (l, node, dst) => l.expression(node.expression, dst),
  AwaitExpression(l, node, dst = l.code.temp()) {
    const mark = l.code.mark();
    l.code.emit({ op: 'await', dst, src: l.expression(node.argument) }, spanOf(node));
    l.code.release(mark);
    return dst;
  },
  ClassExpression: (l, node, dst) => l.classOf(node, node.id?.name ?? '', dst),
  YieldExpression: lowerYield,
  ImportExpression: refused,
};

export function lowerExpression(l: Lowering, node: Expression, dst?: Reg): Reg {
  const rule = expressionRules[node.type] as ExpressionRule<Expression['type']>;
  return rule(l, node, dst);
}

/** Lowers an expression whose value is unused. */
export function lowerEffect(l: Lowering, node: Expression): void {
  const mark = l.code.mark();
  if (node.type === 'UpdateExpression') lowerUpdate(l, node, undefined, false);
  else if (node.type !== 'Literal') l.expression(node);
  l.code.release(mark);
}

function lowerLiteral(l: Lowering, node: Literal, dst = l.code.temp()): Reg {
  const span = spanOf(node);
  if (node.regex) {
    const { pattern, flags } = node.regex;
    l.code.emit({ op: 'regexp', dst, pattern, flags }, span);
    return dst;
  }
  const value = node.bigint === undefined ? (node.value as Primitive) : BigInt(node.bigint);
  l.code.emit({ op: 'const', dst, value }, span);
  return dst;
}
