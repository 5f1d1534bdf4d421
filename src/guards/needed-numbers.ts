import type { ScalarId, ScalarTable } from '../../runtime/ops/numbers/symbolic-number.ts';
import type { Guard } from './guard.ts';
import type { NumberExpr } from './number-expr.ts';
import type { Source } from './source.ts';

/**
 * Guards on numbers, and on comparisons of numbers, that a decision depended on while ops were bound and
 * differentiated.
 */
export function neededNumbers({
  scalars,
  numbers,
}: {
  readonly scalars: ScalarTable;
  readonly numbers: readonly Source[];
}): Guard[] {
  const { nodes, values, needed, decisions } = scalars;
  const exprOf = (id: ScalarId): NumberExpr => {
    const node = nodes[id]!;
    if (node.kind === 'constant') return node;
    if (node.kind === 'input') return { kind: 'source', source: numbers[node.index]! };
    return { kind: 'apply', fn: node.fn, args: node.args.map(exprOf) };
  };
  const compared = [...decisions.values()].map(
    ({ fn, args, value }): Guard => ({
      kind: 'number',
      expr: { kind: 'apply', fn, args: args.map(exprOf) },
      value,
    }),
  );
  const whole = [...needed].map(
    (id): Guard => ({ kind: 'number', expr: exprOf(id), value: values[id]! }),
  );
  return [...compared, ...whole];
}
