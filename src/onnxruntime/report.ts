import type { Backend } from '../../runtime/program/backend.ts';

/** How the programs compiled so far run. */
export interface OnnxruntimeReport {
  readonly programs: number;
  readonly graphs: number;
  /** Steps of plans that are part of graphs; views are in neither count. */
  readonly inGraphs: number;
  /** Steps that run on the kernels of the device. */
  readonly byKernels: number;
  /** The number of these by reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

export interface OnnxruntimeBackend extends Backend {
  report(): OnnxruntimeReport;
}

export interface Counts {
  programs: number;
  graphs: number;
  inGraphs: number;
  byKernels: number;
  readonly reasons: Map<string, number>;
}

export const noCounts = (): Counts => ({
  programs: 0,
  graphs: 0,
  inGraphs: 0,
  byKernels: 0,
  reasons: new Map(),
});

export const reportOf = (counts: Counts): OnnxruntimeReport => ({
  ...counts,
  reasons: Object.fromEntries(counts.reasons),
});
