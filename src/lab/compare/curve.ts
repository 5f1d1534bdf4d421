import type { ReportTable } from '../report.ts';
import type { VariantResult } from './measure.ts';
import { mib } from './tables.ts';

/** The cost of one budget, as plain data for a plot. */
interface CurvePoint {
  /** In bytes; null for no budget. */
  readonly budget: number | null;
  /** Peak bytes besides those allocated between steps. */
  readonly peak: number;
  /** The recomputed share of forward's arithmetic. */
  readonly recomputedShare: number;
  /** Milliseconds. */
  readonly step: number;
  /** Whether no other point has both a lower peak and less recomputed arithmetic. */
  readonly isPareto: boolean;
}

/** Points from the highest peak to the lowest. */
export function curveOf(results: readonly VariantResult[]): readonly CurvePoint[] {
  const points = results.map((variant) => ({
    budget: variant.recomputed?.budget ?? null,
    peak: variant.peakAllocated - variant.held,
    recomputedShare: variant.recomputed?.share ?? 0,
    step: variant.step,
  }));
  const isBetter = (a: (typeof points)[number], b: typeof a) =>
    a.peak <= b.peak &&
    a.recomputedShare <= b.recomputedShare &&
    (a.peak < b.peak || a.recomputedShare < b.recomputedShare);
  return points
    .map((point) => ({ ...point, isPareto: !points.some((other) => isBetter(other, point)) }))
    .sort((a, b) => b.peak - a.peak);
}

/** Returns budgets at equal intervals between the peak without a budget and the smallest one found, both exclusive. */
export function budgetsBetween(most: number, least: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) =>
    Math.round(most - ((most - least) * (i + 1)) / (count + 1)),
  );
}

export function curveTable(points: readonly CurvePoint[]): ReportTable {
  const [first] = points;
  return {
    head: [
      'budget',
      'peak beside what is held',
      'of no budget',
      'done again',
      'step (ms)',
      'Pareto',
    ],
    rows: points.map(({ budget, peak, recomputedShare, step, isPareto }) => [
      budget === null ? 'none' : mib(budget),
      mib(peak),
      (peak / first!.peak).toFixed(3),
      percentOf(recomputedShare),
      step.toFixed(2),
      isPareto ? 'yes' : 'no',
    ]),
  };
}

/** The caption under the slider. */
export function captionOf({ budget, peak, recomputedShare, step }: CurvePoint): string {
  const of = budget === null ? 'no budget' : `budget ${mib(budget)}`;
  const again = `${percentOf(recomputedShare)} of forward's arithmetic done again`;
  return `${of}: peak ${mib(peak)} beside what is held, ${again}, ${step.toFixed(2)} ms`;
}

function percentOf(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
