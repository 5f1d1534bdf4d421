import { deviceGuard, type nn, type optim, type Tensor } from '../../src/index.ts';
import type { BuiltWorkload, Workload, WorkloadOptions } from '../../src/lab/compare/workload.ts';

/** Members that tests and scripts need in addition to those that `tostatic compare` uses. */
export interface TrainedWorkload<M extends nn.Module> extends BuiltWorkload {
  readonly model: M;
  readonly optimizer: optim.Optimizer;
  /** Sets the next learning rate; called between two steps. */
  readonly schedule: () => void;
}

interface Definition<M extends nn.Module> {
  readonly model: (options: WorkloadOptions) => M;
  readonly optimizer: (model: M, options: WorkloadOptions) => optim.Optimizer;
  /** Null for a constant rate. */
  readonly schedule?: (
    optimizer: optim.Optimizer,
    options: WorkloadOptions,
  ) => { step(): void } | null;
  readonly loss: (model: M, ...inputs: Tensor[]) => Tensor;
  /** Creates tensors on the current device. */
  readonly inputs: (i: number, options: WorkloadOptions) => Tensor[];
}

interface OwnWorkload<M extends nn.Module> extends Workload {
  /** By default: reduced, in float32 on the CPU, without breaks. */
  readonly build: (options?: Partial<BuildOptions>) => TrainedWorkload<M>;
}

interface BuildOptions extends WorkloadOptions {
  /** The dtype of parameters and batches. */
  readonly dtype: 'float32' | 'float64';
}

const defaults: BuildOptions = {
  device: 'cpu',
  size: 'reduced',
  breaks: false,
  dtype: 'float32',
};

/**
 * Defines a workload, which modules of this folder export: a model with everything that a training step needs, created
 * on a device from the library's seed. `reduced` trains on a CPU in seconds; `full` is a common size of such models.
 */
export function defineWorkload<M extends nn.Module>(definition: Definition<M>): OwnWorkload<M> {
  return {
    build(given = {}) {
      const options = { ...defaults, ...given };
      return deviceGuard(options.device, () => builtOn(options, definition));
    },
  };
}

function builtOn<M extends nn.Module>(
  options: BuildOptions,
  definition: Definition<M>,
): TrainedWorkload<M> {
  const model = definition.model(options);
  const { dtype } = options;
  if (dtype !== 'float32') model.to(dtype);
  const optimizer = definition.optimizer(model, options);
  const schedule = definition.schedule?.(optimizer, options);
  const { loss: lossOf } = definition;
  const loss = (...inputs: Tensor[]) => lossOf(model, ...inputs);
  return {
    model,
    optimizer,
    loss,
    step(...inputs) {
      const value = loss(...inputs);
      value.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return value;
    },
    inputs: (i) =>
      deviceGuard(options.device, () =>
        definition.inputs(i, options).map((each) => inDtype(each, dtype)),
      ),
    schedule: () => schedule?.step(),
    dispose() {
      optimizer.dispose();
      model.dispose();
    },
  };
}

/** Converts batches of numbers; labels and characters stay integers. */
function inDtype(batch: Tensor, dtype: BuildOptions['dtype']): Tensor {
  if (batch.dtype !== 'float32' || dtype === 'float32') return batch;
  const cast = batch.to(dtype);
  batch.dispose();
  return cast;
}
