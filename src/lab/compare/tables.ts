import type { ReportTable } from '../report.ts';
import type { VariantResult } from './measure.ts';

const whole = new Intl.NumberFormat('en');

/** Prints bytes briefly enough for a table. */
export function mib(bytes: number | null): string {
  if (bytes === null) return '–';
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(2)} MiB` : `${whole.format(bytes)} B`;
}

function ratio(part: number | null, all: number | null): string {
  return part === null || !all ? '–' : (part / all).toFixed(3);
}

function percent(part: number, all: number): string {
  return all === 0 ? '–' : `${((100 * part) / all).toFixed(0)} %`;
}

/** One row per variant, with peaks relative to eager execution with reference counting. */
export function variantsTable(
  results: readonly VariantResult[],
  baseline: VariantResult | undefined,
): ReportTable {
  return {
    head: [
      'mode',
      'peak allocated',
      'of eager',
      'peak reserved',
      'free at peak',
      'fragmentation',
      'held',
      'kept after forward',
      'predicted',
      'lower bound',
      'plan / bound',
      'allocs / frees',
      'graphs',
      'graph runs',
      'breaks',
      'kernels in graphs',
      'first step (ms)',
      'step (ms)',
      'last loss',
    ],
    rows: results.map((variant) => [
      variant.title,
      mib(variant.peakAllocated),
      ratio(variant.peakAllocated, baseline?.peakAllocated ?? null),
      mib(variant.peakReserved),
      mib(variant.freeAtPeak),
      percent(variant.fragmentation * variant.freeAtPeak, variant.freeAtPeak),
      mib(variant.held),
      mib(variant.keptAfterForward),
      mib(variant.predictedPeak),
      mib(variant.lowerBound),
      ratio(variant.predictedPeak, variant.lowerBound),
      `${variant.allocations} / ${variant.frees}`,
      String(variant.graphs),
      String(variant.graphRuns),
      String(variant.breaks),
      percent(variant.staticKernels, variant.staticKernels + variant.eagerKernels),
      variant.firstStep.toFixed(0),
      variant.step.toFixed(2),
      variant.losses.length > 0 ? variant.losses.at(-1)!.toFixed(6) : '–',
    ]),
  };
}

export function peakTable({ peakByLine }: VariantResult): ReportTable {
  return {
    head: ['asked for at', 'bytes', 'blocks', 'ops'],
    rows: peakByLine.map(({ line, bytes, blocks, ops }) => [
      line,
      mib(bytes),
      String(blocks),
      ops.join(', '),
    ]),
  };
}

export function savedTable({ saved }: VariantResult): ReportTable {
  return {
    head: ['made by', 'bytes', 'values', 'read by'],
    rows: saved.map(({ source, bytes, values, readers }) => [
      source,
      mib(bytes),
      String(values),
      readers.join(', '),
    ]),
  };
}

export function subgraphTable({ subgraphs }: VariantResult): ReportTable {
  return {
    head: ['subgraph', 'ops', 'forward peak', 'bound', 'backward peak', 'saved', 'outputs', 'then'],
    rows: subgraphs.map((each, i) => [
      `SOT_${i}`,
      String(each.ops),
      mib(each.forwardPeak),
      mib(each.lowerBound),
      mib(each.backwardPeak),
      mib(each.saved),
      mib(each.outputs),
      each.end,
    ]),
  };
}

/**
 * Prints a table as text: the first column left-aligned, numbers right-aligned. A table wider than `columns` is
 * printed with a line for each of its columns instead, if that is narrow enough.
 */
export function printTable(table: ReportTable, columns = Number.POSITIVE_INFINITY): string {
  const text = lined(table);
  if (widthOf(text) <= columns) return text;
  const turned = lined(transposed(table));
  return widthOf(turned) <= columns ? turned : text;
}

const widthOf = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

const transposed = ({ head, rows }: ReportTable): ReportTable => ({
  head: [head[0]!, ...rows.map((row) => row[0]!)],
  rows: head.slice(1).map((title, i) => [title, ...rows.map((row) => row[i + 1]!)]),
});

function lined({ head, rows }: ReportTable): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)].join(
    '\n',
  );
}

/** Returns the results that violate the guarantees of static execution; empty if there are none. */
export function problemsOf(results: readonly VariantResult[]): string[] {
  const problems: string[] = [];
  const [first] = results;
  for (const variant of results) {
    if (variant.leaked !== 0)
      problems.push(`${variant.title}: ${variant.leaked} bytes are left at the end`);
    if (variant.predictedPeak !== null && variant.predictedPeak !== variant.peakAllocated) {
      problems.push(
        `${variant.title}: the peak is ${variant.peakAllocated} bytes, predicted were ${variant.predictedPeak}`,
      );
    }
    const at = first ? firstDifference(first.losses, variant.losses) : null;
    if (at !== null) {
      problems.push(
        `${variant.title}: loss ${at + 1} is ${variant.losses[at]}, of ${first!.title} ${first!.losses[at]}`,
      );
    }
    problems.push(
      ...variant.fallbacks.map((why) => `${variant.title}: ran as ordinary JavaScript: ${why}`),
    );
  }
  return problems;
}

function firstDifference(a: readonly number[], b: readonly number[]): number | null {
  for (let i = 0; i < Math.max(a.length, b.length); i++) if (!Object.is(a[i], b[i])) return i;
  return null;
}
