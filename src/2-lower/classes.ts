import type { Class, ClassBody, Expression, MethodDefinition, PropertyDefinition } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Reg } from '../vm/bytecode/instructions.ts';
import type { Intrinsic } from '../vm/bytecode/intrinsics.ts';
import { endOfBody } from './function-end.ts';
import type { InnerFunction, Lowering } from './lowering.ts';
import { privateKey } from './members.ts';
import { spanOf, staticKey } from './syntax/nodes.ts';

/** A class, and the home object of its methods. */
interface ClassParts {
  readonly value: Reg;
  readonly prototype: Reg;
}

/**
 * Lowers a class in the language's order: its parent, the class itself, and its elements with their keys. Then the
 * inner name is bound, and static fields and blocks run.
 */
export function lowerClass(l: Lowering, node: Class, name: string | Reg, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  const span = spanOf(node);
  l.variables.enter(node as never);
  const parent = node.superClass ? l.operand(node.superClass, node.end) : null;
  l.variables.enter(node.body);
  declarePrivateNames(l, node.body, typeof name === 'string' && name ? name : 'anonymous');
  const value = l.closure(constructorOf(node, name, parent));
  const prototype = l.code.temp();
  l.code.emit({ op: 'getProp', dst: prototype, object: value, key: 'prototype' }, span);
  const parts = { value, prototype };
  for (const element of node.body.body) {
    const elementMark = l.code.mark();
    if (element.type === 'MethodDefinition') lowerMethod(l, element, parts);
    else if (element.type === 'PropertyDefinition') keepFieldKey(l, element);
    l.code.release(elementMark);
  }
  const self = l.analysis.selfNames.get(node as never);
  if (self) l.variables.store(self, value, span);
  if (hasInstanceElements(node.body)) {
    const fields = l.closure(fieldsOf(node.body, prototype));
    l.code.intrinsic('setFields', [value, fields], span);
  }
  lowerStaticElements(l, node.body, parts);
  l.code.emit({ op: 'move', dst, src: value }, span);
  l.code.release(mark);
  return dst;
}

function declarePrivateNames(l: Lowering, { body }: ClassBody, name: string): void {
  const declared = new Set<string>();
  for (const element of body) {
    if (element.type === 'StaticBlock' || element.key.type !== 'PrivateIdentifier') continue;
    if (declared.has(element.key.name)) continue;
    declared.add(element.key.name);
    const mark = l.code.mark();
    const span = spanOf(element.key);
    const description = l.code.constant(`#${element.key.name}`, span);
    const binding = l.analysis.privateUses.get(element.key);
    invariant(binding, 'a class declares its private names');
    const owner = `${element.static ? '' : 'an instance of '}class ${name}`;
    const args = [description, l.code.constant(owner, span)];
    const privateName = l.code.intrinsic('newPrivateName', args, span);
    l.variables.store(binding, privateName, span);
    l.code.release(mark);
  }
}

function constructorOf(node: Class, name: string | Reg, parent: Reg | null): InnerFunction {
  const naming = typeof name === 'string' ? { name } : { name: '', nameFrom: name };
  return { ...constructionBy(node), ...naming, parent };
}

/** Returns the functions that `new` runs for a pre-existing class: its constructor, and the field initializer. */
export function partsOfConstruction(
  node: Class,
  name: string,
): { readonly maker: InnerFunction; readonly fields: InnerFunction | undefined } {
  const fields = hasInstanceElements(node.body) ? fieldsOf(node.body) : undefined;
  return { maker: { ...constructionBy(node), name }, fields };
}

function constructionBy(node: Class): Omit<InnerFunction, 'name'> {
  const isBase = !node.superClass;
  const kind = isBase ? 'constructor' : 'derivedConstructor';
  const written = node.body.body.find(
    (element) => element.type === 'MethodDefinition' && element.kind === 'constructor',
  );
  // A new instance of a base class receives its fields before anything else runs.
  const prologue =
    isBase && hasInstanceElements(node.body)
      ? (inner: Lowering) => makeFields(inner, node)
      : undefined;
  if (written?.type === 'MethodDefinition') return { node: written.value, kind, prologue };
  const body = (inner: Lowering): void => {
    const span = { start: node.start, end: node.start };
    if (isBase) {
      endOfBody(inner, node.end);
      return;
    }
    const args = inner.code.temp();
    const callee = inner.code.intrinsic('superConstructor', [], span);
    inner.code.emit({ op: 'restArgs', dst: args, from: 0 }, span);
    const instance = inner.code.intrinsic('superConstruct', [callee, args], span);
    inner.code.intrinsic('initializeFields', [instance], span);
    inner.code.emit({ op: 'return', src: instance }, span);
  };
  return { node, kind, prologue, body };
}

function makeFields(l: Lowering, node: Class): void {
  const mark = l.code.mark();
  const span = { start: node.start, end: node.start };
  const self = l.code.temp();
  l.code.emit({ op: 'this', dst: self }, span);
  l.code.intrinsic('initializeFields', [self], span);
  l.code.release(mark);
}

const hasInstanceElements = ({ body }: ClassBody): boolean =>
  body.some((element) => {
    if (element.type === 'StaticBlock' || element.static) return false;
    return element.type === 'PropertyDefinition' || element.key.type === 'PrivateIdentifier';
  });

const definitions: { readonly [K in MethodDefinition['kind']]: readonly [Intrinsic, Intrinsic] } = {
  method: ['defineMethod', 'definePrivateMethod'],
  get: ['defineGetter', 'definePrivateGetter'],
  set: ['defineSetter', 'definePrivateSetter'],
  constructor: ['defineMethod', 'definePrivateMethod'],
};

