import type {
  AnyNode,
  ChainExpression,
  Expression,
  MemberExpression,
  Node,
  PrivateIdentifier,
  Super,
  UnaryExpression,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg } from '../vm/bytecode/instructions.ts';
import { owns } from '../vm/language/primordials.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';

/** A property key: a name in the source, or a register. */
export type Key = { readonly name: string } | { readonly register: Reg };

/** `#name`, which is only valid after a dot. `register` contains the name if the code itself creates the class. */
interface PrivateKey {
  readonly privateName: string;
  readonly register: Reg | undefined;
}

/** A property to read or write, whose parts have been evaluated. */
export type PropertyReference =
  | { readonly object: Reg; readonly key: Key | PrivateKey }
  /** `super.key`, which is looked up in `base` with `receiver` as `this`. */
  | { readonly base: Reg; readonly receiver: Reg; readonly key: Reg };

/** Returns the key of a member expression, which stays valid up to offset `until`. */
export function memberKey(l: Lowering, node: MemberExpression, until: number): Key | PrivateKey {
  const { property } = node;
  if (property.type === 'PrivateIdentifier') return privateKey(l, property);
  if (!node.computed) {
    invariant(property.type === 'Identifier', 'a name follows the dot');
    return { name: property.name };
  }
  // `a['b']` is the same as `a.b`; `a[0]` remains an element access.
  if (property.type === 'Literal' && typeof property.value === 'string') {
    return { name: property.value };
  }
  return { register: l.operand(property, until) };
}

export function privateKey(l: Lowering, node: PrivateIdentifier): PrivateKey {
  const binding = l.analysis.privateUses.get(node);
  const register = binding && l.variables.load(binding, spanOf(node));
  return { privateName: node.name, register };
}

export function emitGet(l: Lowering, node: AnyNode, dst: Reg, reference: PropertyReference): void {
  const span = spanOf(node);
  if (owns(reference, 'base')) {
    l.code.intrinsic('getSuperOf', [reference.base, reference.receiver, reference.key], span, dst);
    return;
  }
  const { object, key } = reference;
  if (owns(key, 'name')) l.code.emit({ op: 'getProp', dst, object, key: key.name }, span);
  else if (!owns(key, 'privateName')) {
    l.code.emit({ op: 'getElem', dst, object, key: key.register }, span);
  } else if (key.register !== undefined) {
    l.code.intrinsic('getPrivate', [object, key.register], span, dst);
  } else l.code.emit({ op: 'getPrivate', dst, object, name: key.privateName }, span);
}

export function emitSet(l: Lowering, node: AnyNode, reference: PropertyReference, src: Reg): void {
  const span = spanOf(node);
  const mark = l.code.mark();
  if (owns(reference, 'base')) {
    l.code.intrinsic('setSuperOf', [reference.base, reference.receiver, reference.key, src], span);
    l.code.release(mark);
    return;
  }
  const { object, key } = reference;
  if (owns(key, 'name')) l.code.emit({ op: 'setProp', object, key: key.name, src }, span);
  else if (!owns(key, 'privateName')) {
    l.code.emit({ op: 'setElem', object, key: key.register, src }, span);
  } else if (key.register !== undefined) {
    l.code.intrinsic('setPrivate', [object, key.register, src], span);
  } else l.code.emit({ op: 'setPrivate', object, name: key.privateName, src }, span);
  l.code.release(mark);
}

export function lowerMember(l: Lowering, node: MemberExpression, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  if (node.object.type === 'Super') lowerSuperMember(l, node, dst);
  else lowerMemberOf(l, node, lowerObject(l, node, node.end), dst);
  l.code.release(mark);
  return dst;
}

/** Reads `super.key`; returns the receiver, for a call. */
export function lowerSuperMember(l: Lowering, node: MemberExpression, dst: Reg): void {
  const span = spanOf(node);
  if (l.variables.thisBinding(node.object)) {
    emitGet(l, node, dst, superReference(l, node, node.end));
    return;
  }
  const key = memberKey(l, node, node.end);
  invariant(!owns(key, 'privateName'), 'the parser refuses super.#name');
  if (owns(key, 'name')) l.code.emit({ op: 'getSuper', dst, key: key.name }, span);
  else l.code.emit({ op: 'getSuperElem', dst, key: key.register }, span);
}

