/** Averages of weights during training, and the batch statistics for them: PyTorch's `swa_utils`. */

import { noGrad } from '../autograd/grad-mode.ts';
import { ArgumentError } from '../errors/errors.ts';
import { copiedModule } from '../nn/module/copied-module.ts';
import { Module } from '../nn/module/module.ts';
import { buffer } from '../nn/module/parameter.ts';
import { cast } from '../ops/core/cast.ts';
import { add_, copy_ } from '../ops/in-place/in-place.ts';
import { zeros } from '../ops/movement/create.ts';
import { add, div, eq, lerp, sub, where } from '../ops/pointwise/pointwise.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { callback, flag, iterable, probability, that } from '../options/option-kinds.ts';
import { dtypes } from '../spec/dtype.ts';
import { tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Returns the next average of a tensor; `count`, int32 [], is the number of values averaged so far, at least 1. */
export type Averaging = (averaged: Tensor, current: Tensor, count: Tensor) => Tensor;

export interface AveragedModelOptions {
  /** The mean of all values by default; `getEmaAvgFn(0.999)` for an exponential average. */
  readonly avgFn?: Averaging;
  /** Averages buffers, too; by default they are copied from the model. */
  readonly useBuffers?: boolean;
}

const averageKinds: OptionKinds<AveragedModelOptions> = { avgFn: callback, useBuffers: flag };

const aModule = that('a module', (value) => value instanceof Module);

/** Returns the function for an exponential moving average: decay · average + (1 − decay) · value. */
export function getEmaAvgFn(decay = 0.999): Averaging {
  expectArguments('getEmaAvgFn', { decay }, { decay: probability });
  return (averaged, current) => lerp(averaged, current, 1 - decay);
}

const mean: Averaging = (averaged, current, count) =>
  add(averaged, div(sub(current, averaged), cast(add(count, 1), averaged.dtype)));

/**
 * A copy of a model, for evaluation, whose parameters are averages of the model's. `updateParameters(model)` adds the
 * current values; the first call copies them. `forward` runs the copy.
 */
export class AveragedModel<M extends Module = Module> extends Module {
  readonly module: M;
  /** int32 []: the number of values averaged so far. */
  nAveraged: Tensor;
  readonly useBuffers: boolean;
  readonly avgFn: Averaging;

  constructor(model: M, options: AveragedModelOptions = {}, ...surplus: []) {
    super(...surplus);
    expectArguments('AveragedModel', { model }, { model: aModule });
    expectOptions('AveragedModel', options, averageKinds);
    this.module = copiedModule(model);
    this.nAveraged = buffer(zeros([], { dtype: 'int32' }));
    this.useBuffers = options.useBuffers ?? false;
    this.avgFn = options.avgFn ?? mean;
  }

  override forward(...inputs: unknown[]): ReturnType<M['forward']> {
    const forward = this.module.forward.bind(this.module) as (...args: unknown[]) => unknown;
    return forward(...inputs) as ReturnType<M['forward']>;
  }

  /** Adds the model's current parameters to the averages; one program for the first and all later calls. */
  updateParameters(model: Module): void {
    expectArguments('updateParameters', { model }, { model: aModule });
    noGrad(() => {
      const parameters = [...this.module.parameters()];
      const modelParameters = [...model.parameters()];
      const [buffers, others] = [[...this.module.buffers()], [...model.buffers()]];
      if (parameters.length !== modelParameters.length || buffers.length !== others.length) {
        throw new ArgumentError({
          what: 'updateParameters: another model',
          given: `${modelParameters.length} parameters and ${others.length} buffers`,
          expected: `${parameters.length} parameters and ${buffers.length} buffers`,
          remedy: 'pass the model that AveragedModel was made for',
        });
      }
      parameters.forEach((each, i) => void this.average(each, modelParameters[i]!));
      buffers.forEach((each, i) => {
        if (this.useBuffers && dtypes[each.dtype].floating) this.average(each, others[i]!);
        else copy_(each, others[i]!);
      });
      add_(this.nAveraged, 1);
    });
  }

  private average(target: Tensor, current: Tensor): void {
    tidy(() => {
      const isFirst = eq(this.nAveraged, 0);
      copy_(target, where(isFirst, current, this.avgFn(target, current, this.nAveraged)));
    });
  }
}

const updateKinds = { loader: iterable, model: aModule, inputOf: callback };

type Norm = Module & { momentum: number | null; resetRunningStats(): void };

const isNorm = (module: Module): module is Norm =>
  'resetRunningStats' in module && 'momentum' in module;

function firstOf(batch: unknown): Tensor {
  const input: unknown = Array.isArray(batch) ? batch[0] : batch;
  if (input instanceof Tensor) return input;
  throw new ArgumentError({
    what: 'updateBn: no input in the batch',
    given: typeof input === 'object' && input ? Object.keys(input).join(', ') : String(input),
    expected: 'a tensor, or an array whose first entry is one',
    remedy: 'say where it is: updateBn(loader, model, (batch) => batch.images)',
  });
}

/**
 * Resets the running statistics of all normalization layers, and computes them as means over the batches of a loader,
 * for the current weights. `inputOf` returns the model's input in a batch: by default the batch, or its first entry.
 */
export function updateBn<B>(
  loader: Iterable<B>,
  model: Module,
  inputOf: (batch: B) => Tensor = firstOf,
): void {
  expectArguments('updateBn', { loader, model, inputOf }, updateKinds);
  const norms = [...model.modules()].filter(isNorm);
  if (norms.length === 0) return;
  const momenta = norms.map(({ momentum }) => momentum);
  const modes = [...model.modules()].map((module) => [module, module.training] as const);
  for (const norm of norms) {
    norm.resetRunningStats();
    norm.momentum = null;
  }
  model.train();
  try {
    const forward = model.forward.bind(model) as (input: Tensor) => unknown;
    for (const batch of loader) {
      noGrad(() =>
        tidy(() => {
          forward(inputOf(batch));
        }),
      );
    }
  } finally {
    norms.forEach((norm, i) => {
      norm.momentum = momenta[i]!;
    });
    for (const [module, training] of modes) module.training = training;
  }
}
