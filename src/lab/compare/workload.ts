import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** How to build a workload. */
export interface WorkloadOptions {
  readonly device: string;
  /** `reduced` runs on a CPU in seconds, `full` is the size used in the literature. */
  readonly size: 'reduced' | 'full';
  /** Whether to call `breakGraph()` where the model would break a graph in practice. */
  readonly breaks: boolean;
  /** Samples per step; by default the workload's own number. */
  readonly batch?: number;
}

/** A model in training, created with the library's seed. */
export interface BuiltWorkload {
  readonly optimizer: { step(): void; zeroGrad(): void };
  /** The forward pass and the loss of a batch. */
  readonly loss: (...inputs: Tensor[]) => Tensor;
  /** A whole step in one function: loss, backward, update. Returns the loss. */
  readonly step: (...inputs: Tensor[]) => Tensor;
  /** The batch of step `i`, the same in every run; the caller frees it. */
  readonly inputs: (i: number) => Tensor[];
  /** On `meta`: the numbers that a step reads from its tensors, in order. */
  readonly reads?: readonly (number | boolean)[];
  /** Frees model and optimizer. */
  readonly dispose: () => void;
}

/** The export named `workload` of a module, for `tostatic compare`. */
export interface Workload {
  readonly build: (options: WorkloadOptions) => BuiltWorkload;
}

/** A training step to measure: of a workload, or a plain function without a separate loss. */
export interface MeasuredStep extends Pick<BuiltWorkload, 'reads'> {
  readonly optimizer: BuiltWorkload['optimizer'] | null;
  readonly loss: BuiltWorkload['loss'] | null;
  step(...inputs: unknown[]): unknown;
  readonly inputs: (i: number) => unknown[];
  /** Null if the model belongs to the module. */
  readonly dispose: (() => void) | null;
}

/** The step to be measured. */
export interface Subject {
  readonly build: (options: WorkloadOptions) => MeasuredStep;
}

/** A plain function and its arguments, as in the other commands. */
export function stepAlone(
  step: (...inputs: unknown[]) => unknown,
  inputs: () => readonly unknown[],
): Subject {
  return {
    build: () => ({
      optimizer: null,
      loss: null,
      step,
      inputs: () => [...inputs()],
      dispose: null,
    }),
  };
}

/** The workload of a module; null if it exports none. Throws ArgumentError if it has no `build`. */
export function workloadOf(
  file: string,
  exports: Readonly<Record<string, unknown>>,
): Subject | null {
  if (!('workload' in exports)) return null;
  const { workload } = exports as { workload?: Partial<Workload> };
  if (typeof workload?.build === 'function') return workload as Subject;
  throw new ArgumentError({
    what: `${file}: the workload cannot be built`,
    given: `a workload of type ${workload === null ? 'null' : typeof workload} without a function build`,
    expected: 'export const workload = { build({ device, size, breaks }) { … } }',
    remedy:
      'let build() return an object with loss, step, inputs, optimizer and dispose; or export a step and its inputs()',
    at: { file, line: 1, column: 1 },
  });
}