function lowerMethod(l: Lowering, element: MethodDefinition, parts: ClassParts): void {
  if (element.kind === 'constructor') return;
  const { key, kind, value: node } = element;
  const span = spanOf(element);
  const home = element.static ? parts.value : parts.prototype;
  const method = { node, kind: 'method', home } as const;
  const [define, definePrivate] = definitions[kind];
  // An accessor is named when it is defined.
  const isMethod = kind === 'method';
  if (key.type === 'PrivateIdentifier') {
    const { register } = privateKey(l, key);
    invariant(register !== undefined, 'a class declares its private names');
    const fn = l.closure({ ...method, name: isMethod ? `#${key.name}` : '' });
    l.code.intrinsic(definePrivate, [register, fn], span);
    return;
  }
  const name = element.computed ? undefined : staticKey(key);
  const register =
    name === undefined ? propertyKey(l, key as Expression) : l.code.constant(name, spanOf(key));
  const naming = !isMethod
    ? { name: '' }
    : name === undefined
      ? { name: '', nameFrom: register }
      : { name };
  const fn = l.closure({ ...method, ...naming });
  l.code.intrinsic(define, [home, register, fn], span);
}

function propertyKey(l: Lowering, key: Expression): Reg {
  const dst = l.code.temp();
  l.code.emit({ op: 'toPropertyKey', dst, src: l.expression(key) }, spanOf(key));
  return dst;
}

/** Stores a computed field key, which is evaluated with the class and used when an instance receives the field. */
function keepFieldKey(l: Lowering, element: PropertyDefinition): void {
  const binding = l.analysis.fieldKeys.get(element);
  if (!binding) return;
  const key = propertyKey(l, element.key as Expression);
  l.variables.store(binding, key, spanOf(element.key));
}

/** The field initializer: gives a new instance, its `this`, its private methods and its fields. */
function fieldsOf(node: ClassBody, home?: Reg): InnerFunction {
  const body = (l: Lowering): void => {
    const self = l.code.temp();
    l.code.emit({ op: 'this', dst: self }, { start: node.start, end: node.start });
    brandPrivate(l, node, self, false);
    for (const element of node.body) {
      if (element.type === 'PropertyDefinition' && !element.static) defineField(l, element, self);
    }
    endOfBody(l, node.end);
  };
  return { node, kind: 'method', name: '', home, body };
}

/** Private methods are added before all fields. */
function brandPrivate(l: Lowering, { body }: ClassBody, object: Reg, isStatic: boolean): void {
  const done = new Set<string>();
  for (const element of body) {
    if (element.type !== 'MethodDefinition' || element.static !== isStatic) continue;
    if (element.key.type !== 'PrivateIdentifier' || done.has(element.key.name)) continue;
    done.add(element.key.name);
    const mark = l.code.mark();
    const { register } = privateKey(l, element.key);
    if (register === undefined) {
      const name = l.code.constant(`#${element.key.name}`, spanOf(element));
      l.code.intrinsic('brandOwnPrivate', [object, name], spanOf(element));
      l.code.release(mark);
      return;
    }
    l.code.intrinsic('brandPrivate', [object, register], spanOf(element));
    l.code.release(mark);
  }
}

function defineField(l: Lowering, element: PropertyDefinition, object: Reg): void {
  const mark = l.code.mark();
  const { key, value: init } = element;
  const span = spanOf(element);
  const computed = l.analysis.fieldKeys.get(element);
  const privateName = key.type === 'PrivateIdentifier' ? privateKey(l, key) : undefined;
  const name = privateName ? `#${privateName.privateName}` : staticKey(key);
  const register =
    privateName?.register ??
    (computed ? l.variables.load(computed, span) : l.code.constant(name, span));
  const naming = computed ? register : name;
  const value = init ? l.named(init, naming) : l.code.constant(undefined, span);
  // For a pre-existing class, private names are identified by their text.
  const add = privateName?.register === undefined ? 'addOwnPrivate' : 'addPrivate';
  const define = privateName ? add : 'defineField';
  l.code.intrinsic(define, [object, register, value], span);
  l.code.release(mark);
}

/**
 * Lowers static fields and blocks: each becomes a function, which is called immediately with the class as `this`.
 */
function lowerStaticElements(l: Lowering, node: ClassBody, { value }: ClassParts): void {
  brandPrivate(l, node, value, true);
  for (const element of node.body) {
    const body = staticBody(element);
    if (!body || element.type === 'MethodDefinition') continue;
    const mark = l.code.mark();
    const kind: Code['kind'] = 'method';
    const callee = l.closure({ node: element, kind, name: '', home: value, body });
    const call = { dst: l.code.temp(), callee, receiver: value, args: [] };
    l.code.emit({ op: 'call', ...call }, spanOf(element));
    l.code.release(mark);
  }
}

function staticBody(element: ClassBody['body'][number]): ((l: Lowering) => void) | undefined {
  if (element.type === 'StaticBlock') {
    return (l) => {
      l.variables.enter(element);
      l.statements(element.body);
      endOfBody(l, element.end);
    };
  }
  if (element.type !== 'PropertyDefinition' || !element.static) return undefined;
  return (l) => {
    const self = l.code.temp();
    l.code.emit({ op: 'this', dst: self }, { start: element.start, end: element.start });
    defineField(l, element, self);
    endOfBody(l, element.end);
  };
}
