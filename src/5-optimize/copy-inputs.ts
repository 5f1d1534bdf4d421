import { copy } from '../../runtime/ops/copy.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { contiguousMeta, isContiguousMeta } from '../../runtime/tensor/meta.ts';
import { ProgramFacts } from './program-facts.ts';

/**
 * In: a traced program. Out: the same, reading a contiguous copy of each strided input, which is made first:
 * what the original does before it enters a program. Inputs that an output is a view of stay as they are, and
 * so do programs that write in place or decide: there a copy could be seen.
 */
export function copyStridedInputs(program: Program): Program {
  const { inputs, ops, outputs } = program;
  const seesCopies = ({ op }: ProgramOp) => op.inPlace || op.kernel.kind === 'control';
  if (ops.some(seesCopies)) return program;
  const facts = new ProgramFacts(program);
  const shown = new Set(outputs.map((id) => facts.rootOf(id)));
  const strided = inputs.filter((id) => !shown.has(id) && !isContiguousMeta(program.values[id]!));
  if (strided.length === 0) return program;
  const values = [...program.values];
  const copies = strided.map((id): ProgramOp => {
    const meta = values[id]!;
    const made = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
    return { op: copy, inputs: [id], outputs: [made], attrs: {}, recordsGrad: true, at: undefined };
  });
  const copyOf = new Map(copies.map((op) => [op.inputs[0]!, op.outputs[0]!]));
  const rest = ops.map((op): ProgramOp => {
    const read = op.inputs.map((id) => copyOf.get(id) ?? id);
    const { kernel } = op.op;
    if (kernel.kind === 'view') {
      values[op.outputs[0]!] = kernel.view(
        read.map((id) => values[id]!),
        op.attrs,
      );
    }
    return { ...op, inputs: read };
  });
  return { values, inputs, ops: [...copies, ...rest], outputs };
}

/** Contiguous copies that a forward program makes of its inputs. */
export function inputCopies({ inputs, ops }: Program): ValueId[] {
  return ops.flatMap((op) => (op.op === copy && inputs.includes(op.inputs[0]!) ? op.outputs : []));
}
