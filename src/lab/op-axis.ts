import type { Timeline } from './timeline.ts';

/**
 * Positions for the points of several timelines of the same work, op by op: the phases of all are aligned, and within a
 * phase the same op has the same position in each timeline. A timeline without an op is level there.
 */
interface OpAxis {
  /** The start of each phase; the last entry is the end of the last phase. */
  readonly starts: readonly number[];
  /** The ops in order, with the middle of their slots. */
  readonly slots: readonly { readonly op: string; readonly middle: number }[];
  /** The position of each point, by timeline. */
  readonly places: readonly (readonly number[])[];
}

/** Points from `first` up to, but not including, `end`, all of one op. */
interface Run {
  readonly op: string;
  readonly first: number;
  readonly end: number;
}

/** The least width of an op or an empty phase, in points. */
const minimalSlot = 2;
const minimalPhase = 4;

/** Null if the timelines don't have the same phases, or have points outside them. */
export function opAxis(timelines: readonly Timeline[]): OpAxis | null {
  const labels = timelines.map(({ phases }) => phases.map(({ label }) => label));
  const [common = []] = labels;
  const isSame = labels.every((each) => JSON.stringify(each) === JSON.stringify(common));
  const isComplete = timelines.every(({ phases }) => phases[0]?.firstPoint === 0);
  if (!isSame || !isComplete) return null;

  const places = timelines.map((): number[] => []);
  const slots: { op: string; middle: number }[] = [];
  const starts = [0];
  for (let phase = 0; phase < common.length; phase++) {
    let x = starts.at(-1)!;
    for (const { op, runs } of alignedRuns(timelines.map((timeline) => runsOf(timeline, phase)))) {
      const width = Math.max(minimalSlot, ...runs.map((run) => (run ? run.end - run.first : 0)));
      runs.forEach((run, line) => {
        if (run) place(places[line]!, run, x, width);
      });
      slots.push({ op, middle: x + width / 2 });
      x += width;
    }
    starts.push(Math.max(x, starts.at(-1)! + minimalPhase));
  }
  return { starts, slots, places };
}

/** Distributes the points of a run evenly. */
function place(places: number[], { first, end }: Run, from: number, width: number): void {
  for (let i = first; i < end; i++) places[i] = from + (width * (i - first + 0.5)) / (end - first);
}

function runsOf({ points, phases }: Timeline, phase: number): Run[] {
  const { firstPoint, endPoint } = phases[phase]!;
  const runs: Run[] = [];
  let first = firstPoint;
  for (let i = firstPoint; i < endPoint; i++) {
    const { op } = points[i]!;
    if (points[i + 1]?.op === op && i + 1 < endPoint) continue;
    runs.push({ op, first, end: i + 1 });
    first = i + 1;
  }
  return runs;
}

/** Returns the ops of all timelines in one order, each with its runs. */
function alignedRuns(
  lines: readonly (readonly Run[])[],
): { readonly op: string; readonly runs: readonly (Run | null)[] }[] {
  const order = lines.map((runs) => runs.map(({ op }) => op)).reduce(shortestMerge);
  const next = lines.map(() => 0);
  return order.map((op) => {
    const runs = lines.map((line, i) => {
      const run = line[next[i]!];
      if (run?.op !== op) return null;
      next[i]!++;
      return run;
    });
    return { op, runs };
  });
}

/** The shortest common supersequence. */
function shortestMerge(a: readonly string[], b: readonly string[]): string[] {
  // common[i][j]: length of the longest common subsequence of a from i and b from j.
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i]![j] =
        a[i] === b[j]
          ? common[i + 1]![j + 1]! + 1
          : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const merged: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const takesA = a[i] === b[j] || common[i + 1]![j]! >= common[i]![j + 1]!;
    const op = takesA ? a[i]! : b[j]!;
    merged.push(op);
    if (b[j] === op) j++;
    if (takesA) i++;
  }
  return [...merged, ...a.slice(i), ...b.slice(j)];
}
