import type { Device } from '../device/device.ts';
import type { InputSpec } from '../input-spec/spec.ts';
import { verifySubgraph } from '../program/verify/verify-plan.ts';
import type { predictedBytes } from '../run-program/simulate/predicted-bytes.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Field } from './file/field.ts';
import { type GraphWriter, plannedFor } from './graph-format.ts';
import { type PlanUse, type ReadGraph, readGraphs } from './graph-reader.ts';
import { LoadedEntry } from './loaded-entry.ts';
import { type LoadedProgram, loadedProgram } from './loaded-program.ts';
import { encodePrimitive, readPrimitive } from './primitive.ts';
import { ProgramState, type StateEntry } from './program-state.ts';
import { encodeEntry, readEntry, type SavedEntry } from './saved-entry.ts';
import { encodeSizes, LoadedSizes, readSizes, type SavedSizes } from './sized-program.ts';
import { encodeSpec, readSpec } from './spec-format.ts';
import type { TensorReader, TensorWriter } from './tensors.ts';

/** A program to be saved. */
export interface ProgramToSave {
  readonly name: string;
  readonly inputSpec: readonly InputSpec[] | null;
  readonly state: readonly StateEntry[];
  readonly entries: readonly SavedEntry[];
  /** Programs for sizes that no entry has. */
  readonly everySize: readonly SavedSizes[];
  readonly graphs: GraphWriter;
}

export function encodeProgram(program: ProgramToSave, tensors: TensorWriter): unknown {
  const { name, inputSpec, state, entries, everySize, graphs } = program;
  return {
    name,
    plannedFor: graphs.plannedFor,
    inputSpec: inputSpec?.map(encodeSpec) ?? null,
    state: state.map((entry) => encodeState(entry, tensors)),
    graphs: graphs.graphs,
    entries: entries.map(encodeEntry),
    everySize: everySize.map(encodeSizes),
  };
}

function encodeState(entry: StateEntry, tensors: TensorWriter): unknown {
  if ('gradientOf' in entry) {
    const { name, gradientOf, gradient } = entry;
    if (gradient === undefined) return { name, gradientOf };
    return { name, gradientOf, gradient: gradient && tensors.add(gradient) };
  }
  const { name, value } = entry;
  if (value instanceof Tensor) return { name, tensor: tensors.add(value) };
  return { name, value: encodePrimitive(value) };
}

/** Predicts the bytes of plans whose file doesn't specify them; null if it always does. */
export type BytePredictor = typeof predictedBytes | null;

/** Whether the device needs predicted bytes that the file doesn't specify. */
export function needsBytes(field: Field, device: Device): boolean {
  const isAsSaved = planOn(field.get('plannedFor'), device) === 'as saved';
  return !isAsSaved || field.get('everySize').items().length > 0;
}

/** Reads a program from a file for a device. Throws DataError if it couldn't run. */
export function readProgram(
  field: Field,
  tensors: TensorReader,
  device: Device,
  predict: BytePredictor,
): LoadedProgram {
  const plan = planOn(field.get('plannedFor'), device);
  const graphs = readGraphs(field.get('graphs'), device, plan);
  graphs.forEach(({ planned }, i) => {
    verifySubgraph(planned, `graph ${i}`);
  });
  const stateFields = field.get('state').items();
  const names = new Set<string>();
  const state = stateFields.map((entry) => {
    const name = entry.get('name').string();
    if (names.has(name)) entry.get('name').fail('a name of its own');
    names.add(name);
    return readState(name, entry, stateFields, tensors);
  });
  const entries = field.list('entries', (entry) => {
    const saved = readEntry(entry, state.length, graphs);
    const planned = plannedOf(saved, graphs);
    const predicted =
      planned && (plan === 'as saved' ? planned.forward.predicted : predict!(planned));
    return new LoadedEntry(saved, planned, device, predicted);
  });
  const everySize = field.list(
    'everySize',
    (sizes) =>
      new LoadedSizes(readSizes(sizes, state.length), state.length, device, plan, predict!),
  );
  const inputSpec = field.get('inputSpec');
  return loadedProgram({
    name: field.get('name').string(),
    inputSpec: inputSpec.isNull ? null : inputSpec.items().map((spec) => readSpec(spec)),
    state: new ProgramState(state),
    entries,
    everySize,
    device,
  });
}

/**
 * Plans for another kind of device don't apply: its kernels may not support the planned reuses, and sizes differ. On a
 * CPU that can't generate kernels, the parts of fused ops run one by one.
 */
function planOn(saved: Field, { kind, innerBytes }: Device): PlanUse {
  const from = saved.isMissing ? 'cpu' : saved.oneOf(plannedFor);
  const isAsPlanned = kind === 'gpu' ? from === 'gpu' : from !== 'gpu' && innerBytes > 0;
  return isAsPlanned ? 'as saved' : 'for any device';
}

function plannedOf({ graph }: SavedEntry, graphs: readonly ReadGraph[]): LoadedEntry['planned'] {
  return graph === null ? null : graphs[graph]!.planned;
}

function readState(
  name: string,
  field: Field,
  all: readonly Field[],
  tensors: TensorReader,
): StateEntry {
  if (field.has('tensor')) return { name, value: tensors.read(field.get('tensor')) };
  if (!field.has('gradientOf')) return { name, value: readPrimitive(field.get('value')) };
  const gradientOf = field.get('gradientOf').int(0, all.length - 1);
  if (!all[gradientOf]!.has('tensor')) field.fail('a gradient of a tensor');
  if (!field.has('gradient')) return { name, gradientOf };
  const gradient = field.get('gradient');
  return { name, gradientOf, gradient: gradient.isNull ? null : tensors.read(gradient) };
}
