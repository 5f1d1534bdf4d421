import { TensorSpec } from '../../../runtime/input-spec/spec.ts';
import {
  externalLocation,
  type OnnxGraph,
  type OnnxModel,
  type OnnxTensor,
  type OnnxValueInfo,
} from '../../../runtime/onnx/format/proto.ts';
import type { SavedSource } from '../../../runtime/save/saved-source.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { bytesOf } from '../../../runtime/weights/writer.ts';
import { modelSchema } from '../../onnx/schema.ts';
import { encodeMessage } from '../../protobuf/message.ts';
import {
  type LoweredEntry,
  type LoweredInput,
  type LoweredResult,
  lowerEntry,
} from '../lowering/entry-lowering.ts';
import { nameOfSource, type PortableProgram } from '../lowering/portable-program.ts';
import type { Dim } from '../target/dims.ts';
import { constantBytes } from './emit/constant-bytes.ts';
import type { Value } from './emit/emitter.ts';
import { emptyTensor, graphOf, valueInfo } from './emit/graph.ts';
import { OnnxEngine } from './engine.ts';
import { liveNodes, namedResults } from './live-nodes.ts';

/** The version of the operators, and the first file format version that supports it. */
export const opset = 18;
const irVersion = 8;

/** One input or output of the graph. */
export interface OnnxPort {
  readonly name: string;
  /** The element type by the export's own short names: `f32`, `i32`, `i1` … */
  readonly type: string;
  /** Sizes, or names of sizes that depend on the call. */
  readonly shape: readonly (number | string)[];
}

export interface OnnxInput extends OnnxPort {
  readonly kind: 'argument' | 'state' | 'random';
  /** A number's value when the program was saved; tensors are stored in a separate file. */
  readonly value: number | null;
}

export interface OnnxOutput extends OnnxPort {
  /** The input that receives this output in the next call; null for a result of the function. */
  readonly feeds: string | null;
}

interface ExportedModel {
  readonly model: Uint8Array;
  /** Data of large weights, if it is stored in a separate file. */
  readonly data: Uint8Array | null;
  readonly inputs: readonly OnnxInput[];
  readonly outputs: readonly OnnxOutput[];
  /** State tensors that are inputs, by name. */
  readonly state: ReadonlyMap<string, Tensor>;
  /** The number of user checks (`if (bad) throw …`) that the exported program omits. */
  readonly unchecked: number;
}

/**
 * Exports the program as an ONNX model. State that it changes becomes inputs and outputs; the rest of the state is
 * part of the model, or stored in the file `external` if a name is given.
 */
export async function exportModel(
  portable: PortableProgram,
  external: string | null,
): Promise<ExportedModel> {
  const names = new SizeNames(portable);
  const engine: OnnxEngine = new OnnxEngine(portable, names.arguments, (size) =>
    names.read(engine, size),
  );
  const lowered = lowerEntry(portable, engine);
  const isStep = lowered.results.some(({ feeds }) => feeds !== null);
  const isFed = (input: LoweredInput<Value>) =>
    lowered.results.some(({ feeds }) => feeds !== null && lowered.inputs[feeds] === input);
  const isInput = (input: LoweredInput<Value>) =>
    input.kind !== 'state' || isFed(input) || (isStep && !(input.held instanceof Tensor));
  const inputs = lowered.inputs.filter(isInput);
  const weights = await Promise.all(
    lowered.inputs.filter((input) => !isInput(input)).map(weightOf),
  );
  const results = lowered.results.map((result) => ({
    ...result,
    output: outputOf(engine, lowered, result),
  }));
  const info = ({ id, element, shape }: Value): OnnxValueInfo =>
    valueInfo(id, element, shape, (dim) => names.of(dim));
  const resultNames = results.map(({ output }) => output.id);
  const { tensors, data } =
    external === null ? { tensors: weights, data: null } : moved(weights, external);
  const graph = graphOf(
    portable.name || 'program',
    namedResults(liveNodes(engine.nodes, resultNames), resultNames),
    inputs.map(({ value }) => info(value)),
    results.map(({ output }) => info(output)),
    [...tensors, ...engine.initializers],
  );
  const outputs = results.map(({ output, feeds }) => ({
    ...names.port(output),
    feeds: feeds === null ? null : lowered.inputs[feeds]!.value.id,
  }));
  return {
    model: encodeMessage(modelSchema, modelOf(graph, outputs)),
    data,
    inputs: inputs.map(({ kind, value, held }) => ({
      ...names.port(value),
      kind,
      value: numberOf(held),
    })),
    outputs,
    state: new Map(
      inputs.flatMap(({ value, held }) => (held instanceof Tensor ? [[value.id, held]] : [])),
    ),
    unchecked: lowered.unchecked,
  };
}

