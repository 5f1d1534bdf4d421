import { type ReportSection, renderReport } from '../report.ts';
import { captionOf, curveOf, curveTable } from './curve.ts';
import type { VariantResult } from './measure.ts';
import { mib, peakTable, savedTable, subgraphTable, variantsTable } from './tables.ts';

interface ComparisonPage {
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly results: readonly VariantResult[];
  readonly problems: readonly string[];
  /** Whether to show a sweep over memory budgets as a curve with a slider. */
  readonly hasCurve?: boolean;
}

/** Renders the comparison as one HTML page that opens offline. */
export function renderComparison(page: ComparisonPage): string {
  const { title, facts, results, problems, hasCurve = false } = page;
  const baseline = results.find(({ name }) => name === 'eager');
  const swept = hasCurve ? results.filter(({ name }) => name.startsWith('sweep:budget=')) : [];
  const groups = [...new Set(results.map(({ group }) => group))];
  return renderReport({
    title: `Memory of one training step: ${title}`,
    summary: summaryOf(results, baseline, problems),
    facts,
    sections: [
      ...groups.map((group) => {
        const members = results.filter(
          (variant) => variant.group === group && !swept.includes(variant),
        );
        return section(group, members, baseline, group === 'modes');
      }),
      ...(swept.length > 0 ? [curveSection(swept)] : []),
    ].filter(({ lines }) => lines.length > 0),
  });
}

function section(
  title: string,
  results: readonly VariantResult[],
  baseline: VariantResult | undefined,
  withDetails: boolean,
): ReportSection {
  return {
    title,
    summary:
      'Bytes allocated on the device while one step runs; peaks include parameters, state and the batch. ' +
      'Fragmentation is the share of the free bytes at the peak that lie outside of the largest free block.',
    lines: results.map(({ title, timeline }) => ({ name: title, timeline })),
    table: variantsTable(results, baseline),
    details: withDetails ? results.flatMap(detailsOf) : [],
  };
}

function curveSection(swept: readonly VariantResult[]): ReportSection {
  const beside = ({ peakAllocated, held }: VariantResult) => peakAllocated - held;
  const ordered = swept.toSorted((a, b) => beside(b) - beside(a));
  const points = curveOf(swept);
  return {
    title: 'from no budget to the least',
    summary:
      'The slider goes from no memory budget to the least that can be held; bytes are those beside what is held between steps.',
    lines: ordered.map(({ title, timeline }) => ({ name: title, timeline })),
    stops: points.map(captionOf),
    table: curveTable(points),
  };
}

function detailsOf(variant: VariantResult) {
  const { title, peakByLine, saved, subgraphs } = variant;
  return [
    {
      title: `${title}: live at the peak, by line`,
      table: peakTable(variant),
      rows: peakByLine.length,
    },
    { title: `${title}: saved for backward`, table: savedTable(variant), rows: saved.length },
    { title: `${title}: subgraphs`, table: subgraphTable(variant), rows: subgraphs.length },
  ].filter(({ rows }) => rows > 0);
}

function summaryOf(
  results: readonly VariantResult[],
  baseline: VariantResult | undefined,
  problems: readonly string[],
): string {
  if (problems.length > 0) return `Failed: ${problems.join('; ')}.`;
  const full = results.find(({ name }) => name === 'full');
  if (!baseline || !full) return 'Predicted and measured bytes are equal, and nothing leaks.';
  const share = ((100 * full.peakAllocated) / baseline.peakAllocated).toFixed(1);
  return (
    `Captured as one graph, the step peaks at ${mib(full.peakAllocated)}, ${share} % of eager ` +
    `execution's ${mib(baseline.peakAllocated)}. Predicted and measured bytes are equal, and losses are bitwise identical.`
  );
}
