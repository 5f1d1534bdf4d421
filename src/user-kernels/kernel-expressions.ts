import type { AnyNode, Expression } from 'acorn';
import type {
  KernelAxis,
  KernelBinaryFn,
  KernelCompareFn,
  KernelNumber,
  KernelTest,
} from '../../runtime/device/kernel-code.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { CapturedFunction } from '../1-capture/capture.ts';
import { KernelLocals } from './kernel-locals.ts';
import { mathConstants, readMathCall } from './math-calls.ts';

export const arithmetic = new Map<string, KernelBinaryFn>([
  ['+', 'add'],
  ['-', 'sub'],
  ['*', 'mul'],
  ['/', 'div'],
  ['%', 'rem'],
  ['**', 'pow'],
]);

const comparisons = new Map<string, KernelCompareFn>([
  ['===', 'eq'],
  ['==', 'eq'],
  ['!==', 'ne'],
  ['!=', 'ne'],
  ['<', 'lt'],
  ['<=', 'le'],
  ['>', 'gt'],
  ['>=', 'ge'],
]);

const axes: readonly string[] = ['x', 'y', 'z'];

export const literal = (value: number): KernelNumber => ({ kind: 'number', value });

const chosen = (test: KernelTest): KernelNumber => ({
  kind: 'choose',
  test,
  yes: literal(1),
  no: literal(0),
});

/** Translates the expressions of a kernel, and finds the rank of each operand. */
export class KernelExpressions {
  readonly inputs: readonly string[];
  /** The number of indices that the kernel uses for each operand; null until it reads an element. */
  readonly ranks: (number | null)[];
  readonly #captured: CapturedFunction;
  readonly #constants: Readonly<Record<string, number>>;
  readonly locals = new KernelLocals();

  constructor(captured: CapturedFunction, constants: Readonly<Record<string, number>>) {
    this.#captured = captured;
    this.#constants = constants;
    this.inputs = captured.syntax().node.params.map((param) => {
      if (param.type === 'Identifier') return param.name;
      throw this.rejected(param, 'a parameter that is not a plain name', 'name each tensor');
    });
    this.ranks = this.inputs.map(() => null);
  }

  /** The error for a construct outside the kernel language. */
  rejected(node: AnyNode, what: string, remedy: string): ArgumentError {
    const { name, source } = this.#captured;
    const [snippet = ''] = source.text.slice(node.start, node.end).split('\n');
    const shown = snippet.length > 40 ? `${snippet.slice(0, 40)}…` : snippet;
    return new ArgumentError({
      what: `gpuKernel: ${name || 'the function'} is not a kernel`,
      given: `${what} ${shown}, ${formatPosition(source.position(node.start))}`,
      expected: 'a function of numbers that a GPU can run',
      remedy,
    });
  }

  number(node: Expression | AnyNode): KernelNumber {
    switch (node.type) {
      case 'Literal':
        if (typeof node.value === 'number') return literal(node.value);
        if (typeof node.value === 'boolean') return literal(Number(node.value));
        break;
      case 'Identifier':
        return this.#named(node, node.name);
      case 'MemberExpression':
        return this.#member(node);
      case 'UnaryExpression':
        if (node.operator === '+') return this.number(node.argument);
        if (node.operator === '-') {
          return { kind: 'unary', fn: 'neg', x: this.number(node.argument) };
        }
        if (node.operator === '!') return chosen(this.test(node));
        throw this.rejected(node, `the operator ${node.operator} in`, 'use numbers and Math');
      case 'BinaryExpression': {
        const fn = arithmetic.get(node.operator);
        if (fn) {
          const [x, y] = [this.number(node.left), this.number(node.right)];
          return { kind: 'binary', fn, x, y };
        }
        if (comparisons.has(node.operator)) return chosen(this.test(node));
        const remedy = 'a kernel computes with float32 numbers: use Math.floor and arithmetic';
        throw this.rejected(node, `the operator ${node.operator} in`, remedy);
      }
      case 'ConditionalExpression': {
        const [yes, no] = [this.number(node.consequent), this.number(node.alternate)];
        return { kind: 'choose', test: this.test(node.test), yes, no };
      }
      case 'LogicalExpression': {
        const [x, y] = [this.number(node.left), this.number(node.right)];
        const test = this.test(node.left);
        if (node.operator === '&&') return { kind: 'choose', test, yes: y, no: x };
        if (node.operator === '||') return { kind: 'choose', test, yes: x, no: y };
        break;
      }
      case 'CallExpression': {
        const read = readMathCall(node, (argument) => this.number(argument));
        if ('refused' in read) throw this.rejected(node, read.refused, read.remedy);
        return read;
      }
    }
    throw this.rejected(node, `a ${node.type}`, 'use numbers, variables, elements and Math');
  }

