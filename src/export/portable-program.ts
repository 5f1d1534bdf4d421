import { deviceNamed } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { ScalarTable } from '../../runtime/ops/symbolic-number.ts';
import type { Program } from '../../runtime/program/program.ts';
import { scalarTableIn } from '../../runtime/program/scalars.ts';
import { parseFile } from '../../runtime/save/container.ts';
import type { Field } from '../../runtime/save/field.ts';
import { readGraphs } from '../../runtime/save/graph-reader.ts';
import type { Place } from '../../runtime/save/place.ts';
import { readPrimitive } from '../../runtime/save/primitive.ts';
import { readEntry, type SavedEntry } from '../../runtime/save/saved-entry.ts';
import { TensorReader } from '../../runtime/save/tensors.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';

/** One value that a program finds outside of its arguments. */
export interface ExportState {
  readonly name: string;
  /** Null for the gradient of a tensor of the state, and for values that are no numbers. */
  readonly value: Tensor | number | boolean | null;
}

/** A saved program as another engine needs it: ops of the table, in order, with what they read and change. */
export interface PortableProgram {
  readonly name: string;
  readonly state: readonly ExportState[];
  readonly entry: SavedEntry;
  readonly program: Program;
  /** Arithmetic on numbers of the host; undefined where there is none. */
  readonly scalars: ScalarTable | undefined;
  dispose(): void;
}

/**
 * One program of a saved file: that of number `index`, or the last one that was compiled, which has the numbers that
 * change from call to call as inputs. Throws DataError for a damaged file and ArgumentError where there is no such program.
 */
export function readPortable(file: Uint8Array, index?: number): PortableProgram {
  const { header, data } = parseFile(file);
  const device = deviceNamed('cpu');
  const tensors = new TensorReader(header.get('tensors'), data, device);
  try {
    return portable(header, tensors, device, index);
  } catch (error) {
    tensors.disposeAll();
    throw error;
  } finally {
    tensors.close();
  }
}

function portable(
  header: Field,
  tensors: TensorReader,
  device: Device,
  index: number | undefined,
): PortableProgram {
  if (!header.has('program')) throw noProgram('a file of tensors and data', 'a saved program');
  const field = header.get('program');
  const graphs = readGraphs(field.get('graphs'), device, 'for any device');
  const stateFields = field.get('state').items();
  const entries = field.get('entries').items();
  const chosen = entries[index ?? entries.length - 1];
  if (!chosen) throw noProgram(`program ${index}`, `0 to ${entries.length - 1}`);
  const entry = readEntry(chosen, stateFields.length, graphs);
  if (entry.graph === null) throw noProgram('a program without ops', 'one that computes');
  const graph = graphs[entry.graph]!;
  const state = stateFields.map((each) => readState(each, stateFields, tensors));
  return {
    name: field.get('name').string(),
    state,
    entry,
    program: graph.region.program,
    scalars: scalarTableIn(graph.planned),
    dispose: () => tensors.disposeAll(),
  };
}

function readState(field: Field, all: readonly Field[], tensors: TensorReader): ExportState {
  if (field.has('gradientOf')) {
    const of = all[field.get('gradientOf').int(0, all.length - 1)]!;
    return { name: `${of.get('name').string()}.grad`, value: null };
  }
  const name = field.get('name').string();
  if (field.has('tensor')) return { name, value: tensors.read(field.get('tensor')) };
  const value = readPrimitive(field.get('value'));
  const isNumber = typeof value === 'number' || typeof value === 'boolean';
  return { name, value: isNumber ? value : null };
}

/** What a place is called in the program that is exported. */
export function nameOfPlace(place: Place, state: readonly ExportState[]): string {
  switch (place.kind) {
    case 'argument':
    case 'has':
      return ['arg', place.index, ...place.path].join('.');
    case 'count':
      return 'arg.count';
    case 'state':
      return state[place.index]!.name;
    case 'random':
      return `random.${place.field}`;
  }
}

function noProgram(given: string, expected: string): ArgumentError {
  return new ArgumentError({
    what: 'export: nothing to export',
    given,
    expected,
    remedy: 'save a captured function after calling it: await save(fn, path)',
  });
}
