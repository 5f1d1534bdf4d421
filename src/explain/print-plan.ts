import type { Plan } from '../../runtime/program/plan.ts';
import { printValue } from '../../runtime/program/print.ts';

/**
 * Prints a plan deterministically:
 *
 *   plan  = step* "returns" values ["then frees" values] memory
 *   step  = [values "="] name operands ["in the memory of" value] ["frees" values]
 */
export function printPlan(plan: Plan): string {
  const lines = plan.steps.map(({ op, reuses, frees }) => {
    const outputs = op.outputs.map(printValue).join(', ');
    const name = outputs === '' ? op.op.name : `${outputs} = ${op.op.name}`;
    const call = `${name} ${op.inputs.map(printValue).join(', ')}`.trimEnd();
    const reused = reuses.flatMap((id) => (id === null ? [] : [printValue(id)]));
    const notes = [
      ...(reused.length > 0 ? [`in the memory of ${reused.join(', ')}`] : []),
      ...(frees.length > 0 ? [`frees ${frees.map(printValue).join(', ')}`] : []),
    ];
    return `  ${call.padEnd(34)} ${notes.join('; ')}`.trimEnd();
  });
  const { peakBytes, savedBytes, outputBytes } = plan.predicted;
  const atEnd = plan.freesAtEnd.length > 0 ? `, then frees ${list(plan.freesAtEnd)}` : '';
  return `${[
    ...lines,
    `  returns ${list(plan.outputs)}${atEnd}`,
    `  peak ${peakBytes} bytes; stays: ${savedBytes} bytes saved, ${outputBytes} bytes of outputs`,
  ].join('\n')}\n`;
}

function list(ids: Plan['outputs']): string {
  return ids.length === 0 ? 'nothing' : [...new Set(ids)].map(printValue).join(', ');
}
