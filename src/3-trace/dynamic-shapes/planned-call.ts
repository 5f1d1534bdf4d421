/** Calls with data-dependent shapes, planned for the sizes that their operands have in one program. */

import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { beginsLeaf } from '../../../runtime/ops/core/creation-options.ts';
import { dynamicSpec } from '../../../runtime/program/dynamic-call.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { CallSite, PlannedSite } from '../../regions/site-call.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { TapeMismatch } from '../state/tape.ts';
import { sampleRuns } from '../variables/sample-numbers.ts';
import { metasOf } from './call-operands.ts';
import { DrawsNumbers } from './call-stream.ts';
import { sizesOf, type Trial, trialsOf } from './call-trials.ts';
import { performing, type ResultSizes, type TracedCall } from './traced-call.ts';

interface PlannedCall extends PlannedSite {
  readonly expected: readonly ResultSizes[];
  /** Whether each result has data-dependent sizes. */
  readonly isOpen: readonly boolean[];
  /** Whether each result begins as a leaf that requires gradients. */
  readonly isLeaf: readonly boolean[];
  /** True if a result may be a view of an operand in eager execution. */
  readonly isView: boolean;
}

/** The plan for a call whose results don't form a list. `samples`: its operands' shapes in the sample runs. */
export function plannedCall(
  traced: TracedCall,
  samples: CallSite['samples'],
  trials: readonly [Trial, ...Trial[]],
): PlannedCall {
  const [{ tried, operands: sample }] = trials;
  const expected = tried.results.map((_, i) => sizesOf(trials, i));
  const isOpen = expected.map(({ sizes }) => sizes.includes(null));
  const results = expected.map(({ dtype, sizes }, i): TensorMeta => {
    const spec = isOpen[i] ? dynamicSpec(dtype, sizes) : { dtype, shape: sizes as Shape };
    return contiguousMeta(spec, tried.results[i]!.device);
  });
  const isView = trials.some((each) => each.tried.isView);
  const { name, forms, metas: operands } = traced;
  const site: CallSite = {
    name,
    forms,
    metas: operands,
    samples,
    dynamic: isOpen,
    list: false,
    apart: !isView,
    perform: performing(traced, expected, isView),
  };
  const isLeaf = tried.results.map(beginsLeaf);
  return { site, sample, results, expected, isOpen, isLeaf, isView };
}

/** A call as it was traced. */
interface Recorded {
  readonly traced: TracedCall;
  readonly samples: CallSite['samples'];
  readonly plan: PlannedCall;
}

/**
 * Plans the call again for operands of other sizes. `counts`: for each list, its length if sizes determine it, else null.
 * Throws TapeMismatch if the trace relied on something that has changed.
 */
export function plannedAgain(
  { traced, samples: before, plan: earlier }: Recorded,
  tensors: readonly Tensor[],
  counts: readonly (number | null)[],
): PlannedCall {
  const again = { ...traced, metas: metasOf(tensors) };
  const samples = before.map((values, i) => uniformCount(counts[i]!) ?? values);
  try {
    const trials = trialsOf(again, samples, (why) => new GraphBreak('unbacked-shape', why));
    const plan = plannedCall(again, samples, trials);
    if (isAlike(earlier, plan)) return plan;
  } catch (error) {
    if (!(error instanceof GraphBreak || error instanceof DrawsNumbers)) throw error;
  }
  throw new TapeMismatch();
}

/** Returns an operand that is the same in all runs; null if only a run knows it. */
export function uniformCount(count: number | null): readonly number[] | null {
  return count === null ? null : sampleRuns.map(() => count);
}

/** Sizes may differ where they are those of a tensor; the trace knows the other ones as constants. */
function isAlike(before: PlannedCall, now: PlannedCall): boolean {
  return (
    before.expected.length === now.expected.length &&
    before.isView === now.isView &&
    before.expected.every(({ dtype, sizes }, i) => {
      const next = now.expected[i]!;
      return (
        dtype === next.dtype &&
        sizes.length === next.sizes.length &&
        before.isOpen[i] === now.isOpen[i] &&
        before.isLeaf[i] === now.isLeaf[i] &&
        (!now.isOpen[i] || sizes.join() === next.sizes.join())
      );
    })
  );
}
