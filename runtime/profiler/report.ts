import type { CopySummary, Profile, ReportOptions } from './profile.ts';
import type { ProfileRow } from './profile-rows.ts';

const head = ['event', 'calls', 'total', 'self', 'min', 'max', 'average', 'ratio', 'allocated'];

/** Prints totals, then copies if there were any, then a row per event with its details. */
export function printReport(profile: Profile, options: ReportOptions): string {
  const { sort = 'total', limit = 30 } = options;
  const rows = profile.rows(sort);
  const cells = rows.slice(0, limit).flatMap((row) => [rowCells(row, ''), ...details(row)]);
  const left = rows.length - limit;
  return [
    `place: ${profile.devices.join(', ') || 'no device'}   unit: ms   sorted by: ${sort}`,
    ...totals(profile),
    '',
    ...columns([head, ...cells]),
    ...(left > 0 ? [`… and ${left} more rows`] : []),
  ].join('\n');
}

function totals(profile: Profile): string[] {
  const { duration, computation, compiling, overhead, copies } = profile;
  const part = (name: string, time: number, more = '') =>
    [name, milliseconds(time), percent(duration > 0 ? time / duration : 0), more] as const;
  const copied = (name: string, { calls, bytes, total }: CopySummary) =>
    calls === 0 ? [] : [part(name, total, `${calls} calls, ${bytes} bytes`)];
  return columns([
    part('total', duration),
    part('  computation', computation),
    ...(compiling > 0 ? [part('  tracing and compiling', compiling)] : []),
    ...copied('  copies (sync)', copies.sync),
    part('  framework and your code', overhead),
    ...copied('copies (async, beside it)', copies.async),
  ]);
}

/** Returns the cells of the nested rows; kernels are named `compute`. */
function details(row: ProfileRow): string[][] {
  return row.nested.map((inner) => rowCells(inner, '  '));
}

function rowCells(row: ProfileRow, indent: string): string[] {
  const { calls, total, self, min, max, average, share, allocated, bytes } = row;
  const name = row.kind === 'kernel' ? 'compute' : row.name;
  return [
    `${indent}${name}${bytes > 0 ? ` (${bytes} bytes)` : ''}`,
    String(calls),
    ...[total, self, min, max, average].map(milliseconds),
    percent(share),
    String(allocated),
  ];
}

function milliseconds(time: number): string {
  return time.toFixed(3);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** Aligns the first column left and numbers right. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
}