/** Returns the `this` of the innermost function, to which `node` (`this` or `super`) refers. */
export function lowerThis(l: Lowering, node: Node, dst?: Reg): Reg {
  const span = spanOf(node);
  const binding = l.variables.thisBinding(node);
  if (!binding) {
    const result = dst ?? l.code.temp();
    l.code.emit({ op: 'this', dst: result }, span);
    return result;
  }
  const value = l.variables.loadChecked(binding, span);
  if (dst === undefined) return value;
  l.code.emit({ op: 'move', dst, src: value }, span);
  return dst;
}

/** Evaluates the parts of `super[key]` in order: `this`, the key, then the object to look in. */
export function superReference(
  l: Lowering,
  node: MemberExpression,
  until: number,
): PropertyReference {
  const span = spanOf(node);
  const receiver = lowerThis(l, node.object);
  const key = memberKey(l, node, until);
  invariant(!owns(key, 'privateName'), 'the parser refuses super.#name');
  const register = owns(key, 'name') ? l.code.constant(key.name, span) : key.register;
  const base = l.code.intrinsic('superBase', [], span);
  return { base, receiver, key: register };
}

/**
 * Evaluates the object of a member expression, which stays valid up to `until`. Leaves the chain if a `?.` finds null
 * or undefined.
 */
export function lowerObject(l: Lowering, node: MemberExpression, until: number): Reg {
  const object = l.operand(withoutSuper(node.object), until);
  leaveChain(l, node, object);
  return object;
}

/** Emits the read, once the object has been evaluated. */
export function lowerMemberOf(l: Lowering, node: MemberExpression, object: Reg, dst: Reg): void {
  emitGet(l, node, dst, { object, key: memberKey(l, node, node.end) });
}

/** `?.`: leaves the whole chain if the value is null or undefined. */
export function leaveChain(l: Lowering, node: { optional: boolean } & AnyNode, value: Reg): void {
  if (!node.optional) return;
  invariant(l.chainEnd, 'an optional access stands in a chain');
  l.code.jumpOn('jumpIfNullish', value, l.chainEnd, spanOf(node));
}

export function lowerChain(l: Lowering, node: ChainExpression, dst = l.code.temp()): Reg {
  inChain(
    l,
    node,
    () => l.expression(node.expression, dst),
    () => l.code.emit({ op: 'const', dst, value: undefined }, spanOf(node)),
  );
  return dst;
}

/** Runs `body`. If a `?.` leaves the chain, `cut` produces the result instead. */
export function inChain(l: Lowering, node: AnyNode, body: () => void, cut: () => void): void {
  const outer = l.chainEnd;
  const chainEnd = l.code.label();
  const end = l.code.label();
  l.chainEnd = chainEnd;
  body();
  l.chainEnd = outer;
  l.code.jump(end, spanOf(node));
  l.code.bind(chainEnd);
  cut();
  l.code.bind(end);
}

export function lowerDelete(l: Lowering, node: UnaryExpression, dst: Reg): void {
  const { argument } = node;
  const yes = (): void => l.code.emit({ op: 'const', dst, value: true }, spanOf(node));
  if (argument.type === 'ChainExpression') {
    inChain(l, node, () => deleteTarget(l, node, argument.expression, dst, yes), yes);
  } else deleteTarget(l, node, argument, dst, yes);
}

function deleteTarget(
  l: Lowering,
  node: UnaryExpression,
  target: Expression,
  dst: Reg,
  yes: () => void,
): void {
  const span = spanOf(node);
  if (target.type === 'Identifier') {
    // A declared variable can't be deleted, but a global property can.
    if (!l.variables.isFree(target)) l.code.constant(false, span, dst);
    else l.code.intrinsic('deleteFree', [l.code.constant(target.name, span)], span, dst);
    return;
  }
  if (target.type !== 'MemberExpression') {
    l.effect(target);
    yes();
    return;
  }
  if (target.object.type === 'Super') {
    // `this` and the key are evaluated before the error is thrown.
    lowerThis(l, target.object);
    if (target.computed) l.operand(target.property as Expression, node.end);
    l.code.intrinsic('deleteSuper', [], span, dst);
    return;
  }
  const object = lowerObject(l, target, node.end);
  const key = memberKey(l, target, node.end);
  invariant(!owns(key, 'privateName'), 'the parser refuses to delete private names');
  const register = owns(key, 'register') ? key.register : l.code.temp();
  if (owns(key, 'name'))
    l.code.emit({ op: 'const', dst: register, value: key.name }, spanOf(target));
  l.code.emit({ op: 'deleteProp', dst, object, key: register }, spanOf(node));
}

function withoutSuper(node: Expression | Super): Expression {
  invariant(node.type !== 'Super', 'super stands in super.name only');
  return node;
}
