import type {
  AssignmentExpression,
  Expression,
  Identifier,
  MemberExpression,
  Pattern,
  UpdateExpression,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { BinaryOperator, Reg } from '../vm/bytecode/instructions.ts';
import type { Lowering } from './lowering.ts';
import {
  emitGet,
  emitSet,
  lowerObject,
  memberKey,
  type PropertyReference,
  superReference,
} from './members.ts';
import { isParenthesized, spanOf } from './syntax/nodes.ts';
import { writesOnce } from './syntax/writes-once.ts';

export function lowerAssignment(l: Lowering, node: AssignmentExpression, dst?: Reg): Reg {
  const value = assignedValue(l, node, dst);
  if (dst === undefined || value === dst) return value;
  l.code.emit({ op: 'move', dst, src: value }, spanOf(node));
  return dst;
}

function assignedValue(l: Lowering, node: AssignmentExpression, dst: Reg | undefined): Reg {
  const { left, operator } = node;
  if (operator === '=') return plainAssignment(l, node, dst);
  const reference = lowerReference(l, left, node);
  switch (operator) {
    case '||=':
    case '&&=':
    case '??=':
      return logicalAssignment(l, node, reference, dst);
    default: {
      const result = reference.destination(node.right) ?? dst ?? l.code.temp();
      const mark = l.code.mark();
      const current = reference.get();
      const right = l.expression(node.right);
      const binary = operator.slice(0, -1) as BinaryOperator;
      l.code.emit(
        { op: 'binary', dst: result, operator: binary, left: current, right },
        spanOf(node),
      );
      l.code.release(mark);
      reference.set(result);
      return result;
    }
  }
}

function plainAssignment(l: Lowering, node: AssignmentExpression, dst: Reg | undefined): Reg {
  const { left, right } = node;
  const span = spanOf(node);
  if (left.type === 'Identifier') {
    const destination = l.variables.destination(left, right, writesOnce(right));
    const name = isParenthesized(node, left) ? undefined : left.name;
    const value = l.named(right, name, destination ?? dst);
    l.variables.assign(left, value, span);
    return value;
  }
  if (left.type === 'MemberExpression') {
    const reference = lowerMemberTarget(l, left, node.end);
    const value = l.expression(right, dst);
    emitSet(l, node, reference, value);
    return value;
  }
  // A pattern: its value is evaluated first, and is also the value of the whole expression.
  const value = l.stable(l.expression(right, dst), left, spanOf(right));
  l.target(left, 'assign')(value, spanOf(right), right);
  return value;
}

/** `a ??= b` reads a, and evaluates and stores b only if needed. */
function logicalAssignment(
  l: Lowering,
  node: AssignmentExpression,
  reference: Reference,
  dst = l.code.temp(),
): Reg {
  const span = spanOf(node);
  const end = l.code.label();
  reference.get(dst);
  if (node.operator === '??=') {
    const assign = l.code.label();
    l.code.jumpOn('jumpIfNullish', dst, assign, span);
    l.code.jump(end, span);
    l.code.bind(assign);
  } else l.code.jumpOn(node.operator === '||=' ? 'jumpIf' : 'jumpIfNot', dst, end, span);
  const { left, right } = node;
  if (left.type === 'Identifier' && !isParenthesized(node, left)) l.named(right, left.name, dst);
  else l.expression(right, dst);
  reference.set(dst);
  l.code.bind(end);
  return dst;
}

/** `takesValue`: the value of the expression is used (for `x++`, the old value). */
export function lowerUpdate(
  l: Lowering,
  node: UpdateExpression,
  dst: Reg | undefined,
  takesValue: boolean,
): Reg {
  const by = node.operator === '++' ? 1 : -1;
  const span = spanOf(node);
  const old = takesValue && !node.prefix ? (dst ?? l.code.temp()) : undefined;
  const reference = lowerReference(l, node.argument, node);
  if (old === undefined) {
    const result = reference.destination() ?? dst ?? l.code.temp();
    const src = reference.get();
    l.code.emit({ op: 'increment', dst: result, src, by }, span);
    reference.set(result);
    if (dst === undefined || dst === result) return result;
    l.code.emit({ op: 'move', dst, src: result }, span);
    return dst;
  }
  const mark = l.code.mark();
  l.code.emit({ op: 'toNumeric', dst: old, src: reference.get() }, span);
  const result = reference.destination() ?? l.code.temp();
  l.code.emit({ op: 'increment', dst: result, src: old, by }, span);
  reference.set(result);
  l.code.release(mark);
  return old;
}

/** A variable or property that is read and then written. Its parts are evaluated once. */
interface Reference {
  get(dst?: Reg): Reg;
  set(value: Reg): void;
  /** Returns a variable's own register if a value that uses `right` may be computed directly into it. */
  destination(right?: Expression): Reg | undefined;
}

function lowerReference(
  l: Lowering,
  target: Pattern | Expression,
  node: AssignmentExpression | UpdateExpression,
): Reference {
  if (target.type === 'Identifier') return variableReference(l, target, node);
  invariant(target.type === 'MemberExpression', 'only variables and properties are updated');
  const property = lowerMemberTarget(l, target, node.end);
  return {
    get(dst = l.code.temp()) {
      emitGet(l, target, dst, property);
      return dst;
    },
    set: (value) => emitSet(l, node, property, value),
    destination: () => undefined,
  };
}

function variableReference(
  l: Lowering,
  target: Identifier,
  node: AssignmentExpression | UpdateExpression,
): Reference {
  return {
    get(dst) {
      const current = l.variables.read(target, dst);
      // `x += (x = 2)` adds to the old value.
      return 'right' in node ? l.stable(current, node.right, spanOf(target)) : current;
    },
    set: (value) => l.variables.assign(target, value, spanOf(node)),
    destination: (right) => l.variables.destination(target, right ?? target, true),
  };
}

/** Evaluates the parts of a property to write. They keep their values up to offset `until`. */
export function lowerMemberTarget(
  l: Lowering,
  node: MemberExpression,
  until: number,
): PropertyReference {
  if (node.object.type === 'Super') return superReference(l, node, until);
  return { object: lowerObject(l, node, until), key: memberKey(l, node, until) };
}
