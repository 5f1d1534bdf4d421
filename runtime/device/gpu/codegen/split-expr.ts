import { E, type Expr } from '../../../ops/expr/expr.ts';
import { nodesOf, operandsOf, withOperands } from '../../../ops/expr/expr-nodes.ts';

/** Returns the inputs that an expression reads, in ascending order. */
export function inputsOf(expr: Expr): readonly number[] {
  const found = new Set<number>();
  for (const node of nodesOf(expr)) if (node.kind === 'input') found.add(node.index);
  return [...found].sort((a, b) => a - b);
}

interface Split {
  /** Reads at most `limit` inputs. */
  readonly part: Expr;
  /** The expression with the part replaced by input `replacement`. */
  readonly rest: Expr;
}

/** Extracts a part of an expression that reads too many inputs for one kernel. */
export function splitExpr(expr: Expr, limit: number, replacement: number): Split {
  const part = largestPart(expr, limit);
  const replaced = new Map<Expr, Expr>();
  for (const node of nodesOf(expr)) {
    const operands = operandsOf(node).map((operand) => replaced.get(operand)!);
    replaced.set(node, node === part ? E.input(replacement) : withOperands(node, operands));
  }
  return { part, rest: replaced.get(expr)! };
}

/**
 * Descends to the last node that reads too many inputs. One of its at most three children reads more than a third
 * of them, so that every split makes the rest smaller.
 */
function largestPart(expr: Expr, limit: number): Expr {
  const children = operandsOf(expr);
  const tooLarge = children.find((child) => inputsOf(child).length > limit);
  if (tooLarge) return largestPart(tooLarge, limit);
  return children.reduce((a, b) => (inputsOf(b).length > inputsOf(a).length ? b : a));
}
