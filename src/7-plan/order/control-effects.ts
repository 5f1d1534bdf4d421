import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/** Whether running the op may throw, or has an observable effect. */
export function mayRefuse(op: ProgramOp): boolean {
  if (op.op.kernel.kind === 'control') return hasEffect(op);
  return op.op.mayRefuse === true && op.again === undefined;
}

/** Whether an op of its regions writes in place: then to which operand is not asked. */
export function writesInside({ regions = [] }: ProgramOp): boolean {
  return regions.some(({ program }) => program.ops.some((op) => op.op.inPlace || writesInside(op)));
}

/** Operands of a control op that its results may be, or be views of. */
export function handedOn({ op, inputs, outputs, regions = [] }: ProgramOp): ValueId[] {
  if (op.kernel.kind !== 'control') return [];
  const isLoop = op.kernel.form === 'while';
  if (op.kernel.form === 'call') return [...inputs];
  // A gradient may be one that came in.
  if (!isLoop && op.kernel.form !== 'cond') return outputs.length > 0 ? inputs.slice(1) : [];
  const first = isLoop ? 0 : 1;
  const found = new Set<ValueId>(isLoop ? inputs.slice(0, outputs.length - 1) : []);
  for (const { program } of isLoop ? regions.slice(1) : regions) {
    for (const i of inputsHandedOn(program)) found.add(inputs[i + first]!);
  }
  return [...found];
}

/** Programs of regions are looked at again with each order of the program around them. */
const known = new WeakMap<Program, readonly number[]>();

/** Numbers of the inputs that an output of the program may be, or be a view of. */
function inputsHandedOn(program: Program): readonly number[] {
  const existing = known.get(program);
  if (existing) return existing;
  const makers = new Map<ValueId, ProgramOp>();
  for (const op of program.ops) for (const id of op.outputs) makers.set(id, op);
  const reached = new Set<ValueId>(program.outputs);
  // Includes those that are added during the iteration.
  for (const id of reached) {
    const maker = makers.get(id);
    if (maker?.op.kernel.kind === 'view') reached.add(maker.inputs[0]!);
    else if (maker) for (const each of handedOn(maker)) reached.add(each);
  }
  const numbers = program.inputs.flatMap((id, i) => (reached.has(id) ? [i] : []));
  known.set(program, numbers);
  return numbers;
}
