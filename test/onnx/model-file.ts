/** ONNX files for tests, node by node. */

import {
  attributeType,
  dataType,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
  type OnnxTensor,
} from '../../runtime/onnx/format/proto.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import { encodeMessage } from '../../src/protobuf/message.ts';

type ElementType = 'float' | 'int64' | 'int32' | 'bool';

/** Numbers of a file, with their type and shape; without a shape they are a list. */
export function numbers(
  type: ElementType,
  values: readonly number[],
  dims: readonly number[] = [values.length],
): OnnxTensor {
  const lists = { floatData: [], int32Data: [], int64Data: [], doubleData: [], uint64Data: [] };
  const list = { float: 'floatData', int64: 'int64Data', int32: 'int32Data', bool: 'int32Data' };
  return {
    ...lists,
    stringData: [],
    externalData: [],
    dims: [...dims],
    dataType: dataType[type],
    [list[type]]: [...values],
  };
}

const named = (name: string, tensor: OnnxTensor): OnnxTensor => ({ ...tensor, name });

type AttributeValue =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly tensor: OnnxTensor }
  | { readonly graph: OnnxGraph };

function attribute(name: string, value: AttributeValue): OnnxAttribute {
  const own = { name, floats: [], ints: [], strings: [] };
  if (typeof value === 'number') return { ...own, type: attributeType.int, i: value };
  if (typeof value === 'string') {
    return { ...own, type: attributeType.string, s: new TextEncoder().encode(value) };
  }
  if ('float' in value) return { ...own, type: attributeType.float, f: value.float };
  if ('tensor' in value) return { ...own, type: attributeType.tensor, t: value.tensor };
  if ('graph' in value) return { ...own, type: attributeType.graph, g: value.graph };
  return { ...own, type: attributeType.ints, ints: [...value] };
}

/** `node('Add', 'a b', 'c')`; an operand `-` is left out. */
export function node(
  opType: string,
  input: string,
  output: string,
  attributes: Readonly<Record<string, AttributeValue>> = {},
): OnnxNode {
  const words = (text: string) => (text === '' ? [] : text.split(' '));
  return {
    opType,
    input: words(input).map((name) => (name === '-' ? '' : name)),
    output: words(output),
    attribute: Object.entries(attributes).map(([name, value]) => attribute(name, value)),
  };
}

export const constant = (output: string, tensor: OnnxTensor): OnnxNode =>
  node('Constant', '', output, { value: { tensor } });

/** Names of inputs with their types and shapes; a size may be open. */
type Inputs = Readonly<Record<string, readonly [ElementType, readonly (number | string)[]]>>;

export function graph(
  inputs: Inputs,
  outputs: readonly string[],
  nodes: readonly OnnxNode[],
  initializers: Readonly<Record<string, OnnxTensor>> = {},
): OnnxGraph {
  return {
    name: 'graph',
    node: [...nodes],
    initializer: Object.entries(initializers).map(([name, tensor]) => named(name, tensor)),
    input: Object.entries(inputs).map(([name, [type, shape]]) => ({
      name,
      type: {
        tensorType: {
          elemType: dataType[type],
          shape: {
            dim: shape.map((size) =>
              typeof size === 'number' ? { dimValue: size } : { dimParam: size },
            ),
          },
        },
      },
    })),
    output: outputs.map((name) => ({ name, type: { tensorType: { elemType: dataType.float } } })),
    sparseInitializer: [],
  };
}

export function modelFile(main: OnnxGraph, opset = 16): Uint8Array {
  const opsetImport = [{ domain: '', version: opset }];
  return encodeMessage(modelSchema, {
    irVersion: 8,
    graph: main,
    opsetImport,
    metadata: [],
    functions: [],
  });
}
