import type {
  AnyNode,
  ArrayPattern,
  AssignmentProperty,
  ObjectPattern,
  Pattern,
  RestElement,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import { expressionText } from '../vm/bytecode/expression-text.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import { owns } from '../vm/language/primordials.ts';
import { lowerMemberTarget } from './assignments.ts';
import type { Lowering, Store } from './lowering.ts';
import { emitGet, emitSet, type Key } from './members.ts';
import { isParenthesized, spanOf, staticKey } from './syntax/nodes.ts';

/**
 * In: a target of a declaration or an assignment. Evaluates the expressions that precede its value (objects and
 * keys of properties), and returns how to store the value.
 */
export function lowerTarget(
  l: Lowering,
  node: Pattern,
  how: 'assign' | 'declare',
  until = node.end,
): Store {
  switch (node.type) {
    case 'Identifier':
      if (how === 'assign') return (value, span) => l.variables.assign(node, value, span);
      return (value, span) => l.variables.initialize(node, value, span);
    case 'MemberExpression': {
      const place = lowerMemberTarget(l, node, until);
      return (value) => emitSet(l, node, place, value);
    }
    case 'AssignmentPattern': {
      const store = lowerTarget(l, node.left, how, node.end);
      return (value, span, from) => {
        const present = l.code.label();
        l.code.jumpOn('jumpIfNotUndefined', value, present, span);
        const { left } = node;
        if (left.type === 'Identifier' && !isParenthesized(node, left)) {
          l.named(node.right, left.name, value);
        } else l.expression(node.right, value);
        l.code.bind(present);
        store(value, span, from);
      };
    }
    case 'ArrayPattern':
      return (value, span) => takeArray(l, node, value, span, how);
    case 'ObjectPattern':
      return (value, _span, from) => takeObject(l, node, value, how, from);
    case 'RestElement':
      invariant(false, 'a rest element is taken by its pattern');
  }
}

/** Returns where to compute a value for the target: in the variable's own register, if that is safe. */
export function valueRegister(l: Lowering, node: Pattern): Reg {
  if (node.type === 'Identifier') return l.variables.destination(node, node, true) ?? l.code.temp();
  if (node.type !== 'AssignmentPattern' || node.left.type !== 'Identifier') return l.code.temp();
  return l.variables.destination(node.left, node.right, false) ?? l.code.temp();
}

/** Like `valueRegister`, for a value that is cleared before the iterator is called. */
function elementRegister(l: Lowering, node: Pattern): Reg {
  const isWatched = node.type === 'Identifier' && l.variables.isWatched(node);
  return isWatched ? l.code.temp() : valueRegister(l, node);
}

/** Destructures with the iterator protocol, which requests no more elements than the pattern names. */
function takeArray(
  l: Lowering,
  node: ArrayPattern,
  value: Reg,
  span: Span,
  how: 'assign' | 'declare',
): void {
  const mark = l.code.mark();
  const iterator = l.code.temp();
  l.code.emit({ op: 'getIterator', dst: iterator, iterable: value }, span);
  const close = (at: Span): void => l.code.emit({ op: 'iteratorClose', iterator }, at);
  l.targets.withinIterator(close, () => {
    for (const element of node.elements) {
      const elementMark = l.code.mark();
      if (!element) l.code.emit({ op: 'iteratorSkip', iterator }, spanOf(node));
      else if (element.type === 'RestElement') takeRest(l, element, iterator, how);
      else takeElement(l, element, iterator, how);
      l.code.release(elementMark);
    }
  });
  close(spanOf(node));
  l.code.release(mark);
}

function takeElement(
  l: Lowering,
  element: Pattern,
  iterator: Reg,
  how: 'assign' | 'declare',
): void {
  const at = spanOf(element);
  const store = lowerTarget(l, element, how);
  const item = elementRegister(l, element);
  const end = l.code.label();
  l.code.emit({ op: 'const', dst: item, value: undefined }, at);
  l.code.iteratorNext(item, iterator, end, at);
  l.code.bind(end);
  store(item, at);
}

function takeRest(l: Lowering, node: RestElement, iterator: Reg, how: 'assign' | 'declare'): void {
  const span = spanOf(node);
  const store = lowerTarget(l, node.argument, how);
  const array = l.code.temp();
  const item = l.code.temp();
  const next = l.code.label();
  const end = l.code.label();
  l.code.emit({ op: 'newArray', dst: array, elements: [] }, span);
  l.code.bind(next);
  l.code.iteratorNext(item, iterator, end, span);
  l.code.emit({ op: 'arrayPush', array, src: item }, span);
  l.code.jump(next, span);
  l.code.bind(end);
  store(array, span);
}

function takeObject(
  l: Lowering,
  node: ObjectPattern,
  source: Reg,
  how: 'assign' | 'declare',
  from: AnyNode | undefined,
): void {
  const mark = l.code.mark();
  const [first] = node.properties;
  if (!first || !readsAtOnce(first, from === undefined)) {
    const what = `${propertyText(first)}'${sourceName(from)}'`;
    l.code.emit({ op: 'requireObject', src: source, what }, spanOf(node));
  }
  const hasRest = node.properties.some(({ type }) => type === 'RestElement');
  const excluded: Reg[] = [];
  for (const property of node.properties) {
    if (property.type === 'RestElement') {
      const store = lowerTarget(l, property.argument, how);
      const dst = l.code.temp();
      l.code.emit({ op: 'objectRest', dst, source, excluded }, spanOf(property));
      store(dst, spanOf(property));
      continue;
    }
    const key = propertyKey(l, property, hasRest);
    if (hasRest) excluded.push(keyRegister(l, property, key));
    const propertyMark = l.code.mark();
    const store = lowerTarget(l, property.value, how);
    const value = valueRegister(l, property.value);
    emitGet(l, property, value, { object: source, key });
    store(value, spanOf(property));
    // Excluded keys are kept until the rest element has been bound.
    if (!hasRest) l.code.release(mark);
    else l.code.release(propertyMark);
  }
  l.code.release(mark);
}

function propertyKey(l: Lowering, node: AssignmentProperty, hasRest: boolean): Key {
  if (!node.computed) {
    const name = staticKey(node.key);
    invariant(name !== undefined, 'a property is a name, a string or a number');
    return { name };
  }
  const key = l.operand(node.key, node.end);
  // Converted separately if the key is read twice, or if other code runs before it is read.
  if (!hasRest && !isProperty(node.value)) return { register: key };
  const register = l.code.temp();
  l.code.emit({ op: 'toPropertyKey', dst: register, src: key }, spanOf(node.key));
  return { register };
}

const isProperty = (target: Pattern): boolean =>
  target.type === 'AssignmentPattern'
    ? isProperty(target.left)
    : target.type === 'MemberExpression';

function keyRegister(l: Lowering, node: AssignmentProperty, key: Key): Reg {
  if (owns(key, 'register')) return key.register;
  const register = l.code.temp();
  l.code.emit({ op: 'const', dst: register, value: key.name }, spanOf(node.key));
  return register;
}

/**
 * Returns whether the property starts with a read, whose native error equals V8's: inside another pattern, or if
 * the property is more than a name.
 */
function readsAtOnce(node: AssignmentProperty | RestElement, nested: boolean): boolean {
  if (node.type === 'RestElement' || node.computed) return false;
  if (node.value.type === 'Identifier') return nested;
  const target = node.value.type === 'AssignmentPattern' ? node.value.left : node.value;
  return target.type !== 'MemberExpression';
}

/** Returns the source's name in V8's messages: a parameter is named by its value, a caught value by `.catch`. */
function sourceName(from: AnyNode | undefined): string {
  if (from?.type === 'CatchClause') return '.catch';
  if (!from || from.type.endsWith('Pattern')) return 'undefined';
  return expressionText(from);
}

/** Returns the property part of V8's message, which names the first property if it is plain. */
function propertyText(node: AssignmentProperty | RestElement | undefined): string {
  if (node?.type !== 'Property' || node.computed) return '';
  return `property '${staticKey(node.key)}' of `;
}
