import { sameLayout } from '../../../runtime/device/tensor-meta.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { Program, ValueId } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { capturedByAny, type FinishedRegion, RegionBuilder } from '../state/region-builder.ts';
import { play, type Replay, TapeMismatch } from '../state/tape.ts';

/**
 * Rebuilds branches and loop bodies for other sizes, by replaying their tensor API calls in regions of the other
 * program.
 */
export function replayRegions(
  op: OpRecord,
  regions: readonly FinishedRegion[],
  replay: Replay,
): { readonly captured: readonly Tensor[]; readonly programs: readonly Program[] } {
  const { found, surroundings } = replay;
  const replacementOf = (tensor: Tensor): Tensor => found.get(tensor) ?? tensor;
  const again = regions.map(({ region: recorded, outputs }) => {
    const region = new RegionBuilder(surroundings, replacementOf);
    recorded.explicitOperands.forEach((outer, i) => {
      const before = recorded.explicitInputs[i]!;
      found.set(before, region.give(replacementOf(outer), before.requiresGrad));
    });
    play(recorded.tape, { ...replay, surroundings: region });
    const results = outputs.map(replacementOf);
    region.captureAll(results);
    return { region, results };
  });
  const all = again.map(({ region }) => region);
  const captured = capturedByAny(surroundings.builder, all);
  const programs = again.map(({ region, results }) => region.finish(captured, results));
  expectAlike(op, programs);
  return { captured, programs };
}

/** Paths that were equal for the recorded sizes may differ for others. */
function expectAlike(op: OpRecord, [first, second]: readonly Program[]): void {
  const isLoop = op === whileOp;
  const results = second!.outputs;
  const before = isLoop ? second!.inputs.slice(0, results.length) : first!.outputs;
  const { values } = isLoop ? second! : first!;
  const fits = results.every((id: ValueId, i) => {
    return sameLayout(second!.values[id]!, values[before[i]!]!);
  });
  if (!fits) throw new TapeMismatch();
}
