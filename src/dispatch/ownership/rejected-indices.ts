/** Finds labels and indices out of range before a run: its kernels will reject them. */

import { heap } from '../../../runtime/device/cpu/core/heap.ts';
import { indexOf } from '../../../runtime/device/cpu/core/kernel.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** The label of samples to ignore. */
const ignored = -100;

interface Range {
  /** The index of the input that contains the indices, or that they are a view of. */
  readonly input: number;
  readonly first: number;
  readonly end: number;
  /** Another valid value, below `first`; null if there is none. */
  readonly other: number | null;
}

/**
 * Returns a test of whether a run's inputs contain indices that a kernel would reject, on any path; null if no input is
 * used as indices. The test skips inputs whose data isn't readable in place, and ignores what the program writes to
 * inputs first.
 */
export function rejectedIndices(
  program: Program,
): ((tensors: readonly Tensor[]) => boolean) | null {
  const roots = new Map<ValueId, number>(program.inputs.map((id, i) => [id, i]));
  const ranges: Range[] = [];
  collect(program, roots, new Set(), ranges);
  if (ranges.length === 0) return null;
  return (tensors) => ranges.some((range) => isOutside(range, tensors[range.input]!));
}

/** Collects the ranges of the inputs that are read as indices. `roots`: the input that each value is or views. */
function collect(
  { ops, values }: Program,
  roots: Map<ValueId, number>,
  written: Set<number>,
  ranges: Range[],
): void {
  for (const op of ops) {
    const inputs = op.inputs.map((id) => roots.get(id));
    if (op.op.kernel.kind === 'view') {
      if (inputs[0] !== undefined) roots.set(op.outputs[0]!, inputs[0]);
      continue;
    }
    const operand = op.op.mayRefuse ? op.op.operands.findIndex(({ name }) => names.has(name)) : -1;
    const input = operand < 0 ? undefined : inputs[operand];
    if (input !== undefined && !written.has(input)) {
      ranges.push({ input, ...rangeOf(op, values[op.inputs[0]!]!) });
    }
    // A loop-carried value may be another tensor in the second iteration.
    const isLoop = op.op.name === 'while';
    const known = inputs.map((root, i) => (isLoop && i < op.outputs.length - 1 ? undefined : root));
    for (const { program } of op.regions ?? []) {
      const operands = known.slice(known.length - program.inputs.length);
      const inner = program.inputs.flatMap((id, i) => {
        const root = operands[i];
        return root === undefined ? [] : [[id, root] as const];
      });
      collect(program, new Map(inner), new Set(written), ranges);
    }
    for (const index of writtenOperands(op)) {
      if (inputs[index] !== undefined) written.add(inputs[index]);
    }
  }
}

/** The names of operands that contain indices. */
const names: ReadonlySet<string> = new Set(['index', 'target']);

function rangeOf({ op, attrs }: ProgramOp, { shape }: TensorMeta): Omit<Range, 'input'> {
  if (op.name === 'nllLoss') return { first: 0, end: shape[1]!, other: ignored };
  const end = shape[attrs.dim as number] ?? Number.POSITIVE_INFINITY;
  return { first: attrs.wraps ? -end : 0, end, other: null };
}

function isOutside({ first, end, other }: Range, tensor: Tensor): boolean {
  if (tensor.device.kind !== 'cpu' || tensor.dtype !== 'int32' || !tensor.isContiguous)
    return false;
  if (!tensor.holder || tensor.holder.elsewhere) return false;
  const start = indexOf(tensor, 'int32');
  const stop = start + sizeOf(tensor.shape);
  for (let i = start; i < stop; i++) {
    const index = heap.i32[i]!;
    if ((index < first || index >= end) && index !== other) return true;
  }
  return false;
}
