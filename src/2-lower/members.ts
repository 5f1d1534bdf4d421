import type {
  AnyNode,
  ChainExpression,
  Expression,
  MemberExpression,
  Super,
  UnaryExpression,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg } from '../bytecode/instructions.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './nodes.ts';

/** A property key: a name in the text, or a value of the program. */
export type Key = { readonly name: string } | { readonly register: Reg };

/** `#name`, after a dot only. */
export type PrivateKey = { readonly privateName: string };

/** The key of a member expression; `until` is where the key must still hold. */
export function memberKey(l: Lowering, node: MemberExpression, until: number): Key | PrivateKey {
  const { property } = node;
  if (property.type === 'PrivateIdentifier') return { privateName: property.name };
  if (!node.computed) {
    invariant(property.type === 'Identifier', 'a name follows the dot');
    return { name: property.name };
  }
  // `a['b']` is `a.b`; `a[0]` stays an element.
  if (property.type === 'Literal' && typeof property.value === 'string') {
    return { name: property.value };
  }
  return { register: l.operand(property, until) };
}

export function emitGet(
  l: Lowering,
  node: AnyNode,
  dst: Reg,
  object: Reg,
  key: Key | PrivateKey,
): void {
  const span = spanOf(node);
  if ('name' in key) l.code.emit({ op: 'getProp', dst, object, key: key.name }, span);
  else if ('privateName' in key) {
    l.code.emit({ op: 'getPrivate', dst, object, name: key.privateName }, span);
  } else l.code.emit({ op: 'getElem', dst, object, key: key.register }, span);
}

export function emitSet(
  l: Lowering,
  node: AnyNode,
  object: Reg,
  key: Key | PrivateKey,
  src: Reg,
): void {
  const span = spanOf(node);
  if ('name' in key) l.code.emit({ op: 'setProp', object, key: key.name, src }, span);
  else if ('privateName' in key) {
    l.code.emit({ op: 'setPrivate', object, name: key.privateName, src }, span);
  } else l.code.emit({ op: 'setElem', object, key: key.register, src }, span);
}

export function lowerMember(l: Lowering, node: MemberExpression, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  if (node.object.type === 'Super') lowerSuperMember(l, node, dst);
  else lowerMemberOf(l, node, lowerObject(l, node, node.end), dst);
  l.code.release(mark);
  return dst;
}

export function lowerSuperMember(l: Lowering, node: MemberExpression, dst: Reg): void {
  const key = memberKey(l, node, node.end);
  const span = spanOf(node);
  invariant(!('privateName' in key), 'the parser refuses super.#name');
  if ('name' in key) l.code.emit({ op: 'getSuper', dst, key: key.name }, span);
  else l.code.emit({ op: 'getSuperElem', dst, key: key.register }, span);
}

/** The object of a member expression, kept until `until`; leaves the chain when `?.` says so. */
export function lowerObject(l: Lowering, node: MemberExpression, until: number): Reg {
  const object = l.operand(withoutSuper(node.object), until);
  leaveChain(l, node, object);
  return object;
}

/** The read itself, once the object is there. */
export function lowerMemberOf(l: Lowering, node: MemberExpression, object: Reg, dst: Reg): void {
  emitGet(l, node, dst, object, memberKey(l, node, node.end));
}

/** `?.`: ends the whole chain when the value is null or undefined. */
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

/** Runs `body`; where `?.` ends the chain, `cut` makes the result instead. */
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
  if (target.type !== 'MemberExpression') {
    l.effect(target);
    yes();
    return;
  }
  const object = lowerObject(l, target, node.end);
  const key = memberKey(l, target, node.end);
  invariant(!('privateName' in key), 'the parser refuses to delete private names');
  const register = 'register' in key ? key.register : l.code.temp();
  if ('name' in key) l.code.emit({ op: 'const', dst: register, value: key.name }, spanOf(target));
  l.code.emit({ op: 'deleteProp', dst, object, key: register }, spanOf(node));
}

export function withoutSuper(node: Expression | Super): Expression {
  invariant(node.type !== 'Super', 'super stands in super.name only');
  return node;
}
