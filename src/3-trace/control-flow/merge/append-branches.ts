import { condOp } from '../../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { capturedByAny, type RegionBuilder } from '../../state/region-builder.ts';
import type { Tracer } from '../../state/tracer.ts';
import { expectNoLeavesInside } from './leaves-inside.ts';
import { flagsOfBranch } from './requires-grad.ts';

/**
 * Appends a `cond` of the regions, which return `outputs`. `read`: the outputs of each path for `flagsOfBranch`, null
 * for outputs to ignore.
 */
export function appendBranches(
  t: Tracer,
  truth: Tensor,
  regions: readonly RegionBuilder[],
  outputs: readonly (readonly Tensor[])[],
  read: readonly (readonly (Tensor | null)[])[],
): Tensor[] {
  const { flags, note } = flagsOfBranch(t, regions, read);
  const left = outputs.map((each, path) => [...each, ...flags[path]!]);
  for (const [path, region] of regions.entries()) {
    expectNoLeavesInside(t, region, left[path]!);
    region.captureAll(left[path]!);
  }
  const captured = capturedByAny(t.builder, regions);
  const programs = regions.map((region, path) => region.finish(captured, left[path]!));
  const results = t.execution.appendControl(condOp, [truth, ...captured], programs);
  note(results);
  return results;
}
