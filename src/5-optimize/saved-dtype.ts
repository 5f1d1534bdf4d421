import { operandUse } from '../../runtime/device/kernel-op.ts';
import {
  contiguousMeta,
  isContiguousMeta,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { scalesOf } from '../../runtime/ops/core/quantize.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import type { SavedDType } from '../programs/memory-options.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { whileNotLarger } from './while-not-larger.ts';

/** A float32 memory that backward reads, and that would be saved for nothing else. */
interface Candidate {
  readonly root: ValueId;
  readonly definition: number;
  /** The values that are read: the memory itself, or views of all of its elements in their order. */
  readonly reads: ReadonlySet<ValueId>;
  readonly firstRead: number;
}

const castsTo = { float16: 'toFloat16', bfloat16: 'toBfloat16' } as const;

/** The metas of the values that are saved in place of a float32 value. */
function metasOf(dtype: SavedDType, { shape, device }: TensorMeta): readonly TensorMeta[] {
  if (dtype !== 'int8') return [contiguousMeta({ dtype, shape }, device)];
  return [
    contiguousMeta({ dtype: 'uint8', shape }, device),
    contiguousMeta({ dtype: 'float32', shape: [scalesOf({ shape })] }, device),
  ];
}

/** Whether the device has kernels for the values: a GPU has none that quantize, and with gpu.js alone no halves. */
function isAvailable({ device }: TensorMeta, dtype: SavedDType): boolean {
  return device.kind !== 'gpu' || (device.typedElements && dtype !== 'int8');
}

type Like = Pick<ProgramOp, 'at' | 'recordsGrad'>;

const linear = { code: 'linear' };

function encoding(dtype: SavedDType, root: ValueId, codes: ValueId[], like: Like): ProgramOp {
  const isInt = dtype === 'int8';
  const op = opNamed(isInt ? 'quantize' : castsTo[dtype]);
  return { ...like, op, inputs: [root], outputs: codes, attrs: isInt ? linear : {} };
}

function decoding(codes: ValueId[], value: ValueId, like: Like): ProgramOp {
  const isInt = codes.length > 1;
  const op = opNamed(isInt ? 'dequantize' : 'toFloat32');
  return { ...like, op, inputs: codes, outputs: [value], attrs: isInt ? linear : {} };
}

/**
 * The float32 values that forward computes and saves for backward are saved in fewer bits (`memory.savedDtype`).
 * Backward converts each back right before it first reads it. The only pass that changes bits: values of forward are
 * exact, gradients are those of rounded values. Inputs, outputs, and values of which a strided view is saved stay.
 */
export function* savedDtype(given: Staged, context: PassContext): Steps<Staged> {
  const dtype = context.memory.savedDtype;
  const late = lateOps(given, context);
  if (dtype === null) return given;
  const candidates = candidatesIn(given, late, dtype);
  if (candidates.length === 0) return given;
  return yield* whileNotLarger(given, context, candidates, (chosen) =>
    inFewerBits(given, late, chosen, dtype),
  );
}

/**
 * Returns whether each op reads what forward saves: in a whole step, the ops that were traced in `backward()` or
 * `grad()`.
 */
function lateOps({ program, firstLate }: Staged, { stage }: PassContext): readonly boolean[] {
  return program.ops.map((op, i) => (stage === 'joint' ? i >= firstLate : op.backward === true));
}

function candidatesIn(
  { program, alsoRead }: Staged,
  late: readonly boolean[],
  saved: SavedDType,
): Candidate[] {
  const { ops, values, inputs, outputs } = program;
  const facts = new ProgramFacts(program);
  const held = new Set([...outputs, ...alsoRead, ...inputs].map((id) => facts.memoryOf(id)));
  const found = new Map<ValueId, { readonly reads: Set<ValueId>; readonly firstRead: number }>();
  const refused = new Set<ValueId>();
  ops.forEach((op, i) => {
    if (!late[i]) return;
    op.inputs.forEach((id, operand) => {
      if (operandUse(op.op, operand) === 'shape' || late[facts.definitionIndex(id)]) return;
      const root = facts.rootOf(id);
      if (!isAvailable(values[root]!, saved) || isFree(root)) return;
      const own = found.get(root) ?? { reads: new Set(), firstRead: i };
      own.reads.add(id);
      found.set(root, own);
      const isAlike = sizeOf(values[id]!.shape) === sizeOf(values[root]!.shape);
      const isHandedOn = op.op.kernel.kind === 'control';
      if (isHandedOn || !isAlike || !isContiguousMeta(values[id]!)) refused.add(root);
    });
  });
  return [...found].flatMap(([root, own]) => {
    const definition = facts.definitionIndex(root);
    const op = ops[definition]!;
    if (refused.has(root) || op.op.kernel.kind === 'control' || op.checkpoint !== undefined)
      return [];
    return [{ root, definition, ...own }];
  });

  /** Saved without a byte of its own, not float32, or too small to become smaller. */
  function isFree(root: ValueId): boolean {
    const { dtype } = values[root]!;
    if (dtype !== 'float32' || !isContiguousMeta(values[root]!)) return true;
    if (facts.definitionIndex(root) < 0 || held.has(facts.memoryOf(root))) return true;
    if (facts.isWritten(root)) return true;
    const metas = metasOf(saved, values[root]!);
    const bytes = metas.reduce((sum, _, i) => sum + bytesOf(metas, i as ValueId), 0);
    return bytes >= bytesOf(values, root);
  }
}

function inFewerBits(
  given: Staged,
  late: readonly boolean[],
  candidates: readonly Candidate[],
  dtype: SavedDType,
): Staged {
  const { program, firstLate } = given;
  const values = [...program.values];
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  const behind = new Map<number, ProgramOp[]>();
  const before = new Map<number, ProgramOp[]>();
  const renamed = new Map<ValueId, ValueId>();
  for (const { root, definition, reads, firstRead } of candidates) {
    const codes = metasOf(dtype, values[root]!).map(newValue);
    const whole = newValue(values[root]!);
    const like = (index: number) => ({ at: program.ops[index]!.at, recordsGrad: false });
    const casts = behind.get(definition) ?? [];
    behind.set(definition, casts);
    casts.push(encoding(dtype, root, codes, like(definition)));
    const own = before.get(firstRead) ?? [];
    before.set(firstRead, own);
    own.push(decoding(codes, whole, like(firstRead)));
    renamed.set(root, whole);
    for (const id of reads) {
      if (id === root) continue;
      const view = newValue(values[id]!);
      const attrs = { shape: values[id]!.shape };
      const reshaped = { op: opNamed('reshape'), inputs: [whole], outputs: [view], attrs };
      own.push({ ...like(firstRead), ...reshaped });
      renamed.set(id, view);
    }
  }
  const ops = program.ops.flatMap((op, i): ProgramOp[] => {
    if (late[i]) {
      // What is read for its shape alone has no data to be converted.
      const inputs = op.inputs.map((id, operand) =>
        operandUse(op.op, operand) === 'shape' ? id : (renamed.get(id) ?? id),
      );
      return [...(before.get(i) ?? []), { ...op, inputs }];
    }
    return [op, ...(behind.get(i) ?? [])];
  });
  const added = [...behind, ...before].filter(([at]) => at < firstLate);
  const growth = added.reduce((sum, [, own]) => sum + own.length, 0);
  return { ...given, program: { ...program, values, ops }, firstLate: firstLate + growth };
}

/** Ops of which each makes a value that is not kept from its codes, which are. `ops`: of the planned program. */
export function valuesFromCodes(
  { ops }: Pick<Program, 'ops'>,
  kept: ReadonlySet<ValueId>,
  values: readonly TensorMeta[],
): ProgramOp[] {
  const encodings = new Set(['toFloat16', 'toBfloat16', 'quantize']);
  return ops.flatMap(({ op, inputs: [id], outputs: codes, at }): ProgramOp[] => {
    if (!encodings.has(op.name) || id === undefined || !codes.every((code) => kept.has(code)))
      return [];
    if (kept.has(id) || values[id]!.dtype !== 'float32') return [];
    return [decoding([...codes], id, { at, recordsGrad: false })];
  });
}
