/** Warnings about slow parts of a captured function, and how to avoid them. */

import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { plural } from '../../runtime/errors/plural.ts';
import { formatPosition } from '../../runtime/errors/position.ts';
import type { Dynamic } from '../guards/number-history.ts';
import type { CompiledPart } from '../programs/compiled-part.ts';
import type { CapturedStats, PerLengthRecord } from '../stats.ts';
import { appliedTo } from './applied.ts';

/** In graphs with fewer ops, entering and leaving cost more than the kernels. */
const tinyOps = 4;

/** Stable code needs one trace from each point where it begins, and one with symbolic numbers and sizes. */
const usualTraces = 2;

/** The maximum number of positions to list where an array's length determines what is traced. */
const mostPlaces = 3;

/** The facts about a captured function that `explain()` describes. */
export interface Explained {
  readonly name: string;
  readonly stats: CapturedStats;
  readonly parts: readonly CompiledPart[];
  /** The option `dynamic`. */
  readonly dynamic: Dynamic;
}

/** Returns a line for each avoidable cost, most expensive first. */
export function costWarnings({ stats, parts, dynamic }: Explained): string[] {
  return [
    ...retraces(stats, parts, dynamic),
    ...replans(stats),
    ...eagerWork(stats),
    ...tiny(stats, parts),
    ...slices(parts),
  ];
}

function retraces(
  { calls, perLength = [] }: CapturedStats,
  parts: readonly CompiledPart[],
  dynamic: Dynamic,
): string[] {
  const again = [...tracesByStart(parts).values()].reduce<readonly CompiledPart[]>(
    (most, each) => (each.length > most.length ? each : most),
    [],
  );
  if (again.length <= usualTraces || again.length * 4 <= calls) return [];
  if (perLength.length > 0) return perLength.slice(0, mostPlaces).map(describePerLength);
  const { codes, pcs } = again[0]!.trace;
  const [code, pc] = [codes.at(-1)!, pcs.at(-1)!];
  const span = code.spans[pc];
  const isResumed = pcs.some((each) => each > 0);
  const from =
    isResumed && span ? ` from ${formatPosition(code.source.position(span.start))} on` : '';
  const advice = dynamic === true ? '' : ', or try dynamic: true';
  return [
    `${plural(again.length, 'trace')}${from} in ${plural(calls, 'call')}: a guarded value changes from call to call. ` +
      `TOSTATIC_LOG=2 names the guard that failed; pass what changes as a number or a tensor${advice}`,
  ];
}

function describePerLength({ at, why }: PerLengthRecord): string {
  return (
    `the code${at ? ` at ${formatPosition(at)}` : ''} is traced for each length of an array, since ${why}. ` +
    'Only compute tensors from an element there, or stack the elements'
  );
}

/** Returns the traces that begin at each point: at the call, and after each graph break. */
function tracesByStart(parts: readonly CompiledPart[]): Map<string, CompiledPart[]> {
  const starts = new Map<string, CompiledPart[]>();
  for (const part of parts) {
    const { codes, pcs } = part.trace;
    const start = codes.map(({ id }, frame) => `${id}.${pcs[frame]}`).join();
    getOrInsert(starts, start, () => []).push(part);
  }
  return starts;
}

function replans({ graphRuns, plans, translations, knownTraces = 0 }: CapturedStats): string[] {
  const again = plans - translations - knownTraces;
  if (again <= 4 || again * 4 <= graphRuns) return [];
  return [
    `${plural(plans, 'memory plan')} in ${plural(graphRuns, 'run')}: sizes change from call to call, and each set of sizes is ` +
      'planned once. Pad to a few sizes, or drop the last, shorter batch (dropLast)',
  ];
}

function eagerWork({ kernels }: CapturedStats): string[] {
  const all = kernels.static + kernels.eager;
  if (kernels.eager * 10 <= all) return [];
  return [
    `${kernels.eager} of ${plural(all, 'kernel')} ran outside of subgraphs, op by op: the graph breaks and fallbacks below say where`,
  ];
}

function tiny({ graphRuns }: CapturedStats, parts: readonly CompiledPart[]): string[] {
  const small = parts.filter(
    ({ stages, record, tooSmall }) =>
      stages && !tooSmall && record.runs > 0 && stages.forward.ops.length < tinyOps,
  );
  const runs = small.reduce((sum, { record }) => sum + record.runs, 0);
  if (parts.length < 2 || runs === 0 || runs * 4 < graphRuns) return [];
  return [
    `${runs} of ${plural(graphRuns, 'run')} entered a subgraph of fewer than ${tinyOps} ops: remove the graph break beside it, or ` +
      `pass minGraphSize: ${tinyOps} so that it runs eagerly`,
  ];
}

function slices(parts: readonly CompiledPart[]): string[] {
  const count = parts.reduce((sum, part) => sum + (appliedTo(part)?.slices ?? 0), 0);
  if (count === 0) return [];
  return [
    `${plural(count, 'chain')} of ops, computed a few samples at a time to save memory, in more kernels: passes: { slices: false } if memory is no concern`,
  ];
}
