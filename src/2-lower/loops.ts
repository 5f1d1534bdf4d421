import type {
  DoWhileStatement,
  ForInStatement,
  ForOfStatement,
  ForStatement,
  WhileStatement,
} from 'acorn';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import { lowerForAwait } from './for-await.ts';
import type { Lowering } from './lowering.ts';
import { contains } from './scopes/bindings.ts';
import { spanOf } from './syntax/nodes.ts';
import { disposeAfter, isUsing, lowerUsing } from './using.ts';

export function lowerWhile(l: Lowering, node: WhileStatement): void {
  const next = l.code.label();
  const end = l.code.label();
  l.code.bind(next);
  l.condition(node.test, end, false);
  l.targets.within({ next, end }, () => l.statement(node.body));
  l.code.jump(next, { start: node.end, end: node.end });
  l.code.bind(end);
}

export function lowerDoWhile(l: Lowering, node: DoWhileStatement): void {
  const start = l.code.label();
  const next = l.code.label();
  const end = l.code.label();
  l.code.bind(start);
  l.targets.within({ next, end }, () => l.statement(node.body));
  l.code.bind(next);
  l.condition(node.test, start, true);
  l.code.bind(end);
}

export function lowerFor(l: Lowering, node: ForStatement): void {
  const { init } = node;
  l.variables.enter(node);
  if (init?.type === 'VariableDeclaration') {
    if (isUsing(init)) {
      lowerUsing(l, init, () => lowerRounds(l, node));
      return;
    }
    l.statement(init);
  } else if (init) l.effect(init);
  lowerRounds(l, node);
}

/** Lowers a `for` loop after its declarations. */
function lowerRounds(l: Lowering, node: ForStatement): void {
  const start = l.code.label();
  const next = l.code.label();
  const end = l.code.label();
  // A closure in the head captures the variables of the head, which are separate from the first iteration's.
  if (node.init && hasFunction(l, node.init)) l.variables.renewCells(node);
  l.code.bind(start);
  if (node.test) l.condition(node.test, end, false);
  l.targets.within({ next, end }, () => l.statement(node.body));
  l.code.bind(next);
  l.variables.renewCells(node);
  if (node.update) l.effect(node.update);
  l.code.jump(start, { start: node.end, end: node.end });
  l.code.bind(end);
}

const hasFunction = (l: Lowering, text: Span): boolean =>
  [...l.analysis.functions.keys()].some(({ start }) => contains(text, start));

type ForEach = ForInStatement | ForOfStatement;

export function lowerForEach(l: Lowering, node: ForEach): void {
  if (node.type === 'ForOfStatement' && node.await) {
    lowerForAwait(l, node, (value) => storeElement(l, node, value));
    return;
  }
  const { left, right } = node;
  const next = l.code.label();
  const end = l.code.label();
  const mark = l.code.mark();
  // `for (const x of f(() => x))`: the iterable captures a variable that is never initialized.
  if (l.variables.areUsedEarly(node)) l.variables.enter(node);
  const iterator = l.code.temp();
  // Sloppy mode: `for (var x = 1 in o)`.
  if (left.type === 'VariableDeclaration' && left.declarations[0]!.init) l.statement(left);
  const object = l.expression(right);
  if (node.type === 'ForOfStatement') {
    l.code.emit({ op: 'getIterator', dst: iterator, iterable: object }, spanOf(right));
  } else l.code.emit({ op: 'getKeyIterator', dst: iterator, object }, spanOf(right));
  l.code.release(mark);
  l.code.temp(); // reserves the iterator's register until the end of the loop

  l.code.bind(next);
  const bodyMark = l.code.mark();
  l.variables.enter(node);
  const value = directTarget(l, node) ?? l.code.temp();
  l.code.iteratorNext(value, iterator, end, spanOf(left));
  storeElement(l, node, value);
  const close = (span: Span): void => l.code.emit({ op: 'iteratorClose', iterator }, span);
  if (isUsing(left)) {
    l.targets.within({ next, end, close }, () => lowerUsingElement(l, node, value));
    l.code.release(bodyMark);
  } else {
    l.code.release(bodyMark);
    l.targets.within({ next, end, close }, () => l.statement(node.body));
  }
  l.code.jump(next, { start: node.end, end: node.end });
  l.code.bind(end);
  l.code.release(mark);
}

/** Lowers the body of `for (using x of …)`, which disposes each element. */
function lowerUsingElement(l: Lowering, { left, body }: ForEach, value: Reg): void {
  disposeAfter(l, value, spanOf(left), () => l.statement(body));
}

/** Returns the loop variable's own register if elements can be written to it directly. */
function directTarget(l: Lowering, node: ForEach): Reg | undefined {
  const { left } = node;
  const name = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
  if (name.type !== 'Identifier') return undefined;
  return l.variables.destination(name, name, true);
}

function storeElement(l: Lowering, { left }: ForEach, value: Reg): void {
  if (left.type === 'VariableDeclaration') {
    l.target(left.declarations[0]!.id, 'declare')(value, spanOf(left));
  } else l.target(left, 'assign')(value, spanOf(left));
}
