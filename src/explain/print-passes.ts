import { printProgram } from '../../runtime/program/print.ts';
import type { PassRecord } from '../programs/pass-record.ts';
import type { PrintedStage } from './print-stages.ts';

/**
 * Prints the program after each run of these passes, in execution order, then the passes that have not
 * run.
 */
export function printPasses(
  records: readonly PassRecord[],
  passes: readonly string[],
): PrintedStage[] {
  const ran = new Set(records.map(({ pass }) => pass));
  return [
    ...records
      .filter(({ pass }) => passes.includes(pass))
      .map(({ pass, stage, applied, program }) => ({
        title: `after ${pass}, stage ${stage}${applied ? '' : ' (unchanged)'}`,
        text: printProgram(program),
      })),
    ...passes
      .filter((pass) => !ran.has(pass))
      .map((pass) => ({
        title: `after ${pass} (not run)`,
        text: 'The pass is disabled, or no program reached a stage at which it runs.\n',
      })),
  ];
}
