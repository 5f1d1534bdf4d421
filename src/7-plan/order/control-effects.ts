import { hasEffect } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';

/** Whether running the op may be refused, or is seen from outside. */
export function mayRefuse(op: ProgramOp): boolean {
  if (op.op.kernel.kind === 'control') return hasEffect(op);
  return op.op.mayRefuse === true;
}

/** Whether an op of its regions writes in place: then to which operand is not asked. */
export function writesInside({ regions = [] }: ProgramOp): boolean {
  return regions.some(({ program }) => program.ops.some((op) => op.op.inPlace || writesInside(op)));
}

/** Operands of a control op that its results may be, or be views of. */
export function handedOn({ op, inputs, outputs, regions = [] }: ProgramOp): ValueId[] {
  if (op.kernel.kind !== 'control') return [];
  const isLoop = op.kernel.form === 'while';
  // A gradient may be one that came in.
  if (!isLoop && op.kernel.form !== 'cond') return outputs.length > 0 ? inputs.slice(1) : [];
  const first = isLoop ? 0 : 1;
  const found = new Set<ValueId>(isLoop ? inputs.slice(0, outputs.length - 1) : []);
  for (const { program } of isLoop ? regions.slice(1) : regions) {
    const reached = new Set(program.outputs.flatMap((id) => originsOf(program, id)));
    program.inputs.forEach((id, i) => {
      if (reached.has(id)) found.add(inputs[i + first]!);
    });
  }
  return [...found];
}

/** Inputs of a program that a value of it may be, or be a view of. */
function originsOf(program: Program, id: ValueId): ValueId[] {
  if (program.inputs.includes(id)) return [id];
  const maker = program.ops.find(({ outputs }) => outputs.includes(id));
  if (!maker) return [];
  const { kernel } = maker.op;
  if (kernel.kind === 'view') return originsOf(program, maker.inputs[0]!);
  return kernel.kind === 'control'
    ? handedOn(maker).flatMap((each) => originsOf(program, each))
    : [];
}
