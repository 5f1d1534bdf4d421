import type { OnnxGraph, OnnxModel } from '../../runtime/onnx/format/proto.ts';
import { type CompiledGraph, GraphCompiler } from '../../runtime/onnx/graph.ts';
import { type ModelWeight, OnnxModule } from '../../runtime/onnx/model.ts';
import { missing } from '../../runtime/onnx/node/not-imported.ts';
import { dataBeside, noExternalData } from '../../runtime/onnx/values/external-data.ts';
import { readBytes } from '../../runtime/save/file/files.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { badWeights } from '../../runtime/weights/bad-file.ts';
import { decodeMessage } from '../protobuf/message.ts';
import { modelSchema } from './schema.ts';

const [firstOpset, lastOpset] = [13, 22];

/**
 * Imports an ONNX model as a module that runs, trains, compiles and is saved like any other; from the path or URL
 * of a file, whose folder may contain external data, or from bytes. Throws DataError for a damaged file, and
 * ArgumentError with the names of all unsupported operators.
 */
export async function importOnnx(source: string | URL | Uint8Array): Promise<OnnxModule> {
  const isBytes = source instanceof Uint8Array;
  const bytes = isBytes ? source : await readBytes(source);
  const model = decodeMessage(modelSchema, bytes, 'onnx');
  const { graph } = model;
  if (!graph) throw badWeights('onnx', 'the model', 'no graph', 'a graph');
  if (model.functions.length > 0) throw missing('functions of the model itself');
  const external = isBytes ? noExternalData : dataBeside(await folderOf(source));
  const compiler = new GraphCompiler(opsetOf(model), external);
  const { compiled, weights } = compiler.model(graph);
  if (compiler.missing.size > 0) throw missing([...compiler.missing].sort().join(', '));
  const names = new Set(graph.initializer.map(({ name }) => name));
  const inputs = graph.input.flatMap(({ name = '' }) => (names.has(name) ? [] : [name]));
  const outputs = graph.output.map(({ name = '' }) => name);
  const { state, constants } = stateOf(graph, compiled, weights);
  return new OnnxModule({ ...compiled, constants }, state, inputs, outputs);
}

async function folderOf(path: string | URL): Promise<string> {
  const { dirname } = await import('node:path');
  const { fileURLToPath } = await import('node:url');
  return dirname(path instanceof URL ? fileURLToPath(path) : path);
}

function opsetOf({ opsetImport }: OnnxModel): number {
  const standard = opsetImport.find(({ domain = '' }) => domain === '' || domain === 'ai.onnx');
  const version = standard?.version ?? 0;
  if (version >= firstOpset && version <= lastOpset) return version;
  throw missing(`opset ${version}; ${firstOpset} to ${lastOpset} are imported`);
}

/** Weights are the floating-point initializers of the graph itself; counts and indices are constants. */
function stateOf(
  graph: OnnxGraph,
  { constants }: CompiledGraph,
  slots: ReadonlyMap<string, number>,
): { readonly state: ModelWeight[]; readonly constants: CompiledGraph['constants'] } {
  const statistics = new Set(
    graph.node.flatMap(({ opType, input }) =>
      opType === 'BatchNormalization' ? input.slice(3, 5) : [],
    ),
  );
  const nameOf = new Map([...slots].map(([name, slot]) => [slot, name] as const));
  const state: ModelWeight[] = [];
  const rest: CompiledGraph['constants'][number][] = [];
  for (const constant of constants) {
    const [slot, tensor] = constant;
    const name = nameOf.get(slot);
    const isWeight =
      name !== undefined && tensor instanceof Tensor && tensor.dtype.includes('float');
    if (!isWeight) rest.push(constant);
    // A single number among tensors, such as an epsilon, is not learned.
    else state.push({ name, slot, tensor, isTrained: tensor.numel() > 1 && !statistics.has(name) });
  }
  return { state, constants: rest };
}
