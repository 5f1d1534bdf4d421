import type { Plan, PlannedSubgraph } from '../../../runtime/program/plan.ts';

/** Steps, memory and predictions of all plans of a subgraph. */
export function planText({ forward, backward }: PlannedSubgraph): string {
  const parts = [forward, backward?.plan, backward?.retainingPlan];
  return parts.flatMap((plan) => (plan ? [textOf(plan)] : [])).join('\n');
}

function textOf({ steps, arenaBytes, predicted }: Plan): string {
  const lines = steps.map(({ op, reuses, frees, places }) =>
    JSON.stringify([op.op.name, op.inputs, op.outputs, reuses, frees, places]),
  );
  return [...lines, JSON.stringify([arenaBytes, predicted])].join('\n');
}
