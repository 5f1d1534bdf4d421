/** Messages between page and worker: plain data. */

import type { PrintedStage } from '../../src/explain/print-stages.ts';
import type { Timeline } from '../../src/lab/timeline.ts';

export type Device = 'cpu' | 'webgpu' | 'webgl2';

export interface InspectRequest {
  readonly kind: 'inspect';
  /** The response has the same id. */
  readonly id: number;
  readonly text: string;
  /** The budget as a share of the program's planned peak without one; 1 for no budget. */
  readonly budgetShare: number;
  readonly fullGraph: boolean;
}

export interface TrainRequest {
  readonly kind: 'train';
  readonly id: number;
  readonly model: 'mlp' | 'conv-net';
  readonly device: Device;
  readonly captured: boolean;
  readonly steps: number;
  /** The URL of the digits. */
  readonly images: string;
}

export type Request = InspectRequest | TrainRequest;

export interface PlacedText {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** One graph break, as `explain()` describes it. */
export interface ShownBreak extends PlacedText {
  readonly why: string;
  readonly hint: string;
  /** Lines of a patch that removes it; empty if none is known. */
  readonly patch: readonly string[];
}

/** The step, run eagerly or captured, and its memory. */
export interface MeasuredStep {
  readonly losses: readonly string[];
  /** Bytes: parameters and state between steps, and the peak during one. */
  readonly held: number;
  readonly peak: number;
  readonly allocations: number;
  readonly kernels: number;
  readonly timeline: Timeline;
}

export interface Inspection {
  readonly function: string;
  readonly eager: MeasuredStep;
  readonly compiled: MeasuredStep;
  /** The peak predicted by the plan above `held`, if one program is the step; null for several. */
  readonly predicted: number | null;
  /** Milliseconds of a compiled step, the fastest of several. */
  readonly stepTime: number;
  readonly graphs: number;
  readonly ops: number;
  /** Kernels of one step that run outside graphs. */
  readonly eagerKernels: number;
  /** The peak of the program's plan above the bytes at its start; null for several programs. */
  readonly planned: number | null;
  /** The planned peak without a budget, to which the slider's shares refer. */
  readonly unlimited: number | null;
  /** The budget in bytes, if there is one. */
  readonly budget: number | null;
  readonly breaks: readonly ShownBreak[];
  /** Forward ops per line. */
  readonly opsByLine: readonly (readonly [line: number, ops: readonly string[]])[];
  readonly stages: readonly PrintedStage[];
  readonly explanation: string;
  readonly printed: readonly string[];
}

export type Answer =
  | { readonly kind: 'inspected'; readonly id: number; readonly result: Inspection }
  | { readonly kind: 'failed'; readonly id: number; readonly problem: PlacedText }
  | { readonly kind: 'progress'; readonly id: number; readonly progress: TrainingProgress }
  | { readonly kind: 'trained'; readonly id: number; readonly result: Trained };

export interface TrainingProgress {
  readonly step: number;
  readonly loss: number;
  /** Milliseconds of the last step. */
  readonly stepTime: number;
  readonly allocated: number;
}

export interface Trained {
  /** The share of test digits recognized. */
  readonly accuracy: number;
  readonly peak: number;
  readonly graphs: number;
  readonly breaks: number;
  /** Milliseconds, the median of all steps. */
  readonly stepTime: number;
}
