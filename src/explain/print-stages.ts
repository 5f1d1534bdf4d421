import { printProgram } from '../../runtime/program/print.ts';
import { printGuard } from '../guards/print-guard.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { Code } from '../vm/bytecode/code.ts';
import { printCode } from '../vm/bytecode/print.ts';
import { printPlan } from './print-plan.ts';

/** The stages of a captured function that can be printed, in the order of processing. */
export const stageNames = [
  'source',
  'bytecode',
  'guards',
  'program',
  'joint',
  'split',
  'plan',
] as const;
export type StageName = (typeof stageNames)[number];

export interface PrintedStage {
  readonly title: string;
  readonly text: string;
}

/** Prints the stages of one function; parts without a tensor op are omitted. */
export function printStages(
  code: Code,
  parts: readonly CompiledPart[],
  included: readonly StageName[] = stageNames,
): PrintedStage[] {
  const stages: PrintedStage[] = [];
  const add = (name: StageName, title: string, text: () => string) => {
    if (included.includes(name)) stages.push({ title, text: text() });
  };
  add('source', 'source', () => originalLines(code));
  add('bytecode', 'bytecode', () => printCode(code));
  const withOps = parts.filter(({ stages }) => stages !== null);
  withOps.forEach((part, index) => {
    const label = (text: string) => (withOps.length > 1 ? `subgraph ${index}: ${text}` : text);
    const names = { codes: part.trace.codes, pcs: part.trace.pcs };
    const { traced, joint, forward, backward, planned } = part.stages!;
    add('guards', label('guards'), () =>
      part.trace.guards.map((guard) => `  ${printGuard(guard, names)}\n`).join(''),
    );
    add('program', label('program'), () => printProgram(traced));
    if (joint) add('joint', label('joint program'), () => printProgram(joint));
    add('split', label('forward'), () => printProgram(forward));
    if (backward) add('split', label('backward'), () => printProgram(backward));
    add('plan', label('plan of forward'), () => printPlan(planned.forward));
    if (planned.backward) {
      const { plan, saved } = planned.backward;
      const ids = (list: readonly number[]) => list.map((id) => `%${id}`).join(', ') || 'nothing';
      add(
        'plan',
        label('plan of backward'),
        () =>
          `  saved: ${ids(saved.withData)}; shape only: ${ids(saved.noNeedBuffer)}\n${printPlan(plan)}`,
      );
    }
  });
  return stages;
}

/**
 * Returns lines of the user's file, if the script's source map maps them. A source map ends at the last expression, so
 * the closing brackets are found by counting.
 */
function originalLines({ source, span, spans }: Code): string {
  const from = source.position(span.start);
  const last = Math.max(...spans.map(({ start }) => source.position(start).line));
  const lines: string[] = [];
  let depth = 0;
  for (let number = from.line; ; number++) {
    const line = source.line(from.file, number);
    if (line === undefined) return `${source.text.slice(span.start, span.end)}\n`;
    lines.push(line);
    for (const character of line) {
      if ('([{'.includes(character)) depth++;
      else if (')]}'.includes(character)) depth--;
    }
    if (number >= last && depth <= 0) return `${lines.join('\n')}\n`;
  }
}
