/** Results of a call in the sample runs, and the properties that they share. */

import { sameSpec } from '../../../runtime/device/tensor-meta.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import { ShapeDependsOnData } from '../../../runtime/ops/indexing/data-dependent.ts';
import { type GivenOperand, keyOf } from '../../../runtime/program/dynamic-call.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { sampleRuns } from '../variables/sample-numbers.ts';
import { DrawsNumbers } from './call-stream.ts';
import {
  NotDynamic,
  type ResultSizes,
  type TracedCall,
  type TriedCall,
  tryCall,
} from './traced-call.ts';

/** A sample run that the call accepts. */
export interface Trial {
  /** The index of the sample run. */
  readonly sample: number;
  readonly operands: readonly GivenOperand[];
  readonly tried: TriedCall;
}

/**
 * Returns at least one trial; the call may reject the shapes of some sample runs. `samples`: the operands' shapes in
 * the sample runs, by operand. Throws DrawsNumbers, ShapeDependsOnData, or the break from `refused` if the call has no program.
 */
export function trialsOf(
  traced: TracedCall,
  samples: readonly (readonly (GivenOperand | undefined)[])[],
  refused: (why: string) => GraphBreak,
): readonly [Trial, ...Trial[]] {
  const trials: Trial[] = [];
  const refusals: unknown[] = [];
  const triedCalls = new Map<string, TriedCall | null>();
  for (const sample of sampleRuns) {
    const run = samples.map((each) => each[sample]);
    if (!run.every((each) => each !== undefined)) continue;
    const key = keyOf(run);
    const known = triedCalls.get(key);
    if (known) trials.push({ sample, operands: run, tried: known });
    if (known !== undefined) continue;
    try {
      const tried = tryCall(traced, run);
      triedCalls.set(key, tried);
      trials.push({ sample, operands: run, tried });
    } catch (error) {
      triedCalls.set(key, null);
      if (error instanceof DrawsNumbers) throw error;
      // With other sizes the call may not read data, for example if all elements of a mask are equal.
      if (error instanceof ShapeDependsOnData) throw error;
      if (error instanceof NotDynamic) throw refused(error.message);
      refusals.push(error);
    }
  }
  const [first, ...others] = trials;
  if (!first) {
    const [refusal = new Error('numbers that it never gets'), ...more] = refusals;
    const isSame = (error: unknown) => (error as Error).message === (refusal as Error).message;
    // The call fails with the same message for all sample sizes.
    if (refusal instanceof TostaticError && more.length > 0 && more.every(isSame)) {
      throw new GraphBreak('op-error', refusal.message, refusal);
    }
    throw refused(`says: ${refusal instanceof Error ? refusal.message : String(refusal)}`);
  }
  if (!isOneLength(trials)) {
    if (!traced.stream && elementOf(trials)) return [first, ...others];
    throw refused('returns a different number of tensors for other sizes');
  }
  // Results of another rank belong to special sizes, as with `squeeze` and size 1.
  return [first, ...others.filter(({ tried }) => formOf(tried) === formOf(first.tried))];
}

function isOneLength(trials: readonly Trial[]): boolean {
  const { length } = trials[0]!.tried.results;
  return trials.every(({ tried }) => tried.results.length === length);
}

/**
 * Returns one of the result tensors, if the results are arrays of several lengths whose tensors all have the same
 * shape; otherwise null.
 */
export function elementOf(trials: readonly Trial[]): Tensor | null {
  if (isOneLength(trials)) return null;
  const [element, ...others] = trials.flatMap(({ tried }) => tried.results);
  const isFlat = trials.every(
    ({ tried: { returned, results } }) =>
      Array.isArray(returned) && returned.length === results.length,
  );
  return isFlat && element && others.every((other) => sameSpec(other, element)) ? element : null;
}

/** Returns a result's sizes. Sizes that are equal in all sample runs are fixed. */
export function sizesOf(trials: readonly Trial[], result: number): ResultSizes {
  const [{ dtype, shape }, ...others] = trials.map(({ tried }) => tried.results[result]!) as [
    Tensor,
    ...Tensor[],
  ];
  const sizes = shape.map((size, dim) =>
    others.every((each) => each.shape[dim] === size) ? size : null,
  );
  return { dtype, sizes };
}

/** Returns the structure of a result, ignoring sizes. */
function formOf({ returned }: TriedCall): string {
  const formOfPart = (part: unknown): string =>
    Array.isArray(part) ? `[${part.map(formOfPart).join()}]` : String((part as Tensor).rank);
  return formOfPart(returned);
}
