import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** How a workload is to be built. */
export interface WorkloadOptions {
  /** `breakGraph()` at the places where its model would break a graph in practice. */
  readonly breaks: boolean;
}

/**
 * A model in training, as `tostatic compare` runs it. A module exports `workload(options)`, which makes
 * a fresh one on the current device, the same for the same seed.
 */
export interface Workload {
  /** Forward pass and loss of a batch. */
  readonly loss: (...batch: Tensor[]) => Tensor;
  /** After backward: applies the gradients and gives them back. */
  readonly update: () => void;
  /** A whole step in one function: loss, backward, update. Answers the loss. */
  readonly step: (...batch: Tensor[]) => Tensor;
  /** The same batch every time; the caller gives it back. */
  readonly batch: () => Tensor[];
  /** Gives back model and optimizer. */
  readonly dispose: () => void;
}

export type MakeWorkload = (options: WorkloadOptions) => Workload;

/** The factory of a module. Throws ArgumentError when it exports none. */
export function workloadOf(file: string, exports: Readonly<Record<string, unknown>>): MakeWorkload {
  const { workload } = exports;
  if (typeof workload === 'function') return workload as MakeWorkload;
  throw new ArgumentError({
    what: `${file}: no workload`,
    given: `exports ${Object.keys(exports).join(', ') || 'nothing'}`,
    expected:
      'export function workload({ breaks }), which answers loss, update, step, batch, dispose',
    remedy: 'see examples/workloads/mlp.ts',
  });
}
