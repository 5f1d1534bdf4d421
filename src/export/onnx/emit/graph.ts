import {
  attributeType,
  dataType,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValueInfo,
} from '../../../../runtime/onnx/format/proto.ts';
import { type Dims, isFixed } from '../../target/dims.ts';
import type { Element } from '../../target/target.ts';

const dataTypeOf: { readonly [E in Element]: number } = {
  i1: dataType.bool,
  ui8: dataType.uint8,
  i32: dataType.int32,
  i64: dataType.int64,
  f16: dataType.float16,
  bf16: dataType.bfloat16,
  f32: dataType.float,
  f64: dataType.double,
  ui32: dataType.uint32,
  ui64: dataType.uint64,
};

/** A graph, text or number of a node; integral numbers are integers, unless `float` is set. */
export type NodeAttribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly graph: OnnxGraph };

export function attributeOf(name: string, value: NodeAttribute): OnnxAttribute {
  const empty = { name, floats: [], ints: [], strings: [] };
  if (typeof value === 'number') return { ...empty, type: attributeType.int, i: value };
  if (typeof value === 'string') {
    return { ...empty, type: attributeType.string, s: new TextEncoder().encode(value) };
  }
  if ('float' in value) return { ...empty, type: attributeType.float, f: value.float };
  if ('graph' in value) return { ...empty, type: attributeType.graph, g: value.graph };
  return { ...empty, type: attributeType.ints, ints: [...value] };
}

export function emptyTensor(
  name: string,
  element: Element,
  dims: readonly number[],
  rawData: Uint8Array,
): OnnxTensor {
  return {
    name,
    dataType: dataTypeOf[element],
    dims: [...dims],
    rawData,
    floatData: [],
    int32Data: [],
    int64Data: [],
    doubleData: [],
    uint64Data: [],
    stringData: [],
    externalData: [],
  };
}

/** Describes an input or output of a graph. `dimName`: names sizes that depend on the call. */
export function valueInfo(
  name: string,
  element: Element,
  dims: Dims,
  dimName: (dim: Exclude<Dims[number], number>) => string,
): OnnxValueInfo {
  const dim = dims.map((size) =>
    isFixed(size) ? { dimValue: size } : { dimParam: dimName(size) },
  );
  return { name, type: { tensorType: { elemType: dataTypeOf[element], shape: { dim } } } };
}

export function graphOf(
  name: string,
  node: OnnxNode[],
  input: OnnxValueInfo[],
  output: OnnxValueInfo[],
  initializer: OnnxTensor[] = [],
): OnnxGraph {
  return { name, node, input, output, initializer, sparseInitializer: [] };
}
