import type { AnyNode, Expression, Pattern, Statement } from 'acorn';
import type {
  KernelAxis,
  KernelBinaryFn,
  KernelCode,
  KernelCompareFn,
  KernelNumber,
  KernelStatement,
  KernelTest,
} from '../../runtime/device/kernel-code.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { CapturedFunction } from '../1-capture/capture.ts';
import { mathConstants, readMathCall } from './math-calls.ts';

export interface ReadKernel {
  readonly parameters: readonly string[];
  readonly code: KernelCode;
}

/** The function as data for devices. Throws ArgumentError for what is not part of a kernel's language. */
export function readKernel(
  captured: CapturedFunction,
  constants: Readonly<Record<string, number>>,
): ReadKernel {
  return new KernelReader(captured, constants).read();
}

/** gpu.js binds an array per operand, and WebGPU guarantees eight with the result. */
const mostInputs = 7;

const arithmetic = new Map<string, KernelBinaryFn>([
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

const literal = (value: number): KernelNumber => ({ kind: 'number', value });

const chosen = (test: KernelTest): KernelNumber => ({
  kind: 'choose',
  test,
  yes: literal(1),
  no: literal(0),
});

class KernelReader {
  readonly #captured: CapturedFunction;
  readonly #constants: Readonly<Record<string, number>>;
  readonly #inputs: readonly string[];
  readonly #ranks: (number | null)[];
  /** Block scopes from the outermost; a name's local variable. */
  #scopes: Map<string, number>[] = [new Map()];
  #locals = 0;

  constructor(captured: CapturedFunction, constants: Readonly<Record<string, number>>) {
    this.#captured = captured;
    this.#constants = constants;
    this.#inputs = captured.node.params.map((param) => {
      if (param.type === 'Identifier') return param.name;
      throw this.#refused(param, 'a parameter that is not a plain name', 'name each tensor');
    });
    this.#ranks = this.#inputs.map(() => null);
  }

  read(): ReadKernel {
    const { node } = this.#captured;
    const { body } = node;
    if (node.type === 'ArrowFunctionExpression' || body.type !== 'BlockStatement') {
      const remedy = 'write function (…) { … }';
      throw this.#refused(node, 'an arrow function, which has no this.thread:', remedy);
    }
    if (node.async || node.generator) {
      throw this.#refused(node, 'a function that stops:', 'return the number directly');
    }
    if (this.#inputs.length > mostInputs) {
      throw this.#refused(node, `more than ${mostInputs} operands:`, 'join tensors: cat, stack');
    }
    const statements = this.#block(body.body);
    if (!alwaysReturns(statements)) {
      const what = 'a path that does not end with return:';
      throw this.#refused(body, what, 'end the function with return');
    }
    const code = { ranks: this.#ranks, locals: this.#locals, body: statements };
    return { parameters: this.#inputs, code };
  }

  #refused(node: AnyNode, what: string, remedy: string): ArgumentError {
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

  #block(statements: readonly AnyNode[]): KernelStatement[] {
    this.#scopes.push(new Map());
    try {
      return statements.flatMap((statement) => this.#statement(statement as Statement));
    } finally {
      this.#scopes.pop();
    }
  }

  #body(statement: Statement): KernelStatement[] {
    return statement.type === 'BlockStatement'
      ? this.#block(statement.body)
      : this.#block([statement]);
  }

  #statement(node: Statement): KernelStatement[] {
    switch (node.type) {
      case 'BlockStatement':
        return this.#block(node.body);
      case 'EmptyStatement':
        return [];
      case 'VariableDeclaration':
        return node.declarations.flatMap(({ id, init }) =>
          this.#declare(id, init ?? null, node.kind === 'var'),
        );
      case 'ExpressionStatement':
        return this.#effect(node.expression);
      case 'IfStatement': {
        const test = this.#test(node.test);
        const no = node.alternate ? this.#body(node.alternate) : [];
        return [{ kind: 'if', test, yes: this.#body(node.consequent), no }];
      }
      case 'ForStatement':
        return this.#for(node);
      case 'WhileStatement':
      case 'DoWhileStatement': {
        const testFirst = node.type === 'WhileStatement';
        const [test, body] = [this.#test(node.test), this.#body(node.body)];
        return [{ kind: 'loop', test, testFirst, body, update: [] }];
      }
      case 'BreakStatement':
      case 'ContinueStatement':
        if (node.label) throw this.#refused(node, 'a label', 'leave one loop at a time');
        return [{ kind: node.type === 'BreakStatement' ? 'break' : 'continue' }];
      case 'ReturnStatement':
        return this.#return(node, node.argument ?? null);
      default: {
        const remedy = 'use variables, if, for, while and return';
        throw this.#refused(node, `a ${node.type}`, remedy);
      }
    }
  }

  #for(node: Extract<Statement, { type: 'ForStatement' }>): KernelStatement[] {
    this.#scopes.push(new Map());
    try {
      const { init } = node;
      const before = !init
        ? []
        : init.type === 'VariableDeclaration'
          ? this.#statement(init)
          : this.#effect(init);
      const test: KernelTest = node.test ? this.#test(node.test) : { kind: 'always', value: true };
      const update = node.update ? this.#effect(node.update) : [];
      const body = this.#body(node.body);
      return [...before, { kind: 'loop', test, testFirst: true, body, update }];
    } finally {
      this.#scopes.pop();
    }
  }

  /** Minifiers put what comes before a `return` into it. */
  #return(node: AnyNode, value: Expression | null): KernelStatement[] {
    if (value?.type === 'SequenceExpression') {
      const last = value.expressions.at(-1)!;
      const before = value.expressions.slice(0, -1).flatMap((each) => this.#effect(each));
      return [...before, ...this.#return(node, last)];
    }
    if (value) return [{ kind: 'return', value: this.#number(value) }];
    throw this.#refused(node, 'a return without a number', 'return the element of the result');
  }

  #declare(id: Pattern, init: Expression | null, hoisted: boolean): KernelStatement[] {
    if (id.type === 'ObjectPattern' && init) return this.#destructure(id, init, hoisted);
    if (id.type !== 'Identifier') {
      throw this.#refused(id, 'a pattern', 'declare variables one by one');
    }
    // A block that runs again begins with a new variable.
    const value = init ? this.#number(init) : literal(NaN);
    if (hoisted && !init && this.#scopes[1]?.has(id.name)) return [];
    return [{ kind: 'set', id: this.#newLocal(id.name, hoisted), value }];
  }

  /** `const { x, y } = this.thread`. */
  #destructure(
    pattern: Extract<Pattern, { type: 'ObjectPattern' }>,
    init: Expression,
    hoisted: boolean,
  ): KernelStatement[] {
    const place = this.#placeOfThis(init);
    return pattern.properties.map((property) => {
      const isPlain =
        place !== null &&
        property.type === 'Property' &&
        property.key.type === 'Identifier' &&
        property.value.type === 'Identifier';
      if (!isPlain) throw this.#refused(property, 'a pattern', 'declare variables one by one');
      const { key, value } = property as unknown as Record<'key' | 'value', { name: string }>;
      const read = this.#ofThis(property, place, key.name);
      return { kind: 'set', id: this.#newLocal(value.name, hoisted), value: read };
    });
  }

  #newLocal(name: string, hoisted: boolean): number {
    const scope = this.#scopes[hoisted ? 1 : this.#scopes.length - 1]!;
    const known = hoisted ? scope.get(name) : undefined;
    const id = known ?? this.#locals++;
    scope.set(name, id);
    return id;
  }

  #localNamed(name: string): number | undefined {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const id = this.#scopes[i]!.get(name);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  /** An expression whose value is dropped. */
  #effect(node: Expression): KernelStatement[] {
    switch (node.type) {
      case 'SequenceExpression':
        return node.expressions.flatMap((each) => this.#effect(each));
      case 'AssignmentExpression': {
        const id = this.#target(node.left);
        if (node.operator === '=') return [{ kind: 'set', id, value: this.#number(node.right) }];
        const fn = arithmetic.get(node.operator.slice(0, -1));
        if (!fn) throw this.#refused(node, `the operator ${node.operator} in`, 'write x = …');
        return [this.#step(id, fn, this.#number(node.right))];
      }
      case 'UpdateExpression': {
        const fn = node.operator === '++' ? 'add' : 'sub';
        return [this.#step(this.#target(node.argument), fn, literal(1))];
      }
      case 'ConditionalExpression': {
        const [yes, no] = [this.#effect(node.consequent), this.#effect(node.alternate)];
        return [{ kind: 'if', test: this.#test(node.test), yes, no }];
      }
      case 'LogicalExpression': {
        const test = this.#test(node.left);
        const then = this.#effect(node.right);
        if (node.operator === '&&') return [{ kind: 'if', test, yes: then, no: [] }];
        if (node.operator === '||') return [{ kind: 'if', test, yes: [], no: then }];
        break;
      }
    }
    throw this.#refused(node, 'a statement without effect on a variable', 'assign its value');
  }

  #step(id: number, fn: KernelBinaryFn, y: KernelNumber): KernelStatement {
    return { kind: 'set', id, value: { kind: 'binary', fn, x: { kind: 'local', id }, y } };
  }

  #target(node: AnyNode): number {
    const id = node.type === 'Identifier' ? this.#localNamed(node.name) : undefined;
    if (id !== undefined) return id;
    throw this.#refused(node, 'an assignment to', 'assign to variables of the function');
  }

  #number(node: Expression | AnyNode): KernelNumber {
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
        if (node.operator === '+') return this.#number(node.argument);
        if (node.operator === '-') {
          return { kind: 'unary', fn: 'neg', x: this.#number(node.argument) };
        }
        if (node.operator === '!') return chosen(this.#test(node));
        throw this.#refused(node, `the operator ${node.operator} in`, 'use numbers and Math');
      case 'BinaryExpression': {
        const fn = arithmetic.get(node.operator);
        if (fn) {
          const [x, y] = [this.#number(node.left), this.#number(node.right)];
          return { kind: 'binary', fn, x, y };
        }
        if (comparisons.has(node.operator)) return chosen(this.#test(node));
        const remedy = 'a kernel computes with float32 numbers: use Math.floor and arithmetic';
        throw this.#refused(node, `the operator ${node.operator} in`, remedy);
      }
      case 'ConditionalExpression': {
        const [yes, no] = [this.#number(node.consequent), this.#number(node.alternate)];
        return { kind: 'choose', test: this.#test(node.test), yes, no };
      }
      case 'LogicalExpression': {
        const [x, y] = [this.#number(node.left), this.#number(node.right)];
        const test = this.#test(node.left);
        if (node.operator === '&&') return { kind: 'choose', test, yes: y, no: x };
        if (node.operator === '||') return { kind: 'choose', test, yes: x, no: y };
        break;
      }
      case 'CallExpression': {
        const read = readMathCall(node, (argument) => this.#number(argument));
        if ('refused' in read) throw this.#refused(node, read.refused, read.remedy);
        return read;
      }
    }
    throw this.#refused(node, `a ${node.type}`, 'use numbers, variables, elements and Math');
  }

  #test(node: Expression | AnyNode): KernelTest {
    if (node.type === 'UnaryExpression' && node.operator === '!') {
      return { kind: 'not', x: this.#test(node.argument) };
    }
    if (node.type === 'Literal' && typeof node.value === 'boolean') {
      return { kind: 'always', value: node.value };
    }
    if (node.type === 'LogicalExpression' && node.operator !== '??') {
      const [x, y] = [this.#test(node.left), this.#test(node.right)];
      return { kind: node.operator === '&&' ? 'both' : 'either', x, y };
    }
    if (node.type === 'BinaryExpression') {
      const fn = comparisons.get(node.operator);
      if (fn) {
        const [x, y] = [this.#number(node.left), this.#number(node.right)];
        return { kind: 'compare', fn, x, y };
      }
    }
    // Any number but 0 and NaN.
    const x = this.#number(node);
    return {
      kind: 'either',
      x: { kind: 'compare', fn: 'lt', x, y: literal(0) },
      y: { kind: 'compare', fn: 'gt', x, y: literal(0) },
    };
  }

  #named(node: AnyNode, name: string): KernelNumber {
    const id = this.#localNamed(name);
    if (id !== undefined) return { kind: 'local', id };
    const input = this.#inputs.indexOf(name);
    if (input >= 0) return this.#element(node, input, []);
    if (name === 'NaN') return literal(NaN);
    if (name === 'Infinity') return literal(Infinity);
    const { scope } = this.#captured;
    const value: unknown = scope.has(name) && scope.isConstant(name) ? scope.get(name) : undefined;
    if (typeof value === 'number') return literal(value);
    const remedy = `pass it as { constants: { ${name} } } and read this.constants.${name}, or as an operand`;
    throw this.#refused(node, 'no constant number:', remedy);
  }

  #member(node: Extract<Expression, { type: 'MemberExpression' }>): KernelNumber {
    const { object, property } = node;
    if (!node.computed && property.type === 'Identifier') {
      const place = this.#placeOfThis(object);
      if (place !== null) return this.#ofThis(node, place, property.name);
      const constant =
        object.type === 'Identifier' && object.name === 'Math'
          ? mathConstants.get(property.name)
          : undefined;
      if (constant !== undefined) return literal(constant);
    }
    const at: KernelNumber[] = [];
    let base: AnyNode = node;
    while (base.type === 'MemberExpression' && base.computed) {
      at.unshift(this.#number(base.property));
      base = base.object;
    }
    const input = base.type === 'Identifier' ? this.#inputs.indexOf(base.name) : -1;
    if (input >= 0 && this.#localNamed(this.#inputs[input]!) === undefined) {
      return this.#element(node, input, at);
    }
    const remedy = 'read elements of parameters as a[y][x], this.thread, this.constants and Math';
    throw this.#refused(node, 'a property that no kernel has', remedy);
  }

  #element(node: AnyNode, input: number, at: readonly KernelNumber[]): KernelNumber {
    const known = this.#ranks[input] ?? at.length;
    if (known !== at.length) {
      const what = `${at.length} indices, and ${known} elsewhere:`;
      throw this.#refused(node, what, 'give one index for each dimension of the tensor');
    }
    this.#ranks[input] = at.length;
    return { kind: 'element', input, at };
  }

  #placeOfThis(node: AnyNode): string | null {
    const isOfThis =
      node.type === 'MemberExpression' && !node.computed && node.object.type === 'ThisExpression';
    return isOfThis && node.property.type === 'Identifier' ? node.property.name : null;
  }

  #ofThis(node: AnyNode, place: string | null, name: string): KernelNumber {
    const axis = axes.indexOf(name) as KernelAxis | -1;
    if (place === 'thread' && axis !== -1) return { kind: 'thread', axis };
    if (place === 'output' && axis !== -1) return { kind: 'size', axis };
    const constants = this.#constants;
    if (place === 'constants') {
      if (Object.hasOwn(constants, name)) return literal(constants[name]!);
      const remedy = `pass { constants: { ${[...Object.keys(constants), name].join(', ')} } }`;
      throw this.#refused(node, `the constant ${name}, which is not given:`, remedy);
    }
    const remedy = 'there are this.thread, this.output (x, y, z) and this.constants';
    throw this.#refused(node, 'an unknown property', remedy);
  }
}

/** Whether no path continues after the statements. */
function alwaysReturns(statements: readonly KernelStatement[]): boolean {
  return statements.some(
    (statement) =>
      statement.kind === 'return' ||
      (statement.kind === 'if' && alwaysReturns(statement.yes) && alwaysReturns(statement.no)),
  );
}
