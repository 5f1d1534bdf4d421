import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/** Whether running the op may throw, or has an observable effect. */
export function mayRefuse(op: ProgramOp): boolean {
  if (op.op.kernel.kind === 'control') return hasEffect(op);
  return op.op.mayRefuse === true && op.again === undefined;
}

/** Whether an op in its regions writes any operand in place. */
export function writesInside({ regions = [] }: ProgramOp): boolean {
  return regions.some(({ program }) => program.ops.some((op) => op.op.inPlace || writesInside(op)));
}

/** Returns the operands of a control op that its results may be, or may be views of. */
export function forwardedOperands({ op, inputs, outputs, regions = [] }: ProgramOp): ValueId[] {
  if (op.kernel.kind !== 'control') return [];
  const isLoop = op.kernel.form === 'while';
  if (op.kernel.form === 'call') return [...inputs];
  // A gradient may be one of the incoming gradients.
  if (!isLoop && op.kernel.form !== 'cond') return outputs.length > 0 ? inputs.slice(1) : [];
  const first = isLoop ? 0 : 1;
  const found = new Set<ValueId>(isLoop ? inputs.slice(0, outputs.length - 1) : []);
  for (const { program } of isLoop ? regions.slice(1) : regions) {
    for (const i of forwardedInputs(program)) found.add(inputs[i + first]!);
  }
  return [...found];
}

/** Region programs are inspected again for each order of the surrounding program. */
const known = new WeakMap<Program, readonly number[]>();

/** Returns the indices of the inputs that an output of the program may be, or may be a view of. */
function forwardedInputs(program: Program): readonly number[] {
  const existing = known.get(program);
  if (existing) return existing;
  const makers = new Map<ValueId, ProgramOp>();
  for (const op of program.ops) for (const id of op.outputs) makers.set(id, op);
  const reached = new Set<ValueId>(program.outputs);
  // The loop also visits values added while it runs.
  for (const id of reached) {
    const maker = makers.get(id);
    if (maker?.op.kernel.kind === 'view') reached.add(maker.inputs[0]!);
    else if (maker) for (const each of forwardedOperands(maker)) reached.add(each);
  }
  const numbers = program.inputs.flatMap((id, i) => (reached.has(id) ? [i] : []));
  known.set(program, numbers);
  return numbers;
}
