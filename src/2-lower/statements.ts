import type { AnyNode, Statement, VariableDeclaration } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import { lowerReturn } from './generators.ts';
import { lowerDoWhile, lowerFor, lowerForEach, lowerWhile } from './loops.ts';
import type { Lowering, StatementRule } from './lowering.ts';
import { clause, declaredFunction, spanOf } from './syntax/nodes.ts';
import { writesOnce } from './syntax/writes-once.ts';
import { lowerTry } from './try.ts';
import { isUsing, lowerUsing } from './using.ts';

/** Rejected before lowering starts. */
const refused = (_lowering: Lowering, node: AnyNode): never => {
  invariant(false, `${node.type} was refused`);
};

const statementRules: { readonly [T in Statement['type']]: StatementRule<T> } = {
  ExpressionStatement: (l, node) => l.effect(node.expression),
  EmptyStatement: () => {},
  DebuggerStatement: () => {},
  VariableDeclaration: lowerVariables,
  // Created at the start of the block.
  FunctionDeclaration(l, node) {
    const block = l.analysis.blockFunctions.get(node);
    if (!block) return;
    const mark = l.code.mark();
    const src = l.variables.load(block.from, spanOf(node));
    const { name } = node.id;
    if (block.to) l.variables.store(block.to, src, spanOf(node));
    else l.code.emit({ op: 'storeFree', name, src }, spanOf(node));
    l.code.release(mark);
  },
  BlockStatement(l, node) {
    l.variables.enter(node);
    l.statements(node.body);
  },
  IfStatement(l, node) {
    const otherwise = l.code.label();
    l.condition(node.test, otherwise, false);
    l.statement(clause(node.consequent));
    if (!node.alternate) {
      l.code.bind(otherwise);
      return;
    }
    const end = l.code.label();
    l.code.jump(end, { start: node.consequent.end, end: node.consequent.end });
    l.code.bind(otherwise);
    l.statement(clause(node.alternate));
    l.code.bind(end);
  },
  WhileStatement: lowerWhile,
  DoWhileStatement: lowerDoWhile,
  ForStatement: lowerFor,
  ForInStatement: lowerForEach,
  ForOfStatement: lowerForEach,
  SwitchStatement(l, node) {
    const mark = l.code.mark();
    const lastTest = node.cases.findLast(({ test }) => test)?.test;
    const value = l.operand(node.discriminant, lastTest?.end ?? node.discriminant.end);
    l.variables.enter(node);
    hoistFunctions(
      l,
      node.cases.flatMap(({ consequent }) => consequent),
    );
    const end = l.code.label();
    const branches = node.cases.map((branch) => ({ branch, start: l.code.label() }));
    for (const { branch, start } of branches) {
      if (!branch.test) continue;
      const testMark = l.code.mark();
      const result = l.code.temp();
      const right = l.expression(branch.test);
      const span = spanOf(branch.test);
      l.code.emit({ op: 'binary', dst: result, operator: '===', left: value, right }, span);
      l.code.jumpOn('jumpIf', result, start, span);
      l.code.release(testMark);
    }
    const otherwise = branches.find(({ branch }) => !branch.test);
    l.code.jump(otherwise?.start ?? end, { start: node.start, end: node.start });
    l.code.release(mark);
    l.targets.within({ end }, () => {
      for (const { branch, start } of branches) {
        l.code.bind(start);
        for (const statement of branch.consequent) l.statement(statement);
      }
    });
    l.code.bind(end);
  },
  LabeledStatement(l, node) {
    l.targets.addLabel(node.label.name);
    if (labelsItself.has(node.body.type)) {
      l.statement(node.body);
      return;
    }
    const end = l.code.label();
    l.targets.withinBlock(end, () => l.statement(node.body));
    l.code.bind(end);
  },
  BreakStatement: (l, node) => l.targets.break(node.label?.name, spanOf(node)),
  ContinueStatement: (l, node) => l.targets.continue(node.label?.name, spanOf(node)),
  ReturnStatement(l, node) {
    const mark = l.code.mark();
    const span = spanOf(node);
    if (node.argument) lowerReturn(l, l.expression(node.argument), span);
    else l.targets.return(l.code.constant(undefined, span), span);
    l.code.release(mark);
  },
  ThrowStatement(l, node) {
    const mark = l.code.mark();
    const src = l.expression(node.argument);
    l.code.emit({ op: 'throw', src }, spanOf(node));
    l.code.release(mark);
  },
  TryStatement: lowerTry,
  ClassDeclaration(l, node) {
    const mark = l.code.mark();
    const value = l.classOf(node, node.id.name);
    l.variables.initialize(node.id, value, spanOf(node));
    l.code.release(mark);
  },
  WithStatement: refused,
};

const labelsItself: ReadonlySet<string> = new Set([
  'LabeledStatement',
  'WhileStatement',
  'DoWhileStatement',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'SwitchStatement',
]);

export function lowerStatement(l: Lowering, node: Statement): void {
  (statementRules[node.type] as (l: Lowering, node: Statement) => void)(l, node);
}

/** Lowers a block's statements. Functions are created first, wherever they are declared. */
export function lowerStatements(l: Lowering, nodes: readonly Statement[]): void {
  hoistFunctions(l, nodes);
  lowerFrom(l, nodes, 0);
}

function lowerFrom(l: Lowering, nodes: readonly Statement[], start: number): void {
  for (let at = start; at < nodes.length; at++) {
    const node = nodes[at]!;
    if (isUsing(node)) {
      lowerUsing(l, node, () => lowerFrom(l, nodes, at + 1));
      return;
    }
    l.statement(node);
  }
}

function hoistFunctions(l: Lowering, nodes: readonly Statement[]): void {
  for (const statement of nodes) {
    const node = declaredFunction(statement);
    if (!node) continue;
    const mark = l.code.mark();
    const dst = l.variables.destination(node.id, node.id, true);
    const value = l.closure({ node, kind: 'function', name: node.id.name }, dst);
    l.variables.initialize(node.id, value, spanOf(node));
    l.code.release(mark);
  }
}

function lowerVariables(l: Lowering, node: VariableDeclaration): void {
  for (const { id, init, start, end } of node.declarations) {
    const mark = l.code.mark();
    const span = { start, end };
    if (id.type !== 'Identifier') {
      invariant(init, 'only loops declare a pattern without a value');
      // The pattern precedes its value in the text, but is evaluated after it.
      const value = l.stable(l.expression(init), id, spanOf(init));
      l.target(id, 'declare')(value, spanOf(init), init);
    } else if (init) {
      const dst = l.variables.destination(id, init, writesOnce(init));
      const value = l.named(init, id.name, dst);
      l.variables.initialize(id, value, span);
    } else if (node.kind !== 'var') {
      const dst = l.variables.destination(id, id, true) ?? l.code.temp();
      l.code.emit({ op: 'const', dst, value: undefined }, span);
      l.variables.initialize(id, dst, span);
    }
    l.code.release(mark);
  }
}
