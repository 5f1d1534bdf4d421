import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { contiguousMeta, type TensorMeta } from '../../runtime/tensor/meta.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';
import { decodedPlaces, encodedPlaces, type PoolWindows, windowsOf } from './place-codes.ts';
import { whileNotLarger } from './while-not-larger.ts';

/** Places of largest elements that late ops read only for the gradient of the pooling. */
interface Candidate {
  readonly id: ValueId;
  readonly windows: PoolWindows;
  readonly definition: number;
  readonly readers: readonly number[];
}

/**
 * For the gradient of max-pooling the place of each largest element is saved as uint8, within its window, instead of
 * as int32, within the plane. Backward makes the same int32 places of them again, right before it reads them. Places
 * that are saved anyway, as an output, stay; so do those of windows that span more than 256 elements of a plane.
 */
export function* savedPlaces(given: Staged, context: PassContext): Steps<Staged> {
  const candidates = candidatesIn(given, context);
  if (candidates.length === 0) return given;
  return yield* whileNotLarger(given, context, candidates, (chosen) => withCodes(given, chosen));
}

function candidatesIn({ program, firstLate, alsoRead }: Staged, { stage }: PassContext) {
  const { ops, values, outputs } = program;
  if (!ops.some(({ op }) => op.name === 'maxPool2dGrad')) return [];
  const facts = new ProgramFacts(program);
  const held = new Set([...outputs, ...alsoRead].map((id) => facts.memoryOf(id)));
  return ops.flatMap((op, definition): Candidate[] => {
    const windows = windowsOf(op, values[op.inputs[0]!]!);
    const id = op.outputs[1];
    // Backward recomputes what a checkpoint call computes, and saves none of it.
    if (!windows || id === undefined || op.checkpoint !== undefined) return [];
    // On a GPU every element is 4 bytes.
    if (values[id]!.device.kind === 'gpu') return [];
    if (held.has(facts.memoryOf(id)) || facts.isWritten(id)) return [];
    const all = facts.readersOfMemory(id);
    const readers = all.filter((index) => {
      const reader = ops[index]!;
      return reader.op.name === 'maxPool2dGrad' && reader.inputs[1] === id;
    });
    const [first] = readers;
    if (first === undefined || all.some((each) => !readers.includes(each))) return [];
    if (stage === 'joint' && (definition >= firstLate || first < firstLate)) return [];
    return [{ id, windows, definition, readers }];
  });
}

function withCodes(given: Staged, candidates: readonly Candidate[]): Staged {
  const { program, firstLate } = given;
  const values = [...program.values];
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  const behind = new Map<number, readonly ProgramOp[]>();
  const before = new Map<number, readonly ProgramOp[]>();
  const renamed = new Map<ValueId, ValueId>();
  for (const { id, windows, definition, readers } of candidates) {
    const places = values[id]!;
    const code = newValue(contiguousMeta({ ...places, dtype: 'uint8' }, places.device));
    const again = newValue(places);
    const like = (index: number) => ({ at: program.ops[index]!.at, recordsGrad: false });
    const coding = { windows, places, newValue };
    const [first] = readers as readonly [number];
    behind.set(definition, encodedPlaces(id, code, { ...coding, like: like(definition) }));
    before.set(first, decodedPlaces(code, again, { ...coding, like: like(first) }));
    renamed.set(id, again);
  }
  const reading = (op: ProgramOp): ProgramOp =>
    op.op.name === 'maxPool2dGrad' && renamed.has(op.inputs[1]!)
      ? { ...op, inputs: op.inputs.map((id, i) => (i === 1 ? renamed.get(id)! : id)) }
      : op;
  const ops = program.ops.flatMap((op, i) => [
    ...(before.get(i) ?? []),
    reading(op),
    ...(behind.get(i) ?? []),
  ]);
  const early = [...behind].filter(([at]) => at < firstLate);
  const decodedEarly = [...before].filter(([at]) => at < firstLate);
  const growth = [...early, ...decodedEarly].reduce((sum, [, own]) => sum + own.length, 0);
  return { ...given, program: { ...program, values, ops }, firstLate: firstLate + growth };
}

/**
 * Ops of which each set makes places that are not kept from their codes, which are. `forward` has the ops of the
 * planned program, `values` those of its values; more are added.
 */
export function placesFromCodes(
  { ops }: Pick<Program, 'ops'>,
  kept: ReadonlySet<ValueId>,
  values: TensorMeta[],
): ProgramOp[] {
  const definitions = new Map(ops.flatMap((op) => op.outputs.map((id) => [id, op] as const)));
  const newValue = (meta: TensorMeta): ValueId => (values.push(meta) - 1) as ValueId;
  return ops.flatMap((op): ProgramOp[] => {
    const [code] = op.outputs;
    if (op.op.name !== 'toUint8' || code === undefined || !kept.has(code)) return [];
    const inRow = definitions.get(op.inputs[0]!);
    const onPlane = inRow?.op.name === 'sub' ? definitions.get(inRow.inputs[0]!) : undefined;
    const places = onPlane?.op.name === 'sub' ? onPlane.inputs[0]! : undefined;
    const pooling = places === undefined ? undefined : definitions.get(places);
    if (places === undefined || pooling?.outputs[1] !== places || kept.has(places)) return [];
    const windows = windowsOf(pooling, values[pooling.inputs[0]!]!);
    if (!windows) return [];
    const like = { at: pooling.at, recordsGrad: false };
    return decodedPlaces(code, places, { windows, places: values[places]!, newValue, like });
  });
}
