import type { ReportTable } from '../../src/lab/report.ts';
import { type Promised, type StrategyName, strategies } from './strategies.ts';
import type { TrainingResult } from './train.ts';

/** The training runs of one model, in display order. */
export type Results = ReadonlyMap<StrategyName, TrainingResult>;

/** Test accuracy that both models must reach on all images. */
export const requiredAccuracy = 0.97;

/** Returns the bytes that the recorded step used. */
export function measured({ timeline }: TrainingResult): Promised {
  const phase = (label: string) => timeline.phases.find((one) => one.label === label)!;
  const [forward, backward] = [phase('forward'), phase('backward')];
  return {
    kept: backward.allocatedBefore - forward.allocatedBefore,
    forwardPeak: forward.peak - forward.allocatedBefore,
    backwardPeak: backward.peak - backward.allocatedBefore,
  };
}

const promiseNames: { readonly [K in keyof Promised]: string } = {
  kept: 'kept for backward',
  forwardPeak: "forward's peak",
  backwardPeak: "backward's peak",
};

interface Expected {
  /** Whether models must reach the required accuracy: only with all images. */
  readonly accuracy: boolean;
  /**
   * Whether compiled models must have a lower peak: only at their own batch size. At other sizes it must not be higher.
   */
  readonly lowerPeak: boolean;
}

/** Returns the findings that contradict the claims of this example; empty if all hold. */
export function findProblems(results: Results, expected: Expected): string[] {
  const problems: string[] = [];
  for (const [strategy, result] of results) {
    const { title } = strategies[strategy];
    problems.push(...result.problems.map((problem) => `${title}: ${problem}`));
    problems.push(...brokenPromises(result).map((problem) => `${title}: ${problem}`));
    if (expected.accuracy && result.accuracy < requiredAccuracy) {
      problems.push(`${title}: test accuracy ${percent(result.accuracy)} is below 97 %`);
    }
  }
  problems.push(...differingLosses(results));
  const [counted, compiled] = [results.get('refcount'), results.get('static')];
  if (!counted || !compiled) return problems;
  const saved = counted.peakAllocated - compiled.peakAllocated;
  if (saved < 0 || (saved === 0 && expected.lowerPeak)) {
    problems.push(
      `the peak of ${strategies.static.title}, ${compiled.peakAllocated} bytes, is not below that of ` +
        `${strategies.refcount.title}, ${counted.peakAllocated} bytes`,
    );
  }
  return problems;
}

/** Returns each strategy whose losses differ from the first one's, with the step where they do. */
function differingLosses(results: Results): string[] {
  const [first, ...others] = results;
  if (!first) return [];
  const [reference, { losses: expected }] = first;
  return others.flatMap(([strategy, { losses }]) => {
    const index = firstDifference(expected, losses);
    if (index === null) return [];
    const pair = `${expected[index]} (${strategies[reference].title}), ${losses[index]} (${strategies[strategy].title})`;
    return [`losses differ at step ${index + 1}: ${pair}`];
  });
}

function brokenPromises(result: TrainingResult): string[] {
  const { promised } = result;
  if (!promised) return [];
  const actual = measured(result);
  const keys = Object.keys(promiseNames) as (keyof Promised)[];
  return keys
    .filter((key) => actual[key] !== promised[key])
    .map((key) => `${promiseNames[key]}: ${actual[key]} bytes, predicted were ${promised[key]}`);
}

/** Index of the first pair of numbers that aren't bitwise equal; null if there is none. */
function firstDifference(a: readonly number[], b: readonly number[]): number | null {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (!Object.is(a[i], b[i])) return i;
  return null;
}

const whole = new Intl.NumberFormat('en');

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

/** One row per strategy. */
export function tableOf(results: Results): ReportTable {
  return {
    head: [
      'strategy',
      'peak allocated',
      'peak reserved',
      'kept for backward',
      'predicted',
      'allocs / frees',
      'ms / step',
      'last loss',
      'accuracy',
    ],
    rows: Array.from(results, ([strategy, result]) => [
      strategies[strategy].title,
      whole.format(result.peakAllocated),
      whole.format(result.peakReserved),
      whole.format(measured(result).kept),
      result.promised ? whole.format(result.promised.kept) : '–',
      `${result.allocations} / ${result.frees}`,
      result.stepTime.toFixed(2),
      result.losses.at(-1)!.toFixed(6),
      percent(result.accuracy),
    ]),
  };
}

/** The comparison in one sentence. */
export function summaryOf(results: Results): string {
  const [counted, compiled] = [results.get('refcount')!, results.get('static')!];
  const saved = 1 - compiled.peakAllocated / counted.peakAllocated;
  const peaks = saved > 0 ? `peaks ${percent(saved)} below` : 'does not peak below';
  const equal = differingLosses(results).length === 0 ? 'are equal to the last bit' : 'differ';
  const promise = compiled.promised && brokenPromises(compiled).length === 0;
  return (
    `Compiled, a step ${peaks} eager execution with reference counting, ` +
    `with ${compiled.allocations} instead of ${counted.allocations} allocations; ` +
    `${whole.format(compiled.losses.length)} losses ${equal}${promise ? ', bytes as predicted' : ''}.`
  );
}
