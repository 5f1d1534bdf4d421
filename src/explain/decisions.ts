import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import { type BreakRecord, breakReasons, isDecision } from '../traces/graph-break.ts';
import type { LoopDecision } from '../traces/trace-result.ts';

/** What became of each decision on a value of the program, and why: a line for each place. */
export function explainDecisions(
  parts: readonly CompiledPart[],
  breaks: readonly BreakRecord[],
): string[] {
  const made = parts.flatMap(({ stages, trace }) => [
    ...(stages?.traced.ops ?? []).flatMap((op) => decisionsOf(op, trace.kept)),
    ...trace.unrolled.map(({ at, why }) => {
      return decision('loop', at, `unrolled, each exit a branch: as a loop of the program, ${why}`);
    }),
  ]);
  const broken = breaks
    .filter(({ reason }) => isDecision(reason) || endsAtDecisions.has(reason))
    .map(({ reason, detail, at }) => {
      const why = isDecision(reason) ? detail : breakReasons[reason].explanation;
      return decision(siteOf(reason), at, `a graph break: ${why}`);
    });
  return [...new Set([...made, ...broken])];
}

const endsAtDecisions: ReadonlySet<string> = new Set(['data-read', 'loop-turn']);

/** A read need not be for a decision, but ends the graph as one does. */
function siteOf(reason: BreakRecord['reason']): string {
  if (reason === 'loop-turn') return 'loop';
  return reason === 'data-read' ? 'read' : 'decision';
}

function decision(what: string, at: UserPosition | undefined, became: string): string {
  return `  ${what}${at ? ` at ${formatPosition(at)}` : ''}: ${became}`;
}

/** Also those inside its branches and turns. */
function decisionsOf(
  { op, at, outputs, regions = [] }: ProgramOp,
  kept: readonly LoopDecision[],
): string[] {
  const inner = regions.flatMap(({ program }) =>
    program.ops.flatMap((each) => decisionsOf(each, kept)),
  );
  // The last result is the record for backward.
  const results = Math.max(outputs.length - 1, 0);
  switch (op.name) {
    case 'cond': {
      const merged = `both ways come together alike and leave ${values(results)} different`;
      return [decision('branch', at, `a cond: ${merged}`), ...inner];
    }
    case 'while': {
      const asked = kept.find((each) => isSamePlace(each.at, at));
      const why = asked?.why ?? 'only a run knows its turns';
      return [
        decision('loop', at, `a while: ${why}; each turn hands on ${values(results)}`),
        ...inner,
      ];
    }
    case 'assert':
      return [decision('check', at, 'an assert: one way does nothing but throw')];
    case 'print':
      return [decision('console', at, 'a print, in the order of the run')];
    default:
      return inner;
  }
}

const isSamePlace = (a: UserPosition | undefined, b: UserPosition | undefined): boolean =>
  a?.file === b?.file && a?.line === b?.line && a?.column === b?.column;

function values(count: number): string {
  return count === 1 ? '1 value' : `${count} values`;
}
