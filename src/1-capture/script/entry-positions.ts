import type { AnyNode, Expression, MemberExpression, Statement } from 'acorn';
import { childrenOf } from '../../vm/syntax/children.ts';
import type { FunctionFacts } from './binding.ts';
import { isFunctionNode } from './hoist.ts';

export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

export interface EntryRanges {
  /** A break at every position in here stops a call before any effect of the body. */
  readonly ranges: readonly OffsetRange[];
  /** Set when something runs before the first possible break. */
  readonly unsafe?: AnyNode;
}

/**
 * The places that a call can reach first. Not simply the first place in the text: defaults of
 * parameters are skipped, `for (;; i++) { … }` runs its body first, and a class in the body runs
 * its static blocks. Breaking everywhere would be right too, but costs 0.4 ms a place.
 *
 * `breaks(range)`: whether the engine can stop in the range, in the function itself.
 */
export function entryRanges(
  facts: FunctionFacts,
  breaks: (range: OffsetRange) => boolean,
): EntryRanges {
  const { node } = facts;
  const ranges: OffsetRange[] = [];
  const arm = (part: AnyNode): void => void ranges.push(rangeOf(part));
  // Parts that may run, in whole or in part, before the engine can stop.
  const passed: AnyNode[] = [];

  for (const field of fieldInitializers(facts)) arm(field);
  for (const parameter of node.params as AnyNode[]) {
    arm(parameter);
    passed.push(parameter);
  }
  if (node.body.type !== 'BlockStatement') arm(node.body);
  else if (!armStatements(node.body.body)) ranges.push({ from: node.body.end - 1, to: node.end });

  const unsafe = passed.map(effectWithoutBreak).find((effect) => effect !== undefined);
  return unsafe ? { ranges, unsafe } : { ranges };

  /** True when a statement is certain to stop. */
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
 * Whether the engine's breakpoint on a function's calls may lie after its entry. V8 gives an optional chain the place
 * 0; where a loop tests one, or one stands after a comma, that is a place to stop, and the first in the text.
 */
const mayStopLate = ({ node }: FunctionFacts): boolean => childrenOf(node).some(hasChain);

function hasChain(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  return node.type === 'ChainExpression' || childrenOf(node).some(hasChain);
}

/**
 * Where a call stops first, as far as the text tells: at the first of the function's places in the text (`'first'`),
 * where a breakpoint on its calls is, or at an offset. V8 stops where a statement begins before it runs any of it, and
 * gives a method call the place of the method's name. Undefined where something may run earlier.
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

/** Returns the first stop of an expression that is returned: its place may lie after those of its parts. */
function firstStopOf(value: Expression): 'first' | number | undefined {
  if (value.type === 'ArrayExpression' || value.type === 'ObjectExpression') return 'first';
  if (value.type !== 'CallExpression') return undefined;
  const { callee } = value;
  if (callee.type === 'Identifier') return 'first';
  if (callee.type !== 'MemberExpression' || callee.computed || callee.optional) return undefined;
  return isPath(callee.object) ? 'first' : callee.property.start;
}

/** Names and properties, where nothing stops. */
function isPath(node: AnyNode): boolean {
  if (node.type === 'Identifier' || node.type === 'ThisExpression') return true;
  return (
    node.type === 'MemberExpression' && !node.computed && !node.optional && isPath(node.object)
  );
}

const rangeOf = (node: AnyNode): OffsetRange => ({ from: node.start, to: node.end });

/** The part of a statement that runs first, whenever the statement runs. */
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

/** A base class initialises its fields before its constructor runs. */
function fieldInitializers({ classNode }: FunctionFacts): AnyNode[] {
  if (!classNode || (classNode.superClass && !isImplicit(classNode))) return [];
  return classNode.body.body.flatMap((member) =>
    member.type === 'PropertyDefinition' && !member.static && member.value ? [member.value] : [],
  );
}

export const isImplicit = (classNode: NonNullable<FunctionFacts['classNode']>): boolean =>
  !classNode.body.body.some(
    (member) => member.type === 'MethodDefinition' && member.kind === 'constructor',
  );

/**
 * Computed keys of patterns and classes are evaluated without a place to stop, unless they call
 * something. An assignment there would happen, a property could be a getter.
 */
function effectWithoutBreak(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return undefined;
  if ('computed' in node && node.computed && 'key' in node) {
    const effect = findEffect(node.key as AnyNode);
    if (effect) return effect;
  }
  for (const child of childrenOf(node)) {
    const effect = effectWithoutBreak(child);
    if (effect) return effect;
  }
  return undefined;
}

function findEffect(node: AnyNode): AnyNode | undefined {
  if (isFunctionNode(node)) return undefined;
  if (node.type === 'AssignmentExpression' || node.type === 'UpdateExpression') return node;
  if (node.type === 'UnaryExpression' && node.operator === 'delete') return node;
  if (node.type === 'MemberExpression' && !isSymbolConstant(node)) return node;
  for (const child of childrenOf(node)) {
    const effect = findEffect(child);
    if (effect) return effect;
  }
  return undefined;
}

/** `Symbol.iterator` and its like. */
const isSymbolConstant = ({ object, computed }: MemberExpression): boolean =>
  !computed && object.type === 'Identifier' && object.name === 'Symbol';
