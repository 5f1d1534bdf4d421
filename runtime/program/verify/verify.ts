import { invariant } from '../../errors/invariant.ts';
import type { Program, ProgramOp, Region, ValueId } from '../program.ts';
import { isViewAsDeclared } from './view-metas.ts';

/**
 * Verifies invariants that every phase relies on: each value is defined once and before its uses, operand counts fit
 * the records, every id is in the table, and every view's declared meta, by which the executor and all kernels address
 * memory, is what its op derives. `available` are values defined elsewhere (for a backward program, those of forward).
 * Throws InvariantError naming the op.
 */
export function verifyProgram(program: Program, available: Iterable<ValueId> = []): void {
  const defined = new Set<ValueId>(available);
  const define = (id: ValueId, by: string) => {
    invariant(program.values[id] !== undefined, `${by} defines %${id}, which has no meta`);
    invariant(!defined.has(id), `${by} defines %${id} a second time`);
    defined.add(id);
  };
  for (const id of program.inputs) define(id, 'the input list');
  for (const each of program.ops) {
    const { op, inputs, outputs, regions } = each;
    for (const region of regions ?? []) verifyRegion(region);
    invariant(
      op.variadic || inputs.length === op.operands.length,
      `${op.name} has ${inputs.length} operands instead of ${op.operands.length}`,
    );
    for (const id of inputs)
      invariant(defined.has(id), `${op.name} reads %${id} before it is defined`);
    for (const id of outputs) define(id, op.name);
    if (op.kernel.kind === 'view') verifyView(program, each);
  }
  for (const id of program.outputs)
    invariant(defined.has(id), `the program returns undefined %${id}`);
}

function verifyView({ values }: Program, op: ProgramOp): void {
  const [base, view] = [op.inputs[0]!, op.outputs[0]!];
  invariant(
    isViewAsDeclared(values, op),
    `%${view} is not where ${op.op.name} puts it in %${base}`,
  );
}

/** A region is verified once, not with each program that contains it. */
const verified = new WeakSet<Region>();

function verifyRegion(region: Region): void {
  if (verified.has(region)) return;
  const { program, joint } = region;
  verifyProgram(program);
  if (joint) verifyProgram(joint.program);
  verified.add(region);
}
