import type {
  ArrayExpression,
  Expression,
  Node,
  ObjectExpression,
  Property,
  SpreadElement,
  TemplateLiteral,
} from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg } from '../vm/bytecode/instructions.ts';
import type { Lowering } from './lowering.ts';
import { spanOf, staticKey } from './syntax/nodes.ts';

export function lowerArray(l: Lowering, node: ArrayExpression, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  const { elements } = node;
  if (elements.every((element) => element !== null && element.type !== 'SpreadElement')) {
    const values = elements.map((element) => l.operand(element as Expression, node.end));
    l.code.emit({ op: 'newArray', dst, elements: values }, spanOf(node));
  } else spreadArray(l, elements, node, dst);
  l.code.release(mark);
  return dst;
}

/** Builds an array element by element, for spreads and holes. */
export function spreadArray(
  l: Lowering,
  elements: readonly (Expression | SpreadElement | null)[],
  node: Node,
  array = l.code.temp(),
): Reg {
  const found = elements.findIndex((element) => !element || element.type === 'SpreadElement');
  const first = found === -1 ? elements.length : found;
  const mark = l.code.mark();
  const head = elements
    .slice(0, first)
    .map((element) => l.operand(element as Expression, node.end));
  l.code.emit({ op: 'newArray', dst: array, elements: head }, spanOf(node));
  l.code.release(mark);
  for (const element of elements.slice(first)) {
    if (element === null) addHole(l, array, node);
    else if (element.type === 'SpreadElement') {
      const iterable = l.expression(element.argument);
      l.code.emit({ op: 'arraySpread', array, iterable }, spanOf(element));
    } else l.code.emit({ op: 'arrayPush', array, src: l.expression(element) }, spanOf(element));
    l.code.release(mark);
  }
  return array;
}

/** `[1, , 2]`: makes the array longer by one without adding an element. */
function addHole(l: Lowering, array: Reg, node: Node): void {
  const length = l.code.temp();
  const span = spanOf(node);
  l.code.emit({ op: 'getProp', dst: length, object: array, key: 'length' }, span);
  l.code.emit({ op: 'increment', dst: length, src: length, by: 1 }, span);
  l.code.emit({ op: 'setProp', object: array, key: 'length', src: length }, span);
}

export function lowerObject(l: Lowering, node: ObjectExpression, object = l.code.temp()): Reg {
  l.code.emit({ op: 'newObject', dst: object }, spanOf(node));
  for (const property of node.properties) {
    const propertyMark = l.code.mark();
    if (property.type === 'SpreadElement') {
      const source = l.expression(property.argument);
      l.code.emit({ op: 'objectSpread', object, source }, spanOf(property));
    } else lowerProperty(l, object, property);
    l.code.release(propertyMark);
  }
  return object;
}

function lowerProperty(l: Lowering, object: Reg, node: Property): void {
  const span = spanOf(node);
  if (setsPrototype(node)) {
    l.code.emit({ op: 'setPrototype', object, src: l.expression(node.value) }, span);
    return;
  }
  const key = l.code.temp();
  const name = node.computed ? undefined : staticKey(node.key);
  if (node.computed) {
    const computed = l.expression(node.key);
    // A function takes its name from the key; otherwise the key is converted before the value is evaluated.
    l.code.emit({ op: 'toPropertyKey', dst: key, src: computed }, spanOf(node.key));
  } else {
    invariant(name !== undefined, 'a property is a name, a string or a number');
    l.code.emit({ op: 'const', dst: key, value: name }, spanOf(node.key));
  }
  const { kind, value } = node;
  if (kind !== 'init') {
    invariant(value.type === 'FunctionExpression', 'an accessor is a function');
    // The definition sets the name, from the kind and the key.
    const src = l.closure({ node: value, kind: 'method', name: '', home: object });
    l.code.emit({ op: 'defineAccessor', object, key, accessor: kind, src }, span);
    return;
  }
  const src = lowerPropertyValue(l, node, name ?? key, object);
  l.code.emit({ op: 'defineProp', object, key, src }, span);
}

/** True for `__proto__: value`, but not for `['__proto__']: value`, `__proto__() {}` or `{ __proto__ }`. */
const setsPrototype = ({ computed, shorthand, method, kind, key }: Property): boolean =>
  !computed && !shorthand && !method && kind === 'init' && staticKey(key) === '__proto__';

function lowerPropertyValue(l: Lowering, node: Property, name: string | Reg, home: Reg): Reg {
  const { value } = node;
  if (!node.method) return l.named(value, name);
  invariant(value.type === 'FunctionExpression', 'a method is a function');
  const naming = typeof name === 'string' ? { name } : { name: '', nameFrom: name };
  return l.closure({ node: value, kind: 'method', ...naming, home });
}

export function lowerTemplate(l: Lowering, node: TemplateLiteral, dst = l.code.temp()): Reg {
  const mark = l.code.mark();
  const values = node.expressions.map((expression, index) => {
    const value = l.operand(expression, node.end);
    const later = node.expressions.slice(index + 1);
    if (later.every((next) => runsNothing(l, next))) return value;
    // Each value is converted to a string before the next expression runs.
    const text = l.code.temp();
    const span = spanOf(expression);
    const strings = ['', ''];
    l.code.emit({ op: 'template', dst: text, strings, values: [value], inner: true }, span);
    return text;
  });
  const strings = node.quasis.map(({ value }) => {
    invariant(typeof value.cooked === 'string', 'only tagged templates hold invalid escapes');
    return value.cooked;
  });
  l.code.emit({ op: 'template', dst, strings, values }, spanOf(node));
  l.code.release(mark);
  return dst;
}

/** Returns true if evaluating the expression can neither run user code nor observe its effects. */
function runsNothing(l: Lowering, node: Expression): boolean {
  if (node.type === 'Identifier') return l.variables.isLocal(node);
  return node.type === 'Literal' || node.type === 'ThisExpression';
}
