import { operandUse } from '../../runtime/device/kernel-op.ts';
import {
  contiguousMeta,
  isContiguousMeta,
  sameStrides,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { withDerivedViews } from '../../runtime/program/verify/view-metas.ts';
import type { Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';

/**
 * In: a program, after differentiation, so that gradients are those of the inputs themselves. Out: the same,
 * reading a copy of each strided input, which is made first: what the original does before it enters a program.
 * Copies are contiguous; an input that an op reads whose bits depend on strides is copied with the strides
 * that it has. Inputs that an output is a view of stay as they are, and so do programs that write in place or
 * decide: there a copy could be seen.
 */
export function copyStridedInputs(given: Staged): Staged {
  const { program, firstLate, alsoRead } = given;
  const seesCopies = ({ op }: ProgramOp) => op.inPlace || op.kernel.kind === 'control';
  if (program.ops.some(seesCopies)) return given;
  const facts = new ProgramFacts(program);
  const shown = new Set([...program.outputs, ...alsoRead].map((id) => facts.rootOf(id)));
  const values: TensorMeta[] = [...program.values];
  const isCopied = (id: ValueId) =>
    !shown.has(id) && !isContiguousMeta(values[id]!) && facts.lastReadOfMemory(id) >= 0;
  const copyOf = new Map<ValueId, ValueId>();
  const copies = program.inputs.filter(isCopied).flatMap((id): ProgramOp[] => {
    const ops = isWalked(facts, id) ? stridedCopy(id, values) : contiguousCopy(id, values);
    copyOf.set(id, ops.at(-1)!.outputs[0]!);
    return ops;
  });
  if (copies.length === 0) return given;
  const rest = program.ops.map((op): ProgramOp => {
    return { ...op, inputs: op.inputs.map((id) => copyOf.get(id) ?? id) };
  });
  return {
    ...given,
    program: withDerivedViews({ ...program, values, ops: [...copies, ...rest] }),
    firstLate: firstLate + copies.length,
  };
}

/** Whether an op whose bits depend on strides reads the input, or a view of it. */
function isWalked(facts: ProgramFacts, input: ValueId): boolean {
  return facts.readersOfMemory(input).some((index) => {
    const { op, inputs } = facts.program.ops[index]!;
    const reads = inputs.some(
      (id, i) => operandUse(op, i) === 'data' && facts.rootOf(id) === input,
    );
    return reads && op.followsStrides;
  });
}

function contiguousCopy(id: ValueId, values: TensorMeta[]): ProgramOp[] {
  const meta = values[id]!;
  const made = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
  return [
    { op: copy, inputs: [id], outputs: [made], attrs: {}, recordsGrad: false, at: undefined },
  ];
}

/** Memory as long as what the input covers, with its elements where the input has them: those of `from`. */
function stridedCopy(id: ValueId, values: TensorMeta[], from = id): ProgramOp[] {
  const { dtype, device, shape, strides } = values[id]!;
  const covered = shape.reduce((last, size, dim) => last + (size - 1) * strides[dim]!, 0) + 1;
  const memory = contiguousMeta({ dtype, shape: [covered] }, device);
  const [block, made] = [values.push(memory) - 1, values.length] as [ValueId, ValueId];
  values.push({ ...values[id]!, offset: 0 });
  const region = { strides, offset: 0 };
  const apart = { recordsGrad: false, at: undefined };
  return [
    {
      ...apart,
      op: opNamed('place'),
      inputs: [from],
      outputs: [block],
      attrs: { ...region, shape: [covered], value: 0 },
    },
    {
      ...apart,
      op: opNamed('asStrided'),
      inputs: [block],
      outputs: [made],
      attrs: { ...region, shape },
    },
  ];
}

/**
 * Ops that make strided inputs again, in place of the inputs, from copies of them that are `there`. `ops`: what forward
 * does. Values that are needed on the way are added to `values`.
 */
export function inputsFromCopies(
  { inputs, ops }: Pick<Program, 'inputs' | 'ops'>,
  there: ReadonlySet<ValueId>,
  values: TensorMeta[],
): ProgramOp[] {
  return inputs.flatMap((id): ProgramOp[] => {
    if (there.has(id)) return [];
    const made = ops.find(
      ({ op, inputs: [x] }) => (op === copy || op.name === 'place') && x === id,
    );
    const shown = made && ops.find(({ inputs: [x] }) => made.op !== copy && x === made.outputs[0]);
    const copied = (shown ?? made)?.outputs[0];
    if (copied === undefined || !there.has(copied)) return [];
    const again = stridedCopy(id, values, copied);
    return [again[0]!, { ...again[1]!, outputs: [id] }];
  });
}

/** Copies that a forward program makes of its inputs. */
export function inputCopies({ inputs, ops, values }: Program): ValueId[] {
  const isPlaced = ({ op, attrs, inputs: [x] }: ProgramOp) =>
    op.name === 'place' &&
    sameStrides({ ...values[x!]!, strides: attrs.strides as number[] }, values[x!]!);
  return ops.flatMap((op) => {
    const isCopy = op.op === copy || isPlaced(op);
    return isCopy && inputs.includes(op.inputs[0]!) ? op.outputs : [];
  });
}
