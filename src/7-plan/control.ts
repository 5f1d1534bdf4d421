import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import { bytesOf, type StorageCount } from './storages.ts';

/**
 * Counts the bytes of a control op. Which branch runs and how many turns there are is known only at run
 * time: of branches the one that takes most counts, and of what turns save for backward nothing, since
 * it grows with their number.
 */
export function enterControl(
  program: Program,
  op: ProgramOp,
  regions: readonly PlannedSubgraph[],
  count: StorageCount,
): void {
  const { kernel } = op.op;
  const form = kernel.kind === 'control' ? kernel.form : null;
  const backward = form === 'condBackward' || form === 'whileBackward';
  const parts = regions.flatMap((region) => {
    if (!backward) return [region.forward.predicted];
    return region.backward ? [region.backward.plan.predicted] : [];
  });
  for (const { peakBytes } of parts) count.transient(peakBytes);
  // A result may be an operand, handed through: neither may be written over while the other lives.
  for (const id of op.inputs) count.expose(id);
  for (const id of op.outputs) count.enter(id, bytesOf(program.values, id));
  const tape = op.outputs[op.outputs.length - 1]!;
  if (form === 'cond') count.enter(tape, largest(parts.map((part) => part.savedBytes)));
}

function largest(bytes: readonly number[]): number {
  return bytes.reduce((a, b) => Math.max(a, b), 0);
}