  test(node: Expression | AnyNode): KernelTest {
    if (node.type === 'UnaryExpression' && node.operator === '!') {
      return { kind: 'not', x: this.test(node.argument) };
    }
    if (node.type === 'Literal' && typeof node.value === 'boolean') {
      return { kind: 'always', value: node.value };
    }
    if (node.type === 'LogicalExpression' && node.operator !== '??') {
      const [x, y] = [this.test(node.left), this.test(node.right)];
      return { kind: node.operator === '&&' ? 'both' : 'either', x, y };
    }
    if (node.type === 'BinaryExpression') {
      const fn = comparisons.get(node.operator);
      if (fn) {
        const [x, y] = [this.number(node.left), this.number(node.right)];
        return { kind: 'compare', fn, x, y };
      }
    }
    // True for any number except 0 and NaN.
    const x = this.number(node);
    return {
      kind: 'either',
      x: { kind: 'compare', fn: 'lt', x, y: literal(0) },
      y: { kind: 'compare', fn: 'gt', x, y: literal(0) },
    };
  }

  #named(node: AnyNode, name: string): KernelNumber {
    const id = this.locals.named(name);
    if (id !== undefined) return { kind: 'local', id };
    const input = this.inputs.indexOf(name);
    if (input >= 0) return this.#element(node, input, []);
    if (name === 'NaN') return literal(NaN);
    if (name === 'Infinity') return literal(Infinity);
    const { scope } = this.#captured;
    const value: unknown = scope.has(name) && scope.isConstant(name) ? scope.get(name) : undefined;
    if (typeof value === 'number') return literal(value);
    const remedy = `pass it as { constants: { ${name} } } and read this.constants.${name}, or as an operand`;
    throw this.rejected(node, 'no constant number:', remedy);
  }

  #member(node: Extract<Expression, { type: 'MemberExpression' }>): KernelNumber {
    const { object, property } = node;
    if (!node.computed && property.type === 'Identifier') {
      const group = this.groupOf(object);
      if (group !== null) return this.fromThis(node, group, property.name);
      const constant =
        object.type === 'Identifier' && object.name === 'Math'
          ? mathConstants.get(property.name)
          : undefined;
      if (constant !== undefined) return literal(constant);
    }
    const at: KernelNumber[] = [];
    let base: AnyNode = node;
    while (base.type === 'MemberExpression' && base.computed) {
      at.unshift(this.number(base.property));
      base = base.object;
    }
    const input = base.type === 'Identifier' ? this.inputs.indexOf(base.name) : -1;
    if (input >= 0 && this.locals.named(this.inputs[input]!) === undefined) {
      return this.#element(node, input, at);
    }
    const remedy = 'read elements of parameters as a[y][x], this.thread, this.constants and Math';
    throw this.rejected(node, 'a property that no kernel has', remedy);
  }

  #element(node: AnyNode, input: number, at: readonly KernelNumber[]): KernelNumber {
    const known = this.ranks[input] ?? at.length;
    if (known !== at.length) {
      const what = `${at.length} indices, and ${known} elsewhere:`;
      throw this.rejected(node, what, 'give one index for each dimension of the tensor');
    }
    this.ranks[input] = at.length;
    return { kind: 'element', input, at };
  }

  /** The group of numbers on `this` that the node reads, such as `thread`; null for other nodes. */
  groupOf(node: AnyNode): string | null {
    const isOfThis =
      node.type === 'MemberExpression' && !node.computed && node.object.type === 'ThisExpression';
    return isOfThis && node.property.type === 'Identifier' ? node.property.name : null;
  }

  fromThis(node: AnyNode, group: string, name: string): KernelNumber {
    const axis = axes.indexOf(name) as KernelAxis | -1;
    if (group === 'thread' && axis !== -1) return { kind: 'thread', axis };
    if (group === 'output' && axis !== -1) return { kind: 'size', axis };
    const constants = this.#constants;
    if (group === 'constants') {
      if (Object.hasOwn(constants, name)) return literal(constants[name]!);
      const remedy = `pass { constants: { ${[...Object.keys(constants), name].join(', ')} } }`;
      throw this.rejected(node, `the constant ${name}, which is not given:`, remedy);
    }
    const remedy = 'there are this.thread, this.output (x, y, z) and this.constants';
    throw this.rejected(node, 'an unknown property', remedy);
  }
}
