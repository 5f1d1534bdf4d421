import type {
  CallExpression,
  Expression,
  MemberExpression,
  NewExpression,
  Super,
  TaggedTemplateExpression,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg } from '../vm/bytecode/instructions.ts';
import { spreadArray } from './literals.ts';
import type { Lowering } from './lowering.ts';
import {
  inChain,
  leaveChain,
  lowerMemberOf,
  lowerObject,
  lowerSuperMember,
  lowerThis,
} from './members.ts';
import { type Argument, spanOf } from './syntax/nodes.ts';

interface Callee {
  readonly callee: Reg;
  readonly receiver: Reg | null;
}

export function lowerCall(l: Lowering, node: CallExpression, dst = l.code.temp()): Reg {
  if (node.callee.type === 'Super') return lowerSuperCall(l, node, node.callee, dst);
  const mark = l.code.mark();
  const span = spanOf(node);
  const { callee, receiver } = lowerCallee(l, node.callee, node.end);
  leaveChain(l, node, callee);
  if (hasSpread(node.arguments)) {
    const args = spreadArray(l, node.arguments, node);
    l.code.emit({ op: 'callSpread', dst, callee, receiver, args }, span);
  } else {
    const args = lowerArguments(l, node.arguments, node.end);
    l.code.emit({ op: 'call', dst, callee, receiver, args }, span);
  }
  l.code.release(mark);
  return dst;
}

/** `super(…)`: the parent creates the instance, which then receives the fields of this class. */
function lowerSuperCall(l: Lowering, node: CallExpression, callee: Super, dst: Reg): Reg {
  const mark = l.code.mark();
  const span = spanOf(node);
  const parent = l.code.intrinsic('superConstructor', [], span);
  const args = spreadArray(l, node.arguments, node);
  const constructed = l.code.intrinsic('superConstruct', [parent, args], span);
  const binding = l.variables.thisBinding(callee);
  invariant(binding, 'super() stands in a derived constructor');
  const before = l.variables.load(binding, span);
  const instance = l.code.intrinsic('bindThis', [before, constructed], span);
  l.variables.store(binding, instance, span);
  l.code.intrinsic('initializeFields', [instance], span);
  l.code.emit({ op: 'move', dst, src: instance }, span);
  l.code.release(mark);
  return dst;
}

export function lowerTagged(l: Lowering, node: TaggedTemplateExpression, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  const { quasis, expressions } = node.quasi;
  const { callee, receiver } = lowerCallee(l, node.tag, node.end);
  const object = l.code.temp();
  const strings = quasis.map(({ value }) => value.cooked ?? undefined);
  const raw = quasis.map(({ value }) => value.raw);
  l.code.emit({ op: 'templateObject', dst: object, strings, raw }, spanOf(node.quasi));
  const args = [object, ...lowerArguments(l, expressions, node.end)];
  l.code.emit({ op: 'call', dst, callee, receiver, args }, spanOf(node));
  l.code.release(mark);
  return dst;
}

export function lowerNew(l: Lowering, node: NewExpression, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  const span = spanOf(node);
  const callee = l.operand(node.callee, node.end);
  if (hasSpread(node.arguments)) {
    const args = spreadArray(l, node.arguments, node);
    l.code.emit({ op: 'constructSpread', dst, callee, args }, span);
  } else {
    const args = lowerArguments(l, node.arguments, node.end);
    l.code.emit({ op: 'construct', dst, callee, args }, span);
  }
  l.code.release(mark);
  return dst;
}

const hasSpread = (args: readonly Argument[]): boolean =>
  args.some(({ type }) => type === 'SpreadElement');

function lowerArguments(l: Lowering, args: readonly Argument[], until: number): Reg[] {
  return args.map((argument) => l.operand(argument as Expression, until));
}

/** Evaluates the function and its `this`. A member's object is evaluated once and serves as both. */
function lowerCallee(l: Lowering, node: Expression, until: number): Callee {
  if (node.type === 'MemberExpression') return lowerMethod(l, node, until);
  if (node.type !== 'ChainExpression' || node.expression.type !== 'MemberExpression') {
    return { callee: l.operand(node, until), receiver: null };
  }
  // `(a?.b)()`: the parentheses end the chain, but the method keeps its `this`.
  const method = node.expression;
  const callee = l.code.temp();
  const receiver = l.code.temp();
  inChain(
    l,
    node,
    () => {
      const found = lowerMethod(l, method, until);
      l.code.emit({ op: 'move', dst: callee, src: found.callee }, spanOf(method));
      if (found.receiver === null) return;
      l.code.emit({ op: 'move', dst: receiver, src: found.receiver }, spanOf(method));
    },
    () => {
      l.code.emit({ op: 'const', dst: callee, value: undefined }, spanOf(node));
      l.code.emit({ op: 'const', dst: receiver, value: undefined }, spanOf(node));
    },
  );
  return { callee, receiver };
}

function lowerMethod(l: Lowering, node: MemberExpression, until: number): Callee {
  const callee = l.code.temp();
  if (node.object.type === 'Super') {
    const receiver = lowerThis(l, node.object, l.code.temp());
    lowerSuperMember(l, node, callee);
    return { callee, receiver };
  }
  const receiver = lowerObject(l, node, until);
  lowerMemberOf(l, node, receiver, callee);
  return { callee, receiver };
}
