/** An engine with the interface of onnxruntime-node's addon that runs models by our own importer. */

import { noGrad, type Tensor, tensor, tidy } from '../../runtime/index.ts';
import type { OnnxGraph } from '../../runtime/onnx/format/proto.ts';
import { type CompiledGraph, GraphCompiler, runGraph } from '../../runtime/onnx/graph.ts';
import { noExternalData } from '../../runtime/onnx/values/external-data.ts';
import { tensorOf } from '../../runtime/onnx/values/host.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import { outsideTidy } from '../../runtime/tensor/lifetime.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import type { OrtTensor } from '../../src/onnxruntime/arrays.ts';
import type { OrtPackage, OrtSession } from '../../src/onnxruntime/load-package.ts';
import { decodeMessage } from '../../src/protobuf/message.ts';

class StandInTensor implements OrtTensor {
  readonly type: string;
  readonly data: ArrayBufferView;
  readonly dims: readonly number[];

  constructor(type: string, data: ArrayBufferView, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

class StandInSession implements OrtSession {
  #graph: OnnxGraph | null = null;
  #compiled: CompiledGraph | null = null;

  loadModel(buffer: ArrayBufferLike, offset: number, length: number): void {
    const bytes = new Uint8Array(buffer as ArrayBuffer, offset, length);
    const { graph } = decodeMessage(modelSchema, bytes, 'onnx');
    const compiler = new GraphCompiler(18, noExternalData);
    this.#graph = graph!;
    // A program may be compiled inside of tidy; its constants stay.
    this.#compiled = outsideTidy(() => compiler.model(graph!).compiled);
    const [missing] = compiler.missing;
    const node = graph!.node.find(({ opType }) => opType === missing);
    if (node) {
      throw new Error(
        `Could not find an implementation for ${missing}(18) node with name '${node.name}'`,
      );
    }
  }

  run(feeds: Readonly<Record<string, OrtTensor>>): Readonly<Record<string, OrtTensor>> {
    const { input, output } = this.#graph!;
    return tidy(() => {
      const given = input.map(({ name }) => tensorLike(feeds[name!] as StandInTensor));
      const results = noGrad(() => runGraph(this.#compiled!, [], given)).map((each) =>
        tensorOf(each!),
      );
      return Object.fromEntries(
        results.map((each, i) => [
          output[i]!.name!,
          new StandInTensor(each.dtype, (each.dataSync() as Float32Array).slice(), each.shape),
        ]),
      );
    });
  }

  dispose(): void {
    this.#compiled = null;
  }
}

const tensorLike = ({ type, data, dims }: StandInTensor): Tensor =>
  tensor((data as Float32Array).slice(), { shape: dims, dtype: type as DType });

export const standIn: OrtPackage = { session: StandInSession, tensor: StandInTensor };