/** The metadata `tostatic.feeds` says which output is which input of the next call. */
function modelOf(graph: OnnxGraph, outputs: readonly OnnxOutput[]): OnnxModel {
  const fed = outputs.flatMap(({ name, feeds }) => (feeds === null ? [] : [[name, feeds]]));
  const feeds = { key: 'tostatic.feeds', value: JSON.stringify(Object.fromEntries(fed)) };
  return {
    irVersion,
    producerName: 'tostatic',
    opsetImport: [{ domain: '', version: opset }],
    graph,
    metadata: fed.length > 0 ? [feeds] : [],
    functions: [],
  };
}

const numberOf = (held: LoweredInput<Value>['held']): number | null =>
  typeof held === 'number' || typeof held === 'boolean' ? Number(held) : null;

/** The value under the name of the result, which differs from every input's. */
function outputOf(
  engine: OnnxEngine,
  { inputs }: LoweredEntry<Value>,
  { name, value, feeds }: LoweredResult<Value>,
): Value {
  const outputName = feeds === null ? name : `${inputs[feeds]!.value.id}.next`;
  const isTaken = inputs.some((input) => input.value.id === outputName);
  return engine.named(value, isTaken ? `${outputName}.next` : outputName);
}

async function weightOf({ value, held }: LoweredInput<Value>): Promise<OnnxTensor> {
  const { id, element } = value;
  if (!(held instanceof Tensor)) {
    return emptyTensor(id, element, [], constantBytes([Number(held)], element));
  }
  return emptyTensor(id, element, held.shape, bytesOf(await held.data()));
}

/** Smaller tensors remain in the model. */
const leastExternalBytes = 1024;
/** The page size of memory-mapped files. */
const alignment = 4096;

/** Moves large tensors to a separate file. */
function moved(weights: readonly OnnxTensor[], location: string) {
  let end = 0;
  const placed = weights.map((tensor) => {
    const { rawData } = tensor;
    if (!rawData || rawData.length < leastExternalBytes) return { tensor, offset: -1 };
    const offset = Math.ceil(end / alignment) * alignment;
    end = offset + rawData.length;
    return { tensor, offset };
  });
  const data = new Uint8Array(end);
  const tensors = placed.map(({ tensor, offset }): OnnxTensor => {
    if (offset < 0) return tensor;
    const { rawData, ...rest } = tensor;
    data.set(rawData!, offset);
    const entries = { location, offset: String(offset), length: String(rawData!.length) };
    return {
      ...rest,
      dataLocation: externalLocation,
      externalData: Object.entries(entries).map(([key, value]) => ({ key, value })),
    };
  });
  return { tensors, data };
}

/** Names of arguments and of dynamic sizes: the specification's, if it has any. */
class SizeNames {
  /** Names of arguments given in the specification. */
  readonly arguments: ReadonlyMap<string, string>;
  readonly #portable: PortableProgram;
  /** Specifications by location of the argument. */
  readonly #specs: ReadonlyMap<string, TensorSpec>;
  readonly #sizes: readonly string[];

  constructor(portable: PortableProgram) {
    this.#portable = portable;
    const specs = (portable.inputSpec ?? []).flatMap((spec, i) =>
      spec instanceof TensorSpec ? [[`arg.${i}`, spec] as const] : [],
    );
    this.#specs = new Map(specs);
    this.arguments = new Map(specs.flatMap(([path, { name }]) => (name ? [[path, name]] : [])));
    this.#sizes = (portable.sizes?.places ?? []).map((source) => this.#nameOf(source));
  }

  port({ id, element, shape }: Value): OnnxPort {
    const sizes = shape.map((dim) => (typeof dim === 'number' ? dim : this.of(dim)));
    return { name: id, type: element, shape: sizes };
  }

  /** Returns a name that shows how the size is computed. */
  of(dim: Exclude<Dim, number>): string {
    if ('size' in dim) return this.#sizes[dim.size]!;
    const [fn, ...args] = dim;
    const texts = (args as readonly Dim[]).map((arg) =>
      typeof arg === 'number' ? String(arg) : this.of(arg),
    );
    return texts.length === 2 && (fn as string).length === 1
      ? `(${texts[0]} ${fn as string} ${texts[1]})`
      : `${fn as string}(${texts.join(', ')})`;
  }

  /** A size of an input, int64 [1]. */
  read(engine: OnnxEngine, size: number): Value {
    const { name, dim } = this.#dimensionOf(this.#portable.sizes!.places[size]!);
    const input = { id: this.arguments.get(name) ?? name, element: 'f32' as const, shape: [] };
    return engine.op('Shape', [input], 'i64', [1], { start: dim, end: dim + 1 });
  }

  #dimensionOf(source: SavedSource): { readonly name: string; readonly dim: number } {
    const full = nameOfSource(source, this.#portable.state);
    const [, name, dim] = /^(.*)\.shape\.(\d+)$/.exec(full) ?? [];
    return { name: name!, dim: Number(dim) };
  }

  #nameOf(source: SavedSource): string {
    const { name, dim } = this.#dimensionOf(source);
    const specified = this.#specs.get(name)?.shape?.[dim];
    const dimName = typeof specified === 'object' ? specified?.name : specified;
    return typeof dimName === 'string' ? dimName : `${this.arguments.get(name) ?? name}.${dim}`;
  }
}
