import { contiguousMeta, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { decodedPlaces, fitsBytes, windowsOf } from './saved/place-codes.ts';

/**
 * For the gradient of max-pooling, stores the position of each maximum as uint8 within its window instead of int32
 * within the plane: forward's kernel writes it, and the gradient's kernel reads it. Positions remain int32 if they are
 * an output, if another op reads them, or if a window spans more than 256 elements of a plane. No program needs more
 * bytes, whatever its plan.
 */
export function savedPlaces({ program, alsoRead, firstLate }: Staged): Staged {
  const { ops, outputs } = program;
  const unchanged = { program, alsoRead, firstLate };
  if (!ops.some(({ op }) => op.name === 'maxPool2dGrad')) return unchanged;
  const facts = ProgramFacts.of(program);
  const held = new Set([...outputs, ...alsoRead].map((id) => facts.memoryOf(id)));
  const values = [...program.values];
  /** Codes, by the positions that they encode. */
  const codes = new Map<ValueId, ValueId>();
  for (const op of ops) {
    const places = op.outputs[1];
    if (places === undefined || !fitsBytes(op, values[op.inputs[0]!]!)) continue;
    const { shape, device } = values[places]!;
    // GPUs have no kernel for them.
    if (device.kind === 'gpu' || held.has(facts.memoryOf(places)) || facts.isWritten(places))
      continue;
    const readers = facts.readersOfMemory(places).map((index) => ops[index]!);
    if (readers.length === 0 || !readers.every((reader) => isGradient(reader, places))) continue;
    codes.set(places, values.length as ValueId);
    values.push(contiguousMeta({ dtype: 'uint8', shape }, device));
  }
  if (codes.size === 0) return unchanged;
  const replaced = ops.map((op): ProgramOp => {
    const [first, second] = op.op.name === 'maxPool2dGrad' ? op.inputs : op.outputs;
    const code = second === undefined ? undefined : codes.get(second);
    if (code === undefined) return op;
    return op.op.name === 'maxPool2d'
      ? { ...op, op: opNamed('maxPool2dCoded'), outputs: [first!, code] }
      : { ...op, op: opNamed('maxPool2dCodedGrad'), inputs: [first!, code, op.inputs[2]!] };
  });
  return { ...unchanged, program: { ...program, values, ops: replaced } };
}

/** Whether the op is the gradient of the pooling with these positions. */
function isGradient({ op, inputs, attrs }: ProgramOp, places: ValueId): boolean {
  return op.name === 'maxPool2dGrad' && inputs[1] === places && attrs.kernel !== undefined;
}

/**
 * Returns ops that decode int32 pooling positions of `traced` from the codes saved in their place. `ops`: those of the
 * planned program; `values`: its value table, which grows.
 */
export function placesFromCodes(
  traced: Pick<Program, 'ops'>,
  { ops }: Pick<Program, 'ops'>,
  kept: ReadonlySet<ValueId>,
  values: TensorMeta[],
): ProgramOp[] {
  const pooled = new Map(
    traced.ops.flatMap(({ op, outputs }) =>
      op.name === 'maxPool2d' ? [[outputs[0]!, outputs[1]!] as const] : [],
    ),
  );
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  return ops.flatMap((op): ProgramOp[] => {
    const [largest, code] = op.outputs;
    if (op.op.name !== 'maxPool2dCoded' || !kept.has(code!)) return [];
    const places = pooled.get(largest!);
    if (places === undefined) return [];
    const windows = windowsOf(op, values[op.inputs[0]!]!);
    const like = { at: op.at, recordsGrad: false };
    return decodedPlaces(code!, places, { windows, places: values[places]!, newValue, like });
  });
}
