import type { ReportTable } from '../../src/lab/report.ts';
import type { TrainingResult } from './train.ts';
import { type WayName, ways } from './ways.ts';

/** The trainings of one model, in the order they are shown. */
export type Results = ReadonlyMap<WayName, TrainingResult>;

/** Test accuracy that both models must reach on all images. */
export const requiredAccuracy = 0.97;

/** Bytes that are allocated between forward and backward and were not before. */
export function keptBytes({ timeline }: TrainingResult): number {
  const at = (label: string) =>
    timeline.phases.find((phase) => phase.label === label)!.allocatedBefore;
  return at('backward') - at('forward');
}

interface Expected {
  /** With all images, models reach the required accuracy. */
  readonly accuracy: boolean;
  /** At their own batch size, models peak lower when compiled; never higher at any size. */
  readonly lowerPeak: boolean;
}

/** What contradicts the claims of this example; empty when all of them hold. */
export function findProblems(results: Results, expected: Expected): string[] {
  const problems: string[] = [];
  for (const [way, result] of results) {
    const { title } = ways[way];
    problems.push(...result.problems.map((problem) => `${title}: ${problem}`));
    const kept = keptBytes(result);
    if (result.predictedKept !== null && result.predictedKept !== kept) {
      problems.push(`${title}: keeps ${kept} bytes, predicted were ${result.predictedKept}`);
    }
    if (expected.accuracy && result.accuracy < requiredAccuracy) {
      problems.push(`${title}: test accuracy ${percent(result.accuracy)} is below 97 %`);
    }
  }
  const [[firstWay, first] = [], ...others] = results;
  if (!firstWay || !first) return problems;
  for (const [way, { losses }] of others) {
    const difference = firstDifference(first.losses, losses);
    if (difference === null) continue;
    problems.push(
      `losses differ at step ${difference + 1}: ${first.losses[difference]} ` +
        `(${ways[firstWay].title}), ${losses[difference]} (${ways[way].title})`,
    );
  }
  const [counted, compiled] = [results.get('refcount'), results.get('static')];
  if (!counted || !compiled) return problems;
  const saved = counted.peakAllocated - compiled.peakAllocated;
  if (saved < 0 || (saved === 0 && expected.lowerPeak)) {
    problems.push(
      `the peak of ${ways.static.title}, ${compiled.peakAllocated} bytes, is not below that of ` +
        `${ways.refcount.title}, ${counted.peakAllocated} bytes`,
    );
  }
  return problems;
}

/** Index of the first pair that is not the same number to the last bit; null when there is none. */
function firstDifference(a: readonly number[], b: readonly number[]): number | null {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (!Object.is(a[i], b[i])) return i;
  return null;
}

const whole = new Intl.NumberFormat('en');

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

/** One row per way. */
export function tableOf(results: Results): ReportTable {
  return {
    head: [
      'way',
      'peak allocated',
      'peak reserved',
      'kept for backward',
      'predicted',
      'allocs / frees',
      'ms / step',
      'last loss',
      'accuracy',
    ],
    rows: Array.from(results, ([way, result]) => [
      ways[way].title,
      whole.format(result.peakAllocated),
      whole.format(result.peakReserved),
      whole.format(keptBytes(result)),
      result.predictedKept === null ? '–' : whole.format(result.predictedKept),
      `${result.allocations} / ${result.frees}`,
      result.stepTime.toFixed(2),
      result.losses.at(-1)!.toFixed(6),
      percent(result.accuracy),
    ]),
  };
}

/** The comparison in a sentence. */
export function summaryOf(results: Results): string {
  const [counted, compiled] = [results.get('refcount')!, results.get('static')!];
  const saved = 1 - compiled.peakAllocated / counted.peakAllocated;
  return (
    `Compiled, a step peaks ${percent(saved)} below eager execution with reference counting, ` +
    `with ${compiled.allocations} instead of ${counted.allocations} allocations; ` +
    `${whole.format(compiled.losses.length)} losses are equal to the last bit.`
  );
}
