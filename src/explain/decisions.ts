import { plural } from '../../runtime/errors/plural.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import { type BreakRecord, breakReasons, isDecision } from '../traces/graph-break.ts';
import type { LoopDecision } from '../traces/trace-result.ts';

interface ConstructOutcome {
  /** The construct in the user's code. */
  readonly site: string;
  readonly became: string;
  /** Used if nothing more specific is known. */
  readonly why: string;
}

/** The results of a decision on a graph value, as named in `explain()` and `docs/full-graph.md`. */
export const becomes = {
  cond: { site: 'branch', became: 'a cond', why: 'both branches produce mergeable values' },
  while: { site: 'loop', became: 'a while', why: 'its number of iterations is data-dependent' },
  assert: { site: 'check', became: 'an assert', why: 'one branch only throws' },
  print: { site: 'console', became: 'a print', why: 'it is written in the order of the run' },
  call: {
    site: 'call',
    became: 'a program of its own for each set of shapes',
    why: 'the shapes are data-dependent',
  },
  unrolled: {
    site: 'loop',
    became: 'unrolled, each exit a branch',
    why: 'as a loop of the program, its iterations would produce values that cannot be merged',
  },
  truthy: {
    site: 'condition',
    became: 'always true',
    why: 'it is a tensor, and objects are true; itemSync() reads its value',
  },
  break: {
    site: 'decision, read or loop',
    became: 'a graph break',
    why: 'the branches cannot be merged, or the value that is read cannot stay in the program',
  },
} as const satisfies Record<string, ConstructOutcome>;

/** Explains the result of each decision on a graph value, with one line per position. */
export function explainDecisions(
  parts: readonly CompiledPart[],
  breaks: readonly BreakRecord[],
): string[] {
  const decisions = parts.flatMap(({ stages, trace }) => [
    ...(stages?.traced.ops ?? []).flatMap((op) => decisionsOf(op, trace.kept)),
    ...trace.unrolled.map(({ at, why }) => {
      const { site, became } = becomes.unrolled;
      return decision(site, at, `${became}: as a loop of the program, ${firstLine(why)}`);
    }),
    ...trace.truthyTensors.map((at) => {
      const { site, became, why } = becomes.truthy;
      return decision(site, at, `${became}: ${why}`);
    }),
  ]);
  const broken = breaks
    .filter(({ reason }) => isDecision(reason) || endsAtDecisions.has(reason))
    .map(({ reason, detail, at }) => {
      const why = isDecision(reason) ? detail : breakReasons[reason].explanation;
      return decision(siteOf(reason), at, `${becomes.break.became}: ${firstLine(why)}`);
    });
  return [...new Set([...decisions, ...broken])];
}

const endsAtDecisions: ReadonlySet<string> = new Set(['data-read', 'loop-iteration']);

/** A read need not lead to a decision, but ends the graph like one. */
function siteOf(reason: BreakRecord['reason']): string {
  if (reason === 'loop-iteration') return 'loop';
  return reason === 'data-read' ? 'read' : 'decision';
}

function decision(what: string, at: UserPosition | undefined, text: string): string {
  return `  ${what}${at ? ` at ${formatPosition(at)}` : ''}: ${text}`;
}

/** Later lines of an op's error list given, expected and remedy. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0]!;
}

/** Decisions of an op, including those inside its branches and iterations. */
function decisionsOf(of: ProgramOp, kept: readonly LoopDecision[]): string[] {
  const { op, at, regions = [] } = of;
  const inner = regions.flatMap(({ program }) =>
    program.ops.flatMap((each) => decisionsOf(each, kept)),
  );
  const line = (name: keyof typeof becomes, more = '', why: string = becomes[name].why) => {
    const { site, became } = becomes[name];
    return decision(site, at, `${became}: ${why}${more}`);
  };
  switch (op.name) {
    case 'cond':
      return [line('cond', `; merges ${results(of)}`), ...inner];
    case 'while': {
      const loop = kept.find((each) => isSamePlace(each.at, at));
      return [line('while', `; carries ${results(of)}`, loop?.why), ...inner];
    }
    case 'assert':
      return [line('assert')];
    case 'print':
      return [line('print')];
    case 'call':
      return [line('call', ` of ${calls(of)}`)];
    default:
      return inner;
  }
}

/** Consecutive calls may have been merged into one. */
function calls({ call }: ProgramOp): string {
  const names = call?.name.split(', ') ?? [];
  return names.map((name) => `${name}()`).join(', ');
}

const isSamePlace = (a: UserPosition | undefined, b: UserPosition | undefined): boolean =>
  a?.file === b?.file && a?.line === b?.line && a?.column === b?.column;

/** The last result is the tape. */
function results(of: ProgramOp): string {
  const places = of.outputs.slice(0, -1).keys();
  const lists = [...places].filter((index) => isList(of, index)).length;
  const which = lists > 0 ? `, ${plural(lists, 'list')} among them` : '';
  return plural(Math.max(of.outputs.length - 1, 0), 'value') + which;
}

/** Whether a branch or iteration computes that result by an op on lists. */
function isList({ regions = [] }: ProgramOp, index: number): boolean {
  return regions.some(({ program: { ops, outputs } }) => {
    const id = outputs[index];
    const maker = ops.find((each) => id !== undefined && each.outputs.includes(id));
    if (!maker) return false;
    const { kernel, name } = maker.op;
    if (kernel.kind !== 'control') return false;
    if (kernel.form === 'list') return name !== 'listAt' && maker.outputs[0] === id;
    return isList(maker, maker.outputs.indexOf(id!));
  });
}
