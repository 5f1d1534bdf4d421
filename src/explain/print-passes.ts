import { printProgram } from '../../runtime/program/print.ts';
import type { PassRecord } from '../programs/pass-record.ts';
import type { PrintedStage } from './print-stages.ts';

/** Prints the program after each run of the passes in `wanted`, in execution order. */
export function printPasses(
  records: readonly PassRecord[],
  wanted: readonly string[],
): PrintedStage[] {
  return records
    .filter(({ pass }) => wanted.includes(pass))
    .map(({ pass, stage, applied, program }) => ({
      title: `after ${pass}, stage ${stage}${applied ? '' : ' (unchanged)'}`,
      text: printProgram(program),
    }));
}
