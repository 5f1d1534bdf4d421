import { plural } from '../../runtime/errors/plural.ts';
import { formatPosition, type UserPosition } from '../../runtime/errors/position.ts';
import type { CallTraceCounts } from '../../runtime/ops/core/call-trace.ts';
import { expectOptions } from '../../runtime/options/expect-options.ts';
import { flag, oneOf } from '../../runtime/options/option-kinds.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { printGuard } from '../guards/print-guard.ts';
import { printSource } from '../guards/source.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { CapturedStats } from '../stats.ts';
import { type BreakRecord, breakReasons, isLimitation } from '../traces/graph-break.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import { costWarnings, type Explained } from './costs.ts';
import { explainDecisions } from './decisions.ts';
import type { ExplainOptions } from './explain-options.ts';
import { explainPage } from './explain-page.ts';
import { explainBudget, explainStep } from './memory-budget.ts';
import { explainLimits, explainLoops, predictedPeak } from './predicted-peak.ts';
import { rewriteOf } from './rewrite.ts';

/** The number of subgraphs shown; further ones are only counted. */
const mostParts = 12;

/** A captured function, as it is explained. */
interface ExplainedFunction extends Omit<Explained, 'stats'> {
  stats(): CapturedStats;
}

/** Describes a captured function to its user: costs, subgraphs with memory, breaks, fallbacks. */
export function explain(captured: ExplainedFunction, options: ExplainOptions = {}): string {
  expectOptions('explain', options, { guards: flag, as: oneOf('text', 'page') });
  const { name, dynamic, parts } = captured;
  const explained = { name, dynamic, parts, stats: captured.stats() };
  if (options.as === 'page') return explainPage(explained);
  return explainText(explained, options.guards ?? false);
}

