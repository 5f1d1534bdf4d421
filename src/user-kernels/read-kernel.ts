import type { AnyNode, Expression, Pattern, Statement } from 'acorn';
import type {
  KernelBinaryFn,
  KernelCode,
  KernelNumber,
  KernelStatement,
  KernelTest,
} from '../../runtime/device/kernel-code.ts';
import type { CapturedFunction, FunctionNode } from '../1-capture/capture.ts';
import { arithmetic, KernelExpressions, literal } from './kernel-expressions.ts';

interface ReadKernel {
  readonly parameters: readonly string[];
  readonly code: KernelCode;
}

/** Returns the function as data for devices. Throws ArgumentError for anything outside the kernel language. */
export function readKernel(
  captured: CapturedFunction,
  constants: Readonly<Record<string, number>>,
): ReadKernel {
  return new KernelReader(captured, constants).read(captured.syntax().node);
}

/** gpu.js binds an array per operand, and WebGPU guarantees eight, including the result. */
const mostInputs = 7;

/** Reads the statements of a kernel. */
class KernelReader extends KernelExpressions {
  read(node: FunctionNode): ReadKernel {
    const { inputs, ranks } = this;
    const { body } = node;
    if (node.type === 'ArrowFunctionExpression' || body.type !== 'BlockStatement') {
      const remedy = 'write function (…) { … }';
      throw this.rejected(node, 'an arrow function, which has no this.thread:', remedy);
    }
    if (node.async || node.generator) {
      throw this.rejected(node, 'a function that stops:', 'return the number directly');
    }
    if (inputs.length > mostInputs) {
      throw this.rejected(node, `more than ${mostInputs} operands:`, 'join tensors: cat, stack');
    }
    const statements = this.#block(body.body);
    if (!alwaysReturns(statements)) {
      const what = 'a path that does not end with return:';
      throw this.rejected(body, what, 'end the function with return');
    }
    const code = { ranks, locals: this.locals.count, body: statements };
    return { parameters: inputs, code };
  }

  #block(statements: readonly AnyNode[]): KernelStatement[] {
    return this.locals.within(() =>
      statements.flatMap((statement) => this.#statement(statement as Statement)),
    );
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
        const test = this.test(node.test);
        const no = node.alternate ? this.#body(node.alternate) : [];
        return [{ kind: 'if', test, yes: this.#body(node.consequent), no }];
      }
      case 'ForStatement':
        return this.#for(node);
      case 'WhileStatement':
      case 'DoWhileStatement': {
        const testFirst = node.type === 'WhileStatement';
        const [test, body] = [this.test(node.test), this.#body(node.body)];
        return [{ kind: 'loop', test, testFirst, body, update: [] }];
      }
      case 'BreakStatement':
      case 'ContinueStatement':
        if (node.label) throw this.rejected(node, 'a label', 'leave one loop at a time');
        return [{ kind: node.type === 'BreakStatement' ? 'break' : 'continue' }];
      case 'ReturnStatement':
        return this.#return(node, node.argument ?? null);
      default: {
        const remedy = 'use variables, if, for, while and return';
        throw this.rejected(node, `a ${node.type}`, remedy);
      }
    }
  }

  #for(node: Extract<Statement, { type: 'ForStatement' }>): KernelStatement[] {
    return this.locals.within(() => {
      const { init } = node;
      const before = !init
        ? []
        : init.type === 'VariableDeclaration'
          ? this.#statement(init)
          : this.#effect(init);
      const test: KernelTest = node.test ? this.test(node.test) : { kind: 'always', value: true };
      const update = node.update ? this.#effect(node.update) : [];
      const body = this.#body(node.body);
      return [...before, { kind: 'loop', test, testFirst: true, body, update }];
    });
  }

  /** Minifiers move preceding statements into a `return`. */
  #return(node: AnyNode, value: Expression | null): KernelStatement[] {
    if (value?.type === 'SequenceExpression') {
      const last = value.expressions.at(-1)!;
      const before = value.expressions.slice(0, -1).flatMap((each) => this.#effect(each));
      return [...before, ...this.#return(node, last)];
    }
    if (value) return [{ kind: 'return', value: this.number(value) }];
    throw this.rejected(node, 'a return without a number', 'return the element of the result');
  }

  #declare(id: Pattern, init: Expression | null, hoisted: boolean): KernelStatement[] {
    if (id.type === 'ObjectPattern' && init) return this.#destructure(id, init, hoisted);
    if (id.type !== 'Identifier') {
      throw this.rejected(id, 'a pattern', 'declare variables one by one');
    }
    // A block that runs again starts with new variables.
    const value = init ? this.number(init) : literal(NaN);
    if (hoisted && !init && this.locals.hasVar(id.name)) return [];
    return [{ kind: 'set', id: this.locals.declare(id.name, hoisted), value }];
  }

  /** `const { x, y } = this.thread`. */
  #destructure(
    pattern: Extract<Pattern, { type: 'ObjectPattern' }>,
    init: Expression,
    hoisted: boolean,
  ): KernelStatement[] {
    const group = this.groupOf(init);
    return pattern.properties.map((property) => {
      const isPlain =
        group !== null &&
        property.type === 'Property' &&
        property.key.type === 'Identifier' &&
        property.value.type === 'Identifier';
      if (!isPlain) throw this.rejected(property, 'a pattern', 'declare variables one by one');
      const { key, value } = property as unknown as Record<'key' | 'value', { name: string }>;
      const read = this.fromThis(property, group, key.name);
      return { kind: 'set', id: this.locals.declare(value.name, hoisted), value: read };
    });
  }

  /** An expression whose value is discarded. */
  #effect(node: Expression): KernelStatement[] {
    switch (node.type) {
      case 'SequenceExpression':
        return node.expressions.flatMap((each) => this.#effect(each));
      case 'AssignmentExpression': {
        const id = this.#target(node.left);
        if (node.operator === '=') return [{ kind: 'set', id, value: this.number(node.right) }];
        const fn = arithmetic.get(node.operator.slice(0, -1));
        if (!fn) throw this.rejected(node, `the operator ${node.operator} in`, 'write x = …');
        return [this.#step(id, fn, this.number(node.right))];
      }
      case 'UpdateExpression': {
        const fn = node.operator === '++' ? 'add' : 'sub';
        return [this.#step(this.#target(node.argument), fn, literal(1))];
      }
      case 'ConditionalExpression': {
        const [yes, no] = [this.#effect(node.consequent), this.#effect(node.alternate)];
        return [{ kind: 'if', test: this.test(node.test), yes, no }];
      }
      case 'LogicalExpression': {
        const test = this.test(node.left);
        const then = this.#effect(node.right);
        if (node.operator === '&&') return [{ kind: 'if', test, yes: then, no: [] }];
        if (node.operator === '||') return [{ kind: 'if', test, yes: [], no: then }];
        break;
      }
    }
    throw this.rejected(node, 'a statement without effect on a variable', 'assign its value');
  }

  #step(id: number, fn: KernelBinaryFn, y: KernelNumber): KernelStatement {
    return { kind: 'set', id, value: { kind: 'binary', fn, x: { kind: 'local', id }, y } };
  }

  #target(node: AnyNode): number {
    const id = node.type === 'Identifier' ? this.locals.named(node.name) : undefined;
    if (id !== undefined) return id;
    throw this.rejected(node, 'an assignment to', 'assign to variables of the function');
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
