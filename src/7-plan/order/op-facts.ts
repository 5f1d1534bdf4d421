import { mayOverwrite, operandUse } from '../../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { ProgramOp, ValueTable } from '../../../runtime/program/program.ts';
import { bytesOf, scratchBytesOf } from '../../../runtime/program/value-bytes.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { sameShape } from '../../../runtime/spec/shape.ts';
import { writesInside } from './control-effects.ts';

/** The memory that an op uses, independent of its surroundings: shared by ops that run again with renamed values. */
export interface OpFacts {
  /** Positions of the operands whose data the op reads or writes. */
  readonly data: readonly number[];
  /** Whether the op writes each of them. */
  readonly isWritten: readonly boolean[];
  /** Positions of the operands whose memory the only result may reuse if it has no other owner. */
  readonly overwritten: readonly number[];
  /** Bytes of each result. */
  readonly bytes: readonly number[];
  readonly scratch: number;
}

interface Known {
  readonly op: ProgramOp;
  readonly metas: readonly TensorMeta[];
  readonly facts: OpFacts;
}

/** By the meta of the first result: candidate programs compute most values again, by ops with renamed values. */
const knownByResult = new WeakMap<TensorMeta, Known>();
/** Facts of ops without a result, and of ops with several results of one meta. */
const known = new WeakMap<ProgramOp, Known>();

export function factsOf(op: ProgramOp, values: ValueTable): OpFacts {
  const result = op.outputs.length > 0 ? values[op.outputs[0]!]! : undefined;
  const like = result && knownByResult.get(result);
  if (like && isLike(like, op, values)) return like.facts;
  const isShared = like !== undefined || result === undefined;
  const existing = isShared ? known.get(op) : undefined;
  if (existing && hasMetas(op, values, existing.metas)) return existing.facts;
  const found = made(op, values);
  if (isShared) known.set(op, found);
  if (result) knownByResult.set(result, found);
  return found.facts;
}

function isLike(like: Known, op: ProgramOp, values: ValueTable): boolean {
  return (
    like.op.op === op.op &&
    like.op.attrs === op.attrs &&
    like.op.regions === op.regions &&
    like.op.inputs.length === op.inputs.length &&
    hasMetas(op, values, like.metas)
  );
}

function made(op: ProgramOp, values: ValueTable): Known {
  const metas = [...op.inputs, ...op.outputs].map((id) => values[id]!);
  return { op, metas, facts: findFacts(op, values) };
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
  const data = inputs.flatMap((_, i) => (operandUse(op.op, i) === 'data' ? [i] : []));
  return {
    data,
    isWritten: data.map((i) => writes || written.includes(i)),
    overwritten: overwrittenBy(op, values),
    bytes: outputs.map((id) => bytesOf(values, id)),
    scratch: scratchBytesOf(values, op),
  };
}

/** Decides like the planner, except for what depends on the order and on other owners. */
function overwrittenBy({ op, inputs, outputs }: ProgramOp, values: ValueTable): number[] {
  if (op.inPlace || op.kernel.kind === 'view' || outputs.length !== 1) return [];
  const [output] = outputs;
  const { shape, dtype, device } = values[output!]!;
  const bytes = bytesOf(values, output!);
  return inputs.flatMap((id, i) => {
    if (!mayOverwrite(op, i, device, 0)) return [];
    const meta = values[id]!;
    const isLike =
      bytes > 0 &&
      meta.offset === 0 &&
      device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
      sameShape(meta.shape, shape) &&
      isContiguousMeta(meta);
    return isLike ? [i] : [];
  });
}
