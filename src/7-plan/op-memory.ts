import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { mayOverwrite, operandUse } from '../../runtime/device/kernel-op.ts';
import { isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../runtime/program/program.ts';
import { bytesOf, scratchBytesOf } from '../../runtime/program/value-bytes.ts';
import { sameShape } from '../../runtime/spec/shape.ts';

/** The memory that an op allocates and frees, independent of the order and of other ops. */
export interface OpMemory {
  /** Operands whose data the op reads, without duplicates. Reading a shape needs no memory. */
  readonly reads: readonly ValueId[];
  /** Bytes of each output that allocates memory. */
  readonly bytes: readonly number[];
  /**
   * The operands whose memory each output may reuse if they die with the op and have no owner outside the program: the
   * kernel reads each element before it writes it, and the sizes are equal.
   */
  readonly takes: readonly (readonly ValueId[])[];
  /** Bytes that the kernel allocates while it runs. */
  readonly scratch: number;
}

/** The memory use of a program's ops, computed once for all orders and forms of the program that are costed. */
export class OpMemories {
  readonly #values: ValueTable;
  readonly #known = new Map<ProgramOp, OpMemory>();

  constructor(values: ValueTable) {
    this.#values = values;
  }

  of(op: ProgramOp): OpMemory {
    return getOrInsert(this.#known, op, () => opMemory(op, this.#values));
  }
}

const nothing: readonly ValueId[] = [];

function opMemory(programOp: ProgramOp, values: ValueTable): OpMemory {
  const { op, inputs, outputs } = programOp;
  const reads = new Set(inputs);
  if (op.operands.some(({ use }) => use === 'shape')) {
    const data = new Set(inputs.filter((_, i) => operandUse(op, i) === 'data'));
    for (const id of reads) if (!data.has(id)) reads.delete(id);
  }
  const bytes = outputs.map((id) => bytesOf(values, id));
  const takes = outputs.map((_, result) => takenBy(programOp, result, bytes[result]!, values));
  return { reads: [...reads], bytes, takes, scratch: scratchBytesOf(values, programOp) };
}

function takenBy(
  { op, inputs, outputs }: ProgramOp,
  result: number,
  bytes: number,
  values: ValueTable,
): readonly ValueId[] {
  const { kind } = op.kernel;
  if (bytes === 0 || kind === 'view' || kind === 'control') return nothing;
  const { shape, dtype, device } = values[outputs[result]!]!;
  const found = inputs.filter((id, i) => {
    if (!mayOverwrite(op, i, device, result)) return false;
    const meta = values[id]!;
    return (
      meta.device === device &&
      meta.offset === 0 &&
      // Blocks are rounded up: with few elements, narrow and wide dtypes take blocks of the same size.
      device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
      sameShape(meta.shape, shape) &&
      isContiguousMeta(meta)
    );
  });
  return found.length > 0 ? found : nothing;
}
