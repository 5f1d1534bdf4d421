import {
  contiguousMeta,
  isContiguousMeta,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { withDerivedViews } from '../../runtime/program/verify/view-metas.ts';
import type { Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';

/**
 * In: a differentiated program, so that gradients are those of the inputs themselves. Out: the same program, which
 * first makes a contiguous copy of each strided input and reads the copy, as the original system does before it enters
 * a program. Inputs that an output views aren't copied. Programs with in-place writes or control flow are unchanged: a
 * copy could be observed.
 */
export function copyStridedInputs(staged: Staged): Staged {
  const { program, firstLate, alsoRead } = staged;
  const seesCopies = ({ op }: ProgramOp) => op.inPlace || op.kernel.kind === 'control';
  if (program.ops.some(seesCopies)) return staged;
  const facts = ProgramFacts.of(program);
  const shown = new Set([...program.outputs, ...alsoRead].map((id) => facts.rootOf(id)));
  const values: TensorMeta[] = [...program.values];
  const isCopied = (id: ValueId) =>
    !shown.has(id) && !isContiguousMeta(values[id]!) && facts.lastReadOfMemory(id) >= 0;
  const copyOf = new Map<ValueId, ValueId>();
  const copies = program.inputs.filter(isCopied).map((id): ProgramOp => {
    const op = contiguousCopy(id, values);
    copyOf.set(id, op.outputs[0]!);
    return op;
  });
  if (copies.length === 0) return staged;
  const rest = program.ops.map((op): ProgramOp => {
    return { ...op, inputs: op.inputs.map((id) => copyOf.get(id) ?? id) };
  });
  return {
    ...staged,
    program: withDerivedViews({ ...program, values, ops: [...copies, ...rest] }),
    firstLate: firstLate + copies.length,
  };
}

function contiguousCopy(id: ValueId, values: TensorMeta[]): ProgramOp {
  const meta = values[id]!;
  const copied = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
  return {
    op: copy,
    inputs: [id],
    outputs: [copied],
    attrs: {},
    recordsGrad: false,
    at: undefined,
  };
}

/**
 * Returns the ops that turn a contiguous copy of an input into a value with the input's strides; its memory is as
 * long as the range that the input covers.
 */
function stridedFrom(copied: ValueId, input: ValueId, values: TensorMeta[]): ProgramOp[] {
  const { dtype, device, shape, strides } = values[input]!;
  const covered = shape.reduce((last, size, dim) => last + (size - 1) * strides[dim]!, 0) + 1;
  const block = (values.push(contiguousMeta({ dtype, shape: [covered] }, device)) - 1) as ValueId;
  const region = { strides, offset: 0 };
  const apart = { recordsGrad: false, at: undefined };
  return [
    {
      ...apart,
      op: opNamed('place'),
      inputs: [copied],
      outputs: [block],
      attrs: { ...region, shape: [covered], value: 0 },
    },
    {
      ...apart,
      op: opNamed('asStrided'),
      inputs: [block],
      outputs: [input],
      attrs: { ...region, shape },
    },
  ];
}

/**
 * Returns the ops that recompute inputs from values in `there`: strided inputs from their copies, any input from a
 * permuted view of it. `ops`: those of forward. Intermediate values are appended to `values`.
 */
export function inputsFromCopies(
  { inputs, ops }: Pick<Program, 'inputs' | 'ops'>,
  there: ReadonlySet<ValueId>,
  values: TensorMeta[],
): ProgramOp[] {
  const isPermuted = (of: ValueId) => (each: ProgramOp) =>
    each.op.name === 'permute' && each.inputs[0] === of && there.has(each.outputs[0]!);
  return inputs.flatMap((id): ProgramOp[] => {
    if (there.has(id)) return [];
    const permute = ops.find(isPermuted(id));
    if (permute) return [permutedBack(permute, id)];
    const copied = ops.find(({ op, inputs: [x] }) => op === copy && x === id)?.outputs[0];
    if (copied === undefined) return [];
    if (there.has(copied)) return stridedFrom(copied, id, values);
    const view = ops.find(isPermuted(copied));
    if (!view) return [];
    const whole = (values.push(values[copied]!) - 1) as ValueId;
    return [permutedBack(view, whole), ...stridedFrom(whole, id, values)];
  });
}

/** Returns the op that computes `whole` from the given op's result, a permuted view of it. */
function permutedBack({ op, outputs: [view], attrs }: ProgramOp, whole: ValueId): ProgramOp {
  const dims = attrs.dims as readonly number[];
  const back = dims.map((_, dim) => dims.indexOf(dim));
  const apart = { recordsGrad: false, at: undefined };
  return { ...apart, op, inputs: [view!], outputs: [whole], attrs: { dims: back } };
}

/** The copies that a forward program makes of its inputs. */
export function inputCopies({ inputs, ops }: Pick<Program, 'inputs' | 'ops'>): ValueId[] {
  return ops.flatMap(({ op, inputs: [x], outputs }) => {
    return op === copy && inputs.includes(x!) ? outputs : [];
  });
}