function explainText(explained: Explained, withGuards: boolean): string {
  const { name, stats, parts } = explained;
  const { calls, translations, graphs, ops, breaks, fallbacks, kernels } = stats;
  const { coldCalls = 0, knownTraces = 0, unkeptTraces = [] } = stats;
  const all = kernels.static + kernels.eager;
  const share = Math.round((kernels.static / Math.max(all, 1)) * 100);
  const lines = [
    `${name || 'function'}: ${plural(calls, 'call')}, ${plural(translations, 'trace')}, ` +
      `${plural(graphs, 'subgraph')} with ${plural(ops, 'op')}, ${plural(breaks.length, 'graph break')}`,
    ...(coldCalls > 0 ? [`${plural(coldCalls, 'call')} before it was compiled`] : []),
    ...(all > 0 ? [`kernels: ${kernels.static} of ${all} in subgraphs (${share} %)`] : []),
    ...(knownTraces > 0 ? [`${plural(knownTraces, 'trace')} of earlier processes`] : []),
    ...unkeptTraces.map((why) => `not left to later processes: ${why}`),
    ...costWarnings(explained).map((warning) => `costs time: ${warning}`),
    ...(stats.stepBytes === undefined ? [] : [explainStep(stats.stepBytes)]),
    ...explainParts(parts, withGuards),
    ...titled('decisions on graph values:', explainDecisions(parts, breaks)),
    ...breaks.flatMap((record) => explainBreak(record, parts)),
    ...fallbacks.map(({ why, at }) => `runs as ordinary JavaScript: ${why}${at ? place(at) : ''}`),
    ...(stats.coExecution ? [explainCoExecution(stats.coExecution)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function titled(title: string, lines: readonly string[]): string[] {
  return lines.length > 0 ? [title, ...lines] : [];
}

function explainCoExecution({ recorded, matched, runs, divergences }: CallTraceCounts): string {
  const diverged = `${plural(divergences, 'run')} diverged`;
  return `co-execution: ${plural(recorded, 'op')} on record, ${matched} matched in ${plural(runs, 'run')}, ${diverged}`;
}

function place(at: NonNullable<BreakRecord['at']>): string {
  return ` (${formatPosition(at)})`;
}

function explainParts(parts: readonly CompiledPart[], withGuards: boolean): string[] {
  const shown = withGuards ? parts : parts.slice(0, mostParts);
  const hidden = parts.slice(shown.length).filter(({ stages }) => stages).length;
  return [
    ...shown.flatMap((part, index) => explainPart(part, index, withGuards)),
    ...(hidden > 0 ? [`… and ${plural(hidden, 'subgraph')} more: explain({ guards: true })`] : []),
  ];
}

function explainPart(part: CompiledPart, index: number, withGuards: boolean): string[] {
  const { trace, stages, tooSmall } = part;
  if (!stages) return [];
  const small = tooSmall ? ' (smaller than minGraphSize: runs eagerly)' : '';
  return [
    `subgraph ${index}: ${plural(stages.forward.ops.length, 'op')}${explainEnd(trace)}${small}`,
    ...(withGuards ? listedGuards(trace) : countedGuards(trace)),
    ...explainMemory(stages, withGuards),
    ...(part.isFirst ? ['  plan:   preliminary (ready() makes the final one)'] : []),
    ...explainRuns(part, stages),
  ];
}

function listedGuards(trace: TraceResult): string[] {
  const names = { codes: trace.codes, pcs: trace.pcs };
  return [
    `  inputs: ${trace.inputs.map((source) => printSource(source, names)).join(', ')}`,
    ...trace.guards.map((guard) => `  guard:  ${printGuard(guard, names)}`),
  ];
}

function countedGuards({ inputs, guards }: TraceResult): string[] {
  return [
    `  inputs: ${plural(inputs.length, 'tensor')}, ${plural(guards.length, 'guard')} (listed by explain({ guards: true }))`,
  ];
}

function explainEnd({ outcome }: TraceResult): string {
  return outcome.kind === 'return' ? ', to the return' : `, then ${outcome.record.detail}`;
}

function explainMemory({ planned, recompute }: SubgraphStages, withValues: boolean): string[] {
  const { forward, backward } = planned;
  const { peakBytes, savedBytes, outputBytes } = forward.predicted;
  const lines = [
    `  memory: forward peak ${peakBytes} bytes; kept ${savedBytes} saved + ${outputBytes} outputs`,
    ...explainLimits(forward.predicted),
    ...explainLoops(planned),
    ...explainBudget(recompute),
  ];
  if (!backward) return lines;
  const { withData, noNeedBuffer } = backward.saved;
  return [
    ...lines,
    `          backward peak ${backward.plan.predicted.peakBytes} bytes above that`,
    `  saved:  ${savedValues(withData, withValues)}; shape only: ${savedValues(noNeedBuffer, withValues)}`,
  ];
}

function savedValues(ids: readonly ValueId[], listed: boolean): string {
  if (ids.length === 0) return 'nothing';
  return listed ? ids.map((id) => `%${id}`).join(' ') : plural(ids.length, 'value');
}

/** Describes the program's runs: where it ran, and the peak counted by the allocator. */
function explainRuns({ record }: CompiledPart, { planned }: SubgraphStages): string[] {
  if (record.runs === 0) return [];
  const { name } = planned.values[0]!.device;
  const predicted = predictedPeak(record);
  const told = predicted === null ? 'not known before' : `${predicted} planned`;
  const peak = `peak of the last run ${record.peakBytes} bytes measured, ${told}`;
  const { releasedBytes } = record;
  const released = releasedBytes > 0 ? `, after ${releasedBytes} of old gradients were freed` : '';
  return [`  ran:    ${plural(record.runs, 'time')} on ${name}; ${peak}${released}`];
}

/** The source line, with a mark under the position. */
function codeFrame({ at, line }: BreakRecord): string[] {
  if (!at || line === undefined) return [];
  const number = String(at.line);
  return [
    `  ${number} | ${line}`,
    `  ${' '.repeat(number.length)} | ${' '.repeat(Math.max(at.column - 1, 0))}^`,
  ];
}

/** Returns the patch that removes the break, if the user's text allows one. */
export function rewriteAt(record: BreakRecord, parts: readonly CompiledPart[]): string[] | null {
  for (const { trace } of parts) {
    const { outcome } = trace;
    if (outcome.kind !== 'break' || outcome.record.reason !== record.reason) continue;
    const { call, pc } = outcome.frames.at(-1)!;
    const { source, spans } = call.kind === 'entry' ? trace.codes[call.frame]! : call.closure.code;
    const span = spans[pc];
    if (!span || !record.at || !samePlace(source.position(span.start), record.at)) continue;
    return rewriteOf(source.text, span, record.reason);
  }
  return null;
}

const samePlace = (a: UserPosition, b: UserPosition): boolean =>
  a.file === b.file && a.line === b.line && a.column === b.column;

function explainBreak(record: BreakRecord, parts: readonly CompiledPart[]): string[] {
  const { reason, detail, at } = record;
  const rewrite = rewriteAt(record, parts);
  const { explanation, hint } = breakReasons[reason];
  return [
    `graph break: ${detail}${at ? place(at) : ''}`,
    ...codeFrame(record),
    `  why:  ${explanation}${isLimitation(reason) ? ' This is a limitation of tostatic, not of your code.' : ''}`,
    `  hint: ${hint}`,
    ...(rewrite ? ['  without it:', ...rewrite.map((line) => `    ${line}`)] : []),
  ];
}
