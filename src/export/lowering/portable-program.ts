import { deviceNamed } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { InputSpec } from '../../../runtime/input-spec/spec.ts';
import { zeros } from '../../../runtime/ops/movement/create.ts';
import type { ScalarTable } from '../../../runtime/ops/numbers/symbolic-number.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, Region } from '../../../runtime/program/program.ts';
import { scalarTableIn } from '../../../runtime/program/scalars.ts';
import { parseFile } from '../../../runtime/save/file/container.ts';
import { Field } from '../../../runtime/save/file/field.ts';
import { readGraphs } from '../../../runtime/save/graph-reader.ts';
import { readPrimitive } from '../../../runtime/save/primitive.ts';
import { readEntry, type SavedEntry } from '../../../runtime/save/saved-entry.ts';
import type { SavedSource } from '../../../runtime/save/saved-source.ts';
import { withSizes } from '../../../runtime/save/size-expr.ts';
import { readSizes } from '../../../runtime/save/sized-program.ts';
import { readSpec } from '../../../runtime/save/spec-format.ts';
import { TensorReader } from '../../../runtime/save/tensors.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { type SymbolicSizes, symbolicSizes } from '../target/symbolic-sizes.ts';

/** One value that a program reads outside its arguments. */
export interface ExportState {
  readonly name: string;
  /** Null for a value that is not a number, and for a gradient that the program doesn't read. */
  readonly value: Tensor | number | boolean | null;
  /**
   * Files contain no gradients: a gradient that the program adds to starts as zeros, and one that it doesn't read is no
   * input.
   */
  readonly isGradient: boolean;
}

/** A saved program as other engines need it: known ops in order, with the values that they read and change. */
export interface PortableProgram {
  readonly name: string;
  readonly inputSpec: readonly InputSpec[] | null;
  readonly state: readonly ExportState[];
  readonly entry: SavedEntry;
  readonly program: Program;
  /** The backward programs of inner regions that gradients flow through. */
  readonly backwardParts: ReadonlyMap<Region, BackwardPart>;
  /** Arithmetic on JavaScript numbers; undefined if there is none. */
  readonly scalars: ScalarTable | undefined;
  /** The program's numbers as functions of the sizes of a call; null if the program is for fixed sizes. */
  readonly sizes: SymbolicSizes | null;
  dispose(): void;
}

interface Choice {
  /** The index of the program in the file; by default the last one compiled. */
  readonly index?: number;
  /** Selects the program for every size, if the file has one and no index is given. */
  readonly everySize?: boolean;
}

/**
 * Reads one program of a saved file: the one at `index`, or the last one compiled, whose inputs include numbers that
 * change between calls. Throws DataError for a damaged file, and ArgumentError if there is no such program.
 */
export function readPortable(file: Uint8Array, choice: Choice = {}): PortableProgram {
  const { header, data } = parseFile(file);
  const device = deviceNamed('cpu');
  const tensors = new TensorReader(header.get('tensors'), data, device);
  try {
    if (!header.has('program')) throw noProgram('a file of tensors and data', 'a saved program');
    return portable(header.get('program'), tensors, device, choice);
  } catch (error) {
    tensors.disposeAll();
    throw error;
  } finally {
    tensors.close();
  }
}

function portable(
  field: Field,
  tensors: TensorReader,
  device: Device,
  { index, everySize = false }: Choice,
): PortableProgram {
  const stateFields = field.get('state').items();
  const families = everySize && index === undefined ? field.get('everySize').items() : [];
  const saved = families[0] && readSizes(families[0], stateFields.length);
  const document = saved && new Field(saved.document, 'a program for every size');
  const filled = document && withSizes(document, saved.madeFor);
  const graphs = readGraphs((filled ?? field).get('graphs'), device, 'for any device');
  const entry = readEntry(
    filled ? filled.get('entry') : chosen(field.get('entries').items(), index),
    stateFields.length,
    graphs,
  );
  if (entry.graph === null) throw noProgram('a program without ops', 'one that computes');
  const graph = graphs[entry.graph]!;
  const inputSpec = field.get('inputSpec');
  const { program } = graph.region;
  const read = inputsRead(program, entry);
  const gradients: Tensor[] = [];
  const state = stateFields.map((each, i): ExportState => {
    if (!each.has('gradientOf')) return readState(each, tensors);
    const of = stateFields[each.get('gradientOf').int(0, stateFields.length - 1)]!;
    const name = `${of.get('name').string()}.grad`;
    const meta = read.get(i);
    if (!meta) return { name, value: null, isGradient: true };
    if (each.has('gradient') && !each.get('gradient').isNull) {
      return { name, value: tensors.read(each.get('gradient')), isGradient: true };
    }
    const value = zeros(meta.shape, { dtype: meta.dtype, device });
    gradients.push(value);
    return { name, value, isGradient: true };
  });
  return {
    name: field.get('name').string(),
    inputSpec: inputSpec.isNull ? null : inputSpec.items().map((spec) => readSpec(spec)),
    state,
    entry,
    program,
    backwardParts: new Map(
      graphs.flatMap(({ region, planned: { backward } }) => (backward ? [[region, backward]] : [])),
    ),
    scalars: scalarTableIn(graph.planned),
    sizes: document ? symbolicSizes(saved, document, graphs) : null,
    dispose: () => {
      tensors.disposeAll();
      for (const gradient of gradients) gradient.dispose();
    },
  };
}

/** Returns the state whose elements the program reads, by index. */
function inputsRead(program: Program, entry: SavedEntry): Map<number, TensorMeta> {
  const read = new Set([...program.ops.flatMap(({ inputs }) => inputs), ...program.outputs]);
  return new Map(
    entry.inputs.flatMap(({ place }, i) => {
      const id = program.inputs[i]!;
      return place.kind === 'state' && read.has(id) ? [[place.index, program.values[id]!]] : [];
    }),
  );
}

function chosen(entries: readonly Field[], index = entries.length - 1): Field {
  const entry = entries[index];
  if (!entry) throw noProgram(`program ${index}`, `0 to ${entries.length - 1}`);
  return entry;
}

function readState(field: Field, tensors: TensorReader): ExportState {
  const name = field.get('name').string();
  const isGradient = false;
  if (field.has('tensor')) return { name, value: tensors.read(field.get('tensor')), isGradient };
  const value = readPrimitive(field.get('value'));
  const isNumber = typeof value === 'number' || typeof value === 'boolean';
  return { name, value: isNumber ? value : null, isGradient };
}

/** Returns the name of a location in the exported program. */
export function nameOfSource(source: SavedSource, state: readonly ExportState[]): string {
  switch (source.kind) {
    case 'argument':
      return `arg.${source.index}`;
    case 'property':
    case 'hasProperty':
      return `${nameOfSource(source.base, state)}.${source.key}`;
    case 'argumentCount':
      return 'arg.count';
    case 'state':
      return state[source.index]!.name;
    case 'random':
      return `random.${source.field}`;
  }
}

export function noProgram(given: string, expected: string): ArgumentError {
  return new ArgumentError({
    what: 'export: nothing to export',
    given,
    expected,
    remedy: 'save a captured function after calling it: await save(fn, path)',
  });
}
