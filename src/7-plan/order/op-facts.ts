import { mayOverwrite, operandUse } from '../../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { bytesOf, scratchBytesOf } from '../../../runtime/program/value-bytes.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { sameShape } from '../../../runtime/spec/shape.ts';
import { mayRefuse, writesInside } from './control-effects.ts';

/** The memory that an op uses, independent of its surroundings. */
export interface OpFacts {
  /** Operands whose data the op reads or writes, in order. */
  readonly data: readonly ValueId[];
  /** Whether the op writes each of them. */
  readonly isWritten: readonly boolean[];
  /** The same operands, and the op's results. */
  readonly touched: readonly ValueId[];
  /** Operands whose memory the only result may take over if nothing else holds it. */
  readonly overwritten: readonly ValueId[];
  readonly mayRefuse: boolean;
  /** Bytes of each result. */
  readonly bytes: readonly number[];
  readonly scratch: number;
}

interface Known {
  readonly metas: readonly TensorMeta[];
  readonly facts: OpFacts;
}

/** Candidate programs have most of their ops in common. */
const known = new WeakMap<ProgramOp, Known>();

export function factsOf(op: ProgramOp, values: ValueTable): OpFacts {
  const existing = known.get(op);
  if (existing && hasMetas(op, values, existing.metas)) return existing.facts;
  const metas = [...op.inputs, ...op.outputs].map((id) => values[id]!);
  const facts = findFacts(op, values);
  known.set(op, { metas, facts });
  return facts;
}

/** A different value table may give the same ids other layouts. */
function hasMetas(
  { inputs, outputs }: ProgramOp,
  values: ValueTable,
  metas: readonly TensorMeta[],
): boolean {
  for (let i = 0; i < inputs.length; i++) if (values[inputs[i]!] !== metas[i]) return false;
  for (let i = 0; i < outputs.length; i++) {
    if (values[outputs[i]!] !== metas[inputs.length + i]) return false;
  }
  return true;
}

function findFacts(op: ProgramOp, values: ValueTable): OpFacts {
  const { inputs, outputs } = op;
  const writes = writesInside(op);
  const written = writtenOperands(op);
  const numbers = inputs.flatMap((_, i) => (operandUse(op.op, i) === 'data' ? [i] : []));
  const data = numbers.map((i) => inputs[i]!);
  return {
    data,
    isWritten: numbers.map((i) => writes || written.includes(i)),
    touched: [...new Set([...data, ...outputs])],
    overwritten: overwrittenBy(op, values),
    mayRefuse: mayRefuse(op),
    bytes: outputs.map((id) => bytesOf(values, id)),
    scratch: scratchBytesOf(values, op),
  };
}

/** Decides as the planner does, except for what depends on the order and on other owners. */
function overwrittenBy({ op, inputs, outputs }: ProgramOp, values: ValueTable): ValueId[] {
  if (op.inPlace || op.kernel.kind === 'view' || outputs.length !== 1) return [];
  const [output] = outputs;
  const { shape, dtype, device } = values[output!]!;
  const bytes = bytesOf(values, output!);
  return inputs.filter((id, i) => {
    if (!mayOverwrite(op, i, device, 0)) return false;
    const meta = values[id]!;
    return (
      bytes > 0 &&
      meta.offset === 0 &&
      device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
      sameShape(meta.shape, shape) &&
      isContiguousMeta(meta)
    );
  });
}
