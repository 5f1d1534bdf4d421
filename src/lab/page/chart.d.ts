import type { ChartData } from '../chart-data.ts';

/** Plots lines of allocated bytes in `place`, op by op or over time; needs uPlot as a global. */
export class Chart {
  constructor(place: Element, data: ChartData, opNames: readonly string[]);
  draw(): void;
  resize(): void;
}
