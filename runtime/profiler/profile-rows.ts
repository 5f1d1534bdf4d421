import type { Span } from './recorder.ts';
import type { SpanKind } from './spans.ts';

/** Sortable columns: numbers largest first, names alphabetically. */
export const sortKeys = [
  'total',
  'self',
  'calls',
  'max',
  'min',
  'average',
  'allocated',
  'name',
] as const;

export type SortKey = (typeof sortKeys)[number];

/** All spans with one name. Times are milliseconds. */
export interface ProfileRow {
  readonly name: string;
  readonly kind: SpanKind;
  readonly device: string;
  readonly calls: number;
  /** Including nested spans; a span nested in another span of the same row is not counted twice. */
  readonly total: number;
  /** Excluding nested spans. */
  readonly self: number;
  readonly min: number;
  readonly max: number;
  readonly average: number;
  /** Fraction of the recording. */
  readonly share: number;
  /** Bytes allocated, including nested spans. */
  readonly allocated: number;
  /** Bytes moved by copies. */
  readonly bytes: number;
  /** Kernels and copies caused by the row. */
  readonly nested: readonly ProfileRow[];
}

interface Group {
  readonly first: Span;
  readonly durations: number[];
  total: number;
  self: number;
  allocated: number;
  bytes: number;
  readonly nested: Map<string, Group>;
}

/** Returns one row per kind, name and device; kernels and copies inside a span are nested in its row. */
export function rowsOf(spans: readonly Span[], duration: number, sort: SortKey): ProfileRow[] {
  const groups = new Map<string, Group>();
  const owners = new Array<Group>(spans.length);
  const insides = new Float64Array(spans.length);
  spans.forEach((span) => {
    if (span.parent >= 0 && !span.isAsync) insides[span.parent]! += span.end - span.start;
  });
  spans.forEach((span, i) => {
    const parent = owners[span.parent];
    const isDetail = span.kind === 'kernel' || span.kind === 'copy';
    const group = groupOf(parent && isDetail ? parent.nested : groups, span);
    owners[i] = group;
    const time = span.end - span.start;
    group.durations.push(time);
    group.self += time - insides[i]!;
    group.bytes += span.bytes;
    if (!isInside(owners, spans, span.parent, group)) group.total += time;
    addAllocated(owners, spans, i, span.allocated);
  });
  return sorted(groups, duration, sort);
}

function groupOf(groups: Map<string, Group>, span: Span): Group {
  // Kernels are grouped by their cause, because an op may need several.
  const key = `${span.kind} ${span.kind === 'kernel' ? '' : span.name} ${span.device}`;
  const known = groups.get(key);
  if (known) return known;
  const group = { first: span, durations: [], total: 0, self: 0, allocated: 0, bytes: 0 };
  const row = { ...group, nested: new Map<string, Group>() };
  groups.set(key, row);
  return row;
}

function isInside(
  owners: readonly Group[],
  spans: readonly Span[],
  parent: number,
  group: Group,
): boolean {
  for (let i = parent; i >= 0; i = spans[i]!.parent) if (owners[i] === group) return true;
  return false;
}

/** Adds to each enclosing row once. */
function addAllocated(
  owners: readonly Group[],
  spans: readonly Span[],
  from: number,
  bytes: number,
): void {
  if (bytes === 0) return;
  const told = new Set<Group>();
  for (let i = from; i >= 0; i = spans[i]!.parent) told.add(owners[i]!);
  for (const group of told) group.allocated += bytes;
}

function sorted(groups: Map<string, Group>, duration: number, sort: SortKey): ProfileRow[] {
  const rows = [...groups.values()].map((group): ProfileRow => {
    const { first, durations, total, self, allocated, bytes } = group;
    const sum = durations.reduce((all, time) => all + time, 0);
    return {
      ...{ name: first.name, kind: first.kind, device: first.device },
      ...{ calls: durations.length, total, self, allocated, bytes },
      min: durations.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY),
      max: durations.reduce((most, time) => Math.max(most, time), 0),
      average: sum / durations.length,
      share: duration > 0 ? total / duration : 0,
      nested: sorted(group.nested, duration, sort),
    };
  });
  return rows.sort((a, b) => (sort === 'name' ? compareText(a.name, b.name) : b[sort] - a[sort]));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
