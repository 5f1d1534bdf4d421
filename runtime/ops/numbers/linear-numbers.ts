import type { ScalarId, ScalarTable } from './symbolic-number.ts';

/** constant + Σ times · number, over numbers of a scalar table. */
interface LinearForm {
  readonly constant: number;
  readonly terms: ReadonlyMap<ScalarId, number>;
}

/** Returns x − y if it is constant for all integer inputs of both; else undefined. */
export function knownDifference(table: ScalarTable, x: ScalarId, y: ScalarId): number | undefined {
  const { constant, terms } = sum(formOf(table, x), formOf(table, y), -1);
  return terms.size === 0 ? constant : undefined;
}

function formOf(table: ScalarTable, id: ScalarId): LinearForm {
  const term = { constant: 0, terms: new Map([[id, 1]]) };
  const node = table.nodes[id]!;
  if (node.kind === 'input') return term;
  if (node.kind === 'constant') {
    return Number.isSafeInteger(node.value) ? { constant: node.value, terms: new Map() } : term;
  }
  const zero = { constant: 0, terms: new Map<ScalarId, number>() };
  const args = node.args.map((arg) => formOf(table, arg));
  const [a, b] = args as [LinearForm, LinearForm];
  switch (node.fn) {
    case 'Number':
      return a;
    case 'negate':
      return sum(zero, a, -1);
    case '+':
      return sum(a, b, 1);
    case '-':
      return sum(a, b, -1);
    case '*':
      if (b.terms.size === 0) return sum(zero, a, b.constant);
      return a.terms.size === 0 ? sum(zero, b, a.constant) : term;
    default:
      return term;
  }
}

/** a + times · b */
function sum(a: LinearForm, b: LinearForm, times: number): LinearForm {
  const terms = new Map(a.terms);
  for (const [id, more] of b.terms) {
    const total = (terms.get(id) ?? 0) + more * times;
    if (total === 0) terms.delete(id);
    else terms.set(id, total);
  }
  return { constant: a.constant + b.constant * times, terms };
}
