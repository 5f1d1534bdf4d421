import { E, type Expr } from './expr.ts';

/**
 * Traversals of expressions. After fusion, expressions are graphs in which exponentially many paths may lead to a node,
 * so code that walks a whole expression must use these.
 */

export function operandsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'input':
    case 'const':
    case 'attr':
      return [];
    case 'unary':
      return [expr.x];
    case 'binary':
    case 'compare':
      return [expr.x, expr.y];
    case 'select':
      return [expr.test, expr.then, expr.otherwise];
    case 'precision':
      return [expr.single, expr.double];
    case 'double':
      return expr.operands;
  }
}

/** Returns the node with other operands, in the order of `operandsOf`. */
export function withOperands(expr: Expr, operands: readonly Expr[]): Expr {
  const [x, y, z] = operands as [Expr, Expr, Expr];
  switch (expr.kind) {
    case 'input':
    case 'const':
    case 'attr':
      return expr;
    case 'unary':
      return { ...expr, x };
    case 'binary':
    case 'compare':
      return { ...expr, x, y };
    case 'select':
      return E.select(x, y, z);
    case 'precision':
      return E.precision(x, y);
    case 'double':
      return { ...expr, operands };
  }
}

const knownNodes = new WeakMap<Expr, readonly Expr[]>();

/** Returns every node once, operands before their users. */
export function nodesOf(expr: Expr): readonly Expr[] {
  let nodes = knownNodes.get(expr);
  if (!nodes) {
    nodes = findNodes(expr);
    knownNodes.set(expr, nodes);
  }
  return nodes;
}

function findNodes(expr: Expr): readonly Expr[] {
  const found = new Set<Expr>();
  const visit = (node: Expr): void => {
    if (found.has(node)) return;
    for (const operand of operandsOf(node)) visit(operand);
    found.add(node);
  };
  visit(expr);
  return [...found];
}

/** Returns the text of a node without its operands; numbers are exact, including NaN, infinities and −0. */
function labelOf(expr: Expr): string {
  switch (expr.kind) {
    case 'input':
      return `input ${expr.index}`;
    case 'const':
      return `const ${Object.is(expr.value, -0) ? '-0' : expr.value}`;
    case 'attr':
      return `attr ${expr.name}`;
    case 'unary':
    case 'binary':
    case 'compare':
      return expr.fn;
    case 'select':
    case 'precision':
      return expr.kind;
    case 'double':
      return `double ${expr.fn}`;
  }
}

const knownTexts = new WeakMap<Expr, string>();

/** Returns text that is equal for structurally equal expressions: one line per node, operands by line number. */
export function textOf(expr: Expr): string {
  let text = knownTexts.get(expr);
  if (text === undefined) {
    text = writeText(expr);
    knownTexts.set(expr, text);
  }
  return text;
}

function writeText(expr: Expr): string {
  const lines = new Map<Expr, number>();
  const byText = new Map<string, number>();
  for (const node of nodesOf(expr)) {
    const text = [labelOf(node), ...operandsOf(node).map((operand) => lines.get(operand))].join(
      ' ',
    );
    const line = byText.get(text) ?? byText.size;
    byText.set(text, line);
    lines.set(node, line);
  }
  return [...byText.keys()].join('\n');
}
