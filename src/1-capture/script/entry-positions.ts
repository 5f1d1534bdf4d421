import type { AnyNode, Expression, MemberExpression, Statement } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import { isFunctionNode } from '../../vm/syntax/function-node.ts';
import type { FunctionFacts } from './binding.ts';
import { isImplicit } from './implicit-constructor.ts';

export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

export interface EntryRanges {
  /** Breaks at all positions in these ranges stop a call before any effect of its body. */
  readonly ranges: readonly OffsetRange[];
  /** Set if the scope can't be taken at the first possible break. */
  readonly unsafe?: { readonly node: AnyNode; readonly why: string };
}

/**
 * Returns the positions that a call can reach first. This isn't simply the first position in the text: parameter
 * defaults are skipped, `for (;; i++) { … }` runs its body first, and a class in the body runs its static blocks.
 * Breaking everywhere would be correct too, but costs 0.4 ms per position.
 *
 * `breaks(range)`: whether the engine can stop within the range, in the function itself.
 */
export function entryRanges(
  facts: FunctionFacts,
  breaks: (range: OffsetRange) => boolean,
): EntryRanges {
  const { node } = facts;
  const ranges: OffsetRange[] = [];
  const arm = (part: AnyNode): void => void ranges.push(rangeOf(part));
  // Parts that may run, wholly or partly, before the engine can stop.
  const passed: AnyNode[] = [];

  for (const field of fieldInitializers(facts)) arm(field);
  for (const parameter of node.params as AnyNode[]) {
    arm(parameter);
    passed.push(parameter);
  }
  if (node.body.type !== 'BlockStatement') arm(node.body);
  else if (!armStatements(node.body.body)) ranges.push({ from: node.body.end - 1, to: node.end });

  const effect = firstOf(passed, effectWithoutBreak);
  if (effect) return { ranges, unsafe: { node: effect, why: 'a computed key would run' } };
  const inside = isReadableInStatics(facts) ? undefined : firstOf(passed, staticInitializer);
  if (!inside) return { ranges };
  return { ranges, unsafe: { node: inside, why: 'a static block or field begins' } };

  /** Returns true if a statement is certain to stop. */
  function armStatements(statements: readonly Statement[]): boolean {
    return statements.some(armStatement);
  }

  function armStatement(statement: Statement): boolean {
    if (statement.type === 'FunctionDeclaration') return false;
    if (statement.type === 'BlockStatement') return armStatements(statement.body);
    if (statement.type === 'LabeledStatement') return armStatement(statement.body);
    if (statement.type === 'TryStatement' && armStatements(statement.block.body)) return true;
    if (statement.type === 'DoWhileStatement' && armStatement(statement.body)) return true;
    const head = firstPart(statement);
    if (head && breaks(rangeOf(head))) {
      arm(head);
      return true;
    }
    arm(statement);
    passed.push(statement);
    return false;
  }
}

/**
 * Returns whether the engine's breakpoint on calls of a function may come after its entry. V8 gives an optional chain
 * the position 0. If a loop tests such a chain, or if it follows a comma, position 0 is a possible breakpoint, and the
 * first in the text.
 */
const mayStopLate = ({ node }: FunctionFacts): boolean => childrenOf(node).some(hasChain);

function hasChain(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  return node.type === 'ChainExpression' || childrenOf(node).some(hasChain);
}

/**
 * Returns where a call stops first, if the text determines it: at the function's first position in the text
 * (`'first'`), where a breakpoint on its calls is, or at an offset. V8 stops at the start of a statement before running
 * any of it, and gives a method call the position of the method's name. Undefined if something may run earlier.
 */
export function firstStop(facts: FunctionFacts): 'first' | number | undefined {
  const { node, classNode } = facts;
  if (classNode || node.generator || node.async) return undefined;
  if (!node.params.every(({ type }) => type === 'Identifier')) return undefined;
  if (mayStopLate(facts)) return undefined;
  if (node.body.type !== 'BlockStatement') return firstStopOf(node.body);
  const [statement] = node.body.body;
  if (statement?.type === 'VariableDeclaration') {
    const [declared] = statement.declarations;
    return declared?.id.type === 'Identifier' && declared.init ? 'first' : undefined;
  }
  const isSimple =
    statement?.type === 'ExpressionStatement' || statement?.type === 'ReturnStatement';
  return isSimple ? 'first' : undefined;
}

