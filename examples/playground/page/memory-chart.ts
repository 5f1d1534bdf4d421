import uPlot from 'uplot';
import { chartData, OpNames } from '../../../src/lab/chart-data.ts';
import { Chart } from '../../../src/lab/page/chart.js';
import type { Inspection } from '../messages.ts';
import { element } from './dom.ts';

// The report's chart expects uPlot as a global.
Object.assign(globalThis, { uPlot });

let shown: Chart | undefined;

window.addEventListener('resize', () => shown?.resize());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => shown?.draw());

/** Returns a chart of one step's allocated bytes, eager and compiled, as in the report of `tostatic compare`. */
export function memoryChart({ eager, compiled }: Inspection): HTMLElement {
  const place = element('div', { class: 'chart' });
  const names = new OpNames();
  const lines = [
    { name: 'eager', timeline: eager.timeline },
    { name: 'toStatic', timeline: compiled.timeline },
  ];
  const data = chartData(lines, names);
  queueMicrotask(() => {
    shown = new Chart(place, data, names.names);
  });
  return place;
}
