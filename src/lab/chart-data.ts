import { opAxis } from './op-axis.ts';
import type { Timeline } from './timeline.ts';

/** One line of a chart. */
export interface ReportLine {
  readonly name: string;
  readonly timeline: Timeline;
}

/** A chart's data for the page's script: arrays instead of objects, since there are many points. */
export interface ChartData {
  readonly lines: readonly LineData[];
  readonly opAxis: {
    readonly starts: readonly number[];
    readonly slots: readonly (readonly [op: number, middle: number])[];
    readonly places: readonly (readonly number[])[];
  } | null;
}

interface LineData {
  readonly name: string;
  readonly before: number;
  readonly duration: number;
  /** `op` is an index into the page's list of names. */
  readonly points: readonly (readonly [
    at: number,
    allocated: number,
    change: number,
    op: number,
  ])[];
  readonly phases: readonly (readonly [label: string, from: number])[];
}

/** A list of op names without duplicates. */
export class OpNames {
  readonly names: string[] = [];
  readonly #index = new Map<string, number>();

  indexOf(name: string): number {
    const known = this.#index.get(name);
    if (known !== undefined) return known;
    this.#index.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

/** Converts lines to the form that `page/chart.js` expects. */
export function chartData(lines: readonly ReportLine[], ops: OpNames): ChartData {
  const axis = opAxis(lines.map(({ timeline }) => timeline));
  return {
    lines: lines.map((line) => lineData(line, ops)),
    opAxis: axis && {
      starts: axis.starts,
      slots: axis.slots.map(({ op, middle }) => [ops.indexOf(op), middle]),
      places: axis.places.map((places) => places.map(rounded)),
    },
  };
}

function lineData({ name, timeline }: ReportLine, ops: OpNames): LineData {
  const { allocatedBefore, duration, points, phases } = timeline;
  return {
    name,
    before: allocatedBefore,
    duration: rounded(duration),
    points: points.map(({ at, allocated, change, op }) => {
      return [rounded(at), allocated, change, ops.indexOf(op)];
    }),
    phases: phases.map(({ label, from }) => [label, rounded(from)]),
  };
}

/** Rounds to thousandths: the clock's resolution is a microsecond. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
