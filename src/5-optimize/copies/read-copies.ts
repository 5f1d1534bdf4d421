import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { ProgramFacts } from '../facts/program-facts.ts';
import { isCopy } from './share-copies.ts';

/**
 * A number read from a tensor is traced as a copy, in case the tensor is written later. If it isn't, the copy becomes a
 * view. In: any program. Out: a program with the same bits. `region`: the program's caller may write to its operands
 * and results.
 */
export function dropReadCopies(program: Program, region: boolean): Program {
  const isReadCopy = (op: ProgramOp): boolean => copiesNumber(program, op);
  if (!program.ops.some(isReadCopy)) return program;
  const facts = ProgramFacts.of(program);
  const inputs = new Set(program.inputs.map((id) => facts.memoryOf(id)));
  const writesInputs = program.inputs.some((id) => facts.isWritten(id));
  // How often each memory occurs among the outputs.
  const outputs = new Map<ValueId, number>();
  for (const id of program.outputs) {
    const memory = facts.memoryOf(id);
    outputs.set(memory, (outputs.get(memory) ?? 0) + 1);
  }

  const controlled = new Set<ValueId>();
  for (const { op, inputs } of program.ops) {
    if (op.kernel.kind !== 'control') continue;
    for (const id of inputs) controlled.add(facts.memoryOf(id));
  }

  const isNeedless = ({ inputs: [from], outputs: [to] }: ProgramOp): boolean => {
    if (facts.isWritten(from!) || facts.isWritten(to!)) return false;
    const [base, memory] = [facts.memoryOf(from!), facts.memoryOf(to!)];
    if (inputs.has(base) && writesInputs) return false;
    // Programs inside control ops fix the offsets of their inputs.
    if (program.values[from!]!.offset !== 0 && controlled.has(memory)) return false;
    if (!outputs.has(memory)) return true;
    // An output must have memory of its own, no larger than the number.
    if (region || inputs.has(base) || outputs.has(base) || outputs.get(memory)! > 1) return false;
    const root = program.values[facts.rootOf(from!)]!;
    return root.shape.every((size) => size === 1);
  };

  const view = opNamed('reshape');
  const values = [...program.values];
  // The number of elements by which a value's offset grows compared with the copy.
  const shifts = new Map<ValueId, number>();
  const shift = (id: ValueId, by: number): void => {
    shifts.set(id, by);
    values[id] = { ...values[id]!, offset: values[id]!.offset + by };
  };
  let changed = false;
  const ops = program.ops.map((op): ProgramOp => {
    const [from, to] = [op.inputs[0]!, op.outputs[0]!];
    if (op.op.kernel.kind === 'view' && shifts.has(from)) shift(to, shifts.get(from)!);
    if (!isReadCopy(op) || !isNeedless(op)) return op;
    changed = true;
    shift(to, values[from]!.offset);
    // Two copies of one memory that are both outputs keep separate memory.
    if (outputs.has(facts.memoryOf(to))) outputs.set(facts.memoryOf(from), 1);
    return { ...op, op: view, attrs: { shape: [] } };
  });
  return changed ? { ...program, values, ops } : program;
}

/** Whether the op copies one element as a 0-d tensor without recording a gradient. */
function copiesNumber({ values }: Program, { op, inputs, recordsGrad }: ProgramOp): boolean {
  return isCopy(op) && !recordsGrad && values[inputs[0]!]!.shape.length === 0;
}
