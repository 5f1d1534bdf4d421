import type { AnyNode } from 'acorn';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { KernelLines, KernelNames } from '../../runtime/ops/user-kernel.ts';
import type { CapturedFunction } from '../1-capture/capture.ts';
import { childrenOf } from '../vm/syntax/children.ts';

/** What gpu.js compiles, and means the same on a CPU. */
const allowed: ReadonlySet<AnyNode['type']> = new Set<AnyNode['type']>([
  'AssignmentExpression',
  'BinaryExpression',
  'BlockStatement',
  'BreakStatement',
  'CallExpression',
  'ConditionalExpression',
  'ContinueStatement',
  'DoWhileStatement',
  'EmptyStatement',
  'ExpressionStatement',
  'ForStatement',
  'Identifier',
  'IfStatement',
  'Literal',
  'LogicalExpression',
  'MemberExpression',
  'ReturnStatement',
  'UnaryExpression',
  'UpdateExpression',
  'VariableDeclaration',
  'VariableDeclarator',
  'WhileStatement',
]);

const functions: ReadonlySet<string> = new Set([
  'abs',
  'acos',
  'acosh',
  'asin',
  'asinh',
  'atan',
  'atan2',
  'atanh',
  'ceil',
  'cos',
  'cosh',
  'exp',
  'expm1',
  'floor',
  'log',
  'log10',
  'log1p',
  'log2',
  'max',
  'min',
  'pow',
  'round',
  'sign',
  'sin',
  'sinh',
  'sqrt',
  'tan',
  'tanh',
  'trunc',
]);

type Axis = 'x' | 'y' | 'z';

/** The text of a kernel's function, checked, and rewritten for what its operands are. */
export class KernelSource {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly #captured: CapturedFunction;
  readonly #constants: Readonly<Record<string, number>>;
  readonly #body: readonly AnyNode[];
  readonly #locals = new Set<string>();
  readonly #ranks: (number | null)[];

  constructor(captured: CapturedFunction, constants: Readonly<Record<string, number>>) {
    this.#captured = captured;
    this.#constants = constants;
    const { node, name } = captured;
    this.name = name;
    if (node.type === 'ArrowFunctionExpression' || node.body.type !== 'BlockStatement') {
      throw this.#refused(
        node,
        'an arrow function, which has no this.thread',
        'write function (…) { … }',
      );
    }
    if (node.async || node.generator) {
      throw this.#refused(node, 'a function that stops', 'return the number at once');
    }
    this.parameters = node.params.map((parameter) => {
      if (parameter.type === 'Identifier') return parameter.name;
      throw this.#refused(parameter, 'a parameter that is no plain name', 'name each operand');
    });
    this.#ranks = this.parameters.map(() => null);
    // The build plugin's marker comes first where there is one; the capture's text is without it.
    this.#body = node.body.body;
    for (const statement of this.#body) this.#declare(statement);
    for (const statement of this.#body) this.#check(statement);
    if (this.#body.at(-1)?.type !== 'ReturnStatement') {
      throw this.#refused(
        node,
        'a function that does not end with return',
        'end it with one return',
      );
    }
  }

  /** Per operand: how many indices it is read with; null: it isn't read. */
  get ranks(): readonly (number | null)[] {
    return this.#ranks;
  }

  /** Its statements with elements, threads and constants as `names` say. */
  lines(names: KernelNames): KernelLines {
    const text = (node: AnyNode): string => this.#text(node, names);
    const last = this.#body.at(-1)!;
    const result = last.type === 'ReturnStatement' && last.argument ? text(last.argument) : '0.0';
    return { lines: this.#body.slice(0, -1).map(text), result };
  }

  #declare(node: AnyNode): void {
    if (node.type === 'VariableDeclarator') {
      if (node.id.type !== 'Identifier') {
        throw this.#refused(node, 'a pattern', 'declare one variable for each value');
      }
      this.#locals.add(node.id.name);
    }
    for (const child of childrenOf(node)) this.#declare(child);
  }