/** Returns the first stop of a returned expression, whose position may come after those of its parts. */
function firstStopOf(value: Expression): 'first' | number | undefined {
  if (value.type === 'ArrayExpression' || value.type === 'ObjectExpression') return 'first';
  if (value.type !== 'CallExpression') return undefined;
  const { callee } = value;
  if (callee.type === 'Identifier') return 'first';
  if (callee.type !== 'MemberExpression' || callee.computed || callee.optional) return undefined;
  return isPath(callee.object) ? 'first' : callee.property.start;
}

/** Returns true for names and property reads, which have no stops. */
function isPath(node: AnyNode): boolean {
  if (node.type === 'Identifier' || node.type === 'ThisExpression') return true;
  return (
    node.type === 'MemberExpression' && !node.computed && !node.optional && isPath(node.object)
  );
}

const rangeOf = (node: AnyNode): OffsetRange => ({ from: node.start, to: node.end });

/** Returns the part of a statement that always runs first. */
function firstPart(statement: Statement): AnyNode | undefined {
  switch (statement.type) {
    case 'ExpressionStatement':
    case 'ReturnStatement':
    case 'ThrowStatement':
    case 'VariableDeclaration':
      return statement;
    case 'IfStatement':
    case 'WhileStatement':
      return statement.test;
    case 'SwitchStatement':
      return statement.discriminant;
    case 'ForStatement':
      return statement.init ?? (statement.test as Expression | null) ?? undefined;
    case 'ForInStatement':
    case 'ForOfStatement':
      return statement.right;
    default:
      return undefined;
  }
}

/** A base class initializes its fields before its constructor runs. */
function fieldInitializers({ classNode }: FunctionFacts): AnyNode[] {
  if (!classNode || (classNode.superClass && !isImplicit(classNode))) return [];
  return classNode.body.body.flatMap((member) =>
    member.type === 'PropertyDefinition' && !member.static && member.value ? [member.value] : [],
  );
}

function firstOf(
  nodes: readonly AnyNode[],
  find: (node: AnyNode) => AnyNode | undefined,
): AnyNode | undefined {
  for (const node of nodes) {
    const found = find(node);
    if (found) return found;
  }
  return undefined;
}

/**
 * Returns whether the scope can be taken in a static block or field. These have a `this` of their own, and V8 finds
 * imported variables there only once: reading one through a second evaluator ends the process.
 */
function isReadableInStatics({ kind, free, usesThis, usesSuper }: FunctionFacts): boolean {
  if (usesSuper || (kind === 'arrow' && usesThis)) return false;
  return [...free.values()].every((binding) => binding?.kind !== 'import');
}

/** Returns a static block, or the value of a static field, of a class in `node`. */
function staticInitializer(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return undefined;
  if (node.type === 'StaticBlock') return node;
  if (node.type === 'PropertyDefinition' && node.static && node.value) return node.value;
  return firstOf(childrenOf(node), staticInitializer);
}

/**
 * Finds effects without a possible breakpoint: computed keys of patterns and classes are evaluated without one
 * unless they contain a call. An assignment there would take place, and a property could be a getter.
 */
function effectWithoutBreak(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return undefined;
  if ('computed' in node && node.computed && 'key' in node) {
    const effect = findEffect(node.key as AnyNode);
    if (effect) return effect;
  }
  return firstOf(childrenOf(node), effectWithoutBreak);
}

function findEffect(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return undefined;
  if (node.type === 'AssignmentExpression' || node.type === 'UpdateExpression') return node;
  if (node.type === 'UnaryExpression' && node.operator === 'delete') return node;
  if (node.type === 'MemberExpression' && !isSymbolConstant(node)) return node;
  return firstOf(childrenOf(node), findEffect);
}

/** `Symbol.iterator` and other well-known symbols. */
const isSymbolConstant = ({ object, computed }: MemberExpression): boolean =>
  !computed && object.type === 'Identifier' && object.name === 'Symbol';
