/** Copies of views that leave the branch or loop body that created them. */

import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { Program } from '../../../runtime/program/program.ts';
import { writtenInputs } from '../../../runtime/program/writes.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { finishedRegion } from '../state/region-builder.ts';
import { type CopiedViews, isCopied, type ProgramAround } from './plans/copied-views.ts';

/**
 * Records the results of a branch or loop that may be copies, and their originals. Throws a graph break if an iteration
 * writes to what an earlier one copied, or to the copy.
 */
export function followRegions(
  copied: CopiedViews,
  { builder }: ProgramAround,
  op: OpRecord,
  inputs: readonly Tensor[],
  programs: readonly Program[],
  results: readonly Tensor[],
): void {
  if (copied.isEmpty) return;
  const isLoop = op === whileOp;
  for (const [at, program] of programs.entries()) {
    const isTest = isLoop && at === 0;
    const left = isTest ? new Set<number>() : copiesLeft(copied, program, isLoop);
    if (left.size === 0) continue;
    const regionInputs = inputs.slice(inputs.length - program.inputs.length);
    const { region } = finishedRegion(program);
    const isSource = (index: number) => copied.isSource(region, program.inputs[index]!);
    const written = isLoop ? programs.flatMap(writtenInputs) : [];
    if (written.some((index) => left.has(index) || isSource(index))) throw isCopied();
    copied.note(
      builder,
      regionInputs.filter((_, index) => isSource(index)),
      results.filter((_, index) => left.has(index)),
    );
  }
}

/**
 * Returns the indices of the outputs that may be copies; outputs of a loop body are the inputs of the next iteration.
 */
function copiesLeft(copied: CopiedViews, program: Program, isLoop: boolean): Set<number> {
  const { region } = finishedRegion(program);
  const left = new Set<number>();
  const mayBeLeft = (id: (typeof program.outputs)[number]) =>
    copied.isCopy(region, id) ||
    (isLoop &&
      [...left].some((index) => region.builder.memory.mayShare(program.inputs[index]!, id)));
  for (let before = -1; before < left.size; ) {
    before = left.size;
    for (const [index, id] of program.outputs.entries()) if (mayBeLeft(id)) left.add(index);
  }
  return left;
}
