import type { Backend } from '../../runtime/program/backend.ts';

/** How the programs compiled so far are run. */
export interface OnnxruntimeReport {
  readonly programs: number;
  readonly graphs: number;
  /** The number of steps that are part of graphs; views count in neither number. */
  readonly inGraphs: number;
  /** The number of steps run by the device's kernels. */
  readonly byKernels: number;
  /** The number of these steps by reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /**
   * Bytes of the engine's arrays, besides the plan's memory: arrays with current values, those of them in GPU buffers,
   * and arrays kept for the next run.
   */
  readonly arrays: { readonly inUse: number; readonly onGpu: number; readonly waiting: number };
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

export const reportOf = (
  counts: Counts,
  { inUse, onGpu, waiting }: OnnxruntimeReport['arrays'] = { inUse: 0, onGpu: 0, waiting: 0 },
): OnnxruntimeReport => ({
  ...counts,
  reasons: Object.fromEntries(counts.reasons),
  arrays: { inUse, onGpu, waiting },
});
