import type { ScalarId, ScalarTable } from '../../runtime/ops/symbolic-number.ts';
import type { Guard } from './guard.ts';
import type { NumberExpr } from './number-expr.ts';
import type { Source } from './source.ts';

/** Guards on the numbers whose value decided something while ops were bound and differentiated. */
export function neededNumbers({
  scalars,
  numbers,
}: {
  readonly scalars: ScalarTable;
  readonly numbers: readonly Source[];
}): Guard[] {
  const { nodes, values, needed } = scalars;
  const exprOf = (id: ScalarId): NumberExpr => {
    const node = nodes[id]!;
    if (node.kind === 'constant') return node;
    if (node.kind === 'input') return { kind: 'source', source: numbers[node.index]! };
    return { kind: 'apply', fn: node.fn, args: node.args.map(exprOf) };
  };
  return [...needed].map((id) => ({ kind: 'number', expr: exprOf(id), value: values[id]! }));
}
