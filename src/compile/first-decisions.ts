import type { ScalarTable } from '../../runtime/ops/numbers/symbolic-number.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import { scalarTableOf } from '../../runtime/program/scalars.ts';
import type { Steps } from '../programs/steps.ts';

/**
 * Compiles with a program's device scalars, which gradient rules may depend on: those of its first compilation if it is
 * compiled again.
 */
export function withFirstDecisions<A extends unknown[], T>(
  program: Program,
  compile: (...args: A) => T,
): (...args: A) => T {
  const table = tableOf(program);
  if (!table) return compile;
  const numbers = table.inputs();
  return (...args) => table.withInputs(numbers, () => compile(...args)).result;
}

/** Returns steps that use the device scalars of the first run, whenever they run. */
export function stepsWithFirstDecisions<T>(program: Program, steps: Steps<T>): Steps<T> {
  const table = tableOf(program);
  return table ? stepsWith(table, table.inputs(), steps) : steps;
}

function* stepsWith<T>(table: ScalarTable, numbers: readonly number[], steps: Steps<T>): Steps<T> {
  for (;;) {
    const { done, value } = table.withInputs(numbers, () => steps.next()).result;
    if (done) return value;
    yield;
  }
}

/** Returns the scalar table of a program, which its regions share. */
export function tableOf(program: Program): ScalarTable | undefined {
  return scalarTableOf(opsWithin(program));
}

function opsWithin({ ops }: Program): ProgramOp[] {
  return ops.flatMap((op) => [
    op,
    ...(op.regions ?? []).flatMap((each) => opsWithin(each.program)),
  ]);
}