  #check(node: AnyNode): void {
    if (this.#isKnown(node)) return;
    if (!allowed.has(node.type)) {
      throw this.#refused(
        node,
        `${this.#snippet(node)}, a ${node.type}`,
        'use numbers, arithmetic, if and loops',
      );
    }
    if (node.type === 'CallExpression') {
      const name = mathName(node.callee);
      if (name === null || !functions.has(name)) {
        throw this.#refused(
          node,
          `a call of ${this.#snippet(node.callee)}`,
          `call Math.${[...functions].join(', ')}`,
        );
      }
      for (const argument of node.arguments) this.#check(argument);
      return;
    }
    if (node.type === 'ReturnStatement' && !node.argument) {
      throw this.#refused(node, 'a return without a number', 'return the element');
    }
    if (node.type === 'Literal' && typeof node.value !== 'number') {
      throw this.#refused(node, this.#snippet(node), 'use numbers alone');
    }
    if (node.type === 'AssignmentExpression' || node.type === 'UpdateExpression') {
      const target = node.type === 'UpdateExpression' ? node.argument : node.left;
      if (target.type !== 'Identifier' || !this.#locals.has(target.name)) {
        throw this.#refused(
          node,
          `an assignment to ${this.#snippet(target)}`,
          'assign to variables of the function',
        );
      }
    }
    if (node.type === 'MemberExpression') {
      throw this.#refused(
        node,
        this.#snippet(node),
        'read this.thread, this.output, this.constants, or elements of operands',
      );
    }
    if (node.type === 'Identifier' && !this.#locals.has(node.name)) this.#constantAround(node);
    for (const child of childrenOf(node)) this.#check(child);
  }

  /** `this.thread.x` and its like, and elements of operands, whose indices are checked here. */
  #isKnown(node: AnyNode): boolean {
    if (axisOf(node) !== null) return true;
    const constant = ownConstant(node);
    if (constant !== null) {
      if (Object.hasOwn(this.#constants, constant)) return true;
      throw this.#refused(
        node,
        `the constant ${constant}`,
        `pass { constants: { ${constant}: … } }`,
      );
    }
    const element = elementOf(node, this.parameters);
    if (!element || (node.type === 'Identifier' && this.#locals.has(node.name))) return false;
    const { operand, indices } = element;
    const known = this.#ranks[operand];
    this.#ranks[operand] ??= indices.length;
    if (known !== null && known !== indices.length) {
      throw this.#refused(
        node,
        `${this.#snippet(node)} beside ${known} ${known === 1 ? 'index' : 'indices'} elsewhere`,
        'index every dimension of an operand wherever it is read',
      );
    }
    for (const index of indices) this.#check(index);
    return true;
  }

  #text(node: AnyNode, names: KernelNames): string {
    const inner = (each: AnyNode): string => this.#text(each, names);
    const axis = axisOf(node);
    if (axis) return names[axis.of][axis.axis];
    const constant = ownConstant(node);
    if (constant !== null) return numberText(this.#constants[constant]!);
    // The generated text has names of its own.
    if (node.type === 'Identifier' && this.#locals.has(node.name)) return `own_${node.name}`;
    const element = elementOf(node, this.parameters);
    if (element) {
      const { operand, indices } = element;
      return names.read(operand, indices.map(inner));
    }
    if (node.type === 'Identifier' && node.name !== 'Math' && !mathName(node)) {
      return numberText(this.#constantAround(node));
    }
    if (node.type === 'CallExpression') {
      return `Math.${mathName(node.callee)}(${node.arguments.map(inner).join(',')})`;
    }
    const { text } = this.#captured.source;
    let written = '';
    let at = node.start;
    for (const child of childrenOf(node)) {
      written += text.slice(at, child.start) + inner(child);
      at = child.end;
    }
    return written + text.slice(at, node.end);
  }

  /** The number of a name around the function that can't change. */
  #constantAround(node: AnyNode & { readonly name: string }): number {
    const { scope } = this.#captured;
    const { name } = node;
    const isFixed = name === 'Infinity' || (scope.has(name) && scope.isConstant(name));
    const value: unknown = isFixed ? scope.get(name) : undefined;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw this.#refused(
      node,
      `${name}, which is no constant number`,
      `pass it as { constants: { ${name} } } and read this.constants.${name}, or as an operand`,
    );
  }

  #refused(node: AnyNode, given: string, remedy: string): ArgumentError {
    return new ArgumentError({
      what: `gpuKernel: ${this.#captured.name || 'the function'} is no kernel`,
      given: `${given}, ${this.#place(node)}`,
      expected: 'a function of numbers that a GPU can run',
      remedy,
    });
  }

  #place(node: AnyNode): string {
    return formatPosition(this.#captured.source.position(node.start));
  }

  #snippet({ start, end }: AnyNode): string {
    const text = this.#captured.source.text.slice(start, end);
    return text.length > 40 ? `${text.slice(0, 40)}…` : text;
  }
}

/** A literal that gpu.js reads back as the same number. */
function numberText(value: number): string {
  return value < 0 || Object.is(value, -0) ? `(${value})` : `${value}`;
}

/** `this.thread.x`, `this.output.y`. */
function axisOf(node: AnyNode): { readonly of: 'thread' | 'output'; readonly axis: Axis } | null {
  const [of, axis] = ofThis(node) ?? [];
  if (of !== 'thread' && of !== 'output') return null;
  return axis === 'x' || axis === 'y' || axis === 'z' ? { of, axis } : null;
}

/** The name in `this.constants.name`. */
function ownConstant(node: AnyNode): string | null {
  const [of, name] = ofThis(node) ?? [];
  return of === 'constants' ? name! : null;
}

function ofThis(node: AnyNode): readonly [string, string] | null {
  const name = propertyOf(node);
  if (name === null || node.type !== 'MemberExpression') return null;
  const of = propertyOf(node.object);
  if (of === null || node.object.type !== 'MemberExpression') return null;
  return node.object.object.type === 'ThisExpression' ? [of, name] : null;
}

function mathName(node: AnyNode): string | null {
  const name = propertyOf(node);
  if (name === null || node.type !== 'MemberExpression') return null;
  return node.object.type === 'Identifier' && node.object.name === 'Math' ? name : null;
}

function propertyOf(node: AnyNode): string | null {
  if (node.type !== 'MemberExpression' || node.computed) return null;
  return node.property.type === 'Identifier' ? node.property.name : null;
}

interface Element {
  readonly operand: number;
  readonly indices: readonly AnyNode[];
}

/** `a[i][j]`, or the name of an operand alone. */
function elementOf(node: AnyNode, parameters: readonly string[]): Element | null {
  const indices: AnyNode[] = [];
  let at = node;
  while (at.type === 'MemberExpression' && at.computed) {
    indices.unshift(at.property);
    at = at.object;
  }
  const operand = at.type === 'Identifier' ? parameters.indexOf(at.name) : -1;
  return operand < 0 ? null : { operand, indices };
}
