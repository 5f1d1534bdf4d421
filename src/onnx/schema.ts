/** The messages of an ONNX file, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto: what is read or written here. */

import { many, one, type Schema } from '../protobuf/message.ts';

export interface OnnxModel {
  irVersion?: number;
  producerName?: string;
  producerVersion?: string;
  graph?: OnnxGraph;
  opsetImport: OpsetId[];
  metadata: StringPair[];
  /** Functions of the model itself; bodies are not read. */
  functions: OnnxFunction[];
}

export interface OpsetId {
  domain?: string;
  version?: number;
}

export interface StringPair {
  key?: string;
  value?: string;
}

export interface OnnxFunction {
  name?: string;
  domain?: string;
}

export interface OnnxGraph {
  node: OnnxNode[];
  name?: string;
  initializer: OnnxTensor[];
  input: OnnxValueInfo[];
  output: OnnxValueInfo[];
  sparseInitializer: object[];
}

export interface OnnxNode {
  input: string[];
  output: string[];
  name?: string;
  opType?: string;
  domain?: string;
  attribute: OnnxAttribute[];
}

export interface OnnxAttribute {
  name?: string;
  type?: number;
  f?: number;
  i?: number;
  s?: Uint8Array;
  t?: OnnxTensor;
  g?: OnnxGraph;
  floats: number[];
  ints: number[];
  strings: Uint8Array[];
}

export interface OnnxTensor {
  dims: number[];
  dataType?: number;
  floatData: number[];
  int32Data: number[];
  int64Data: number[];
  doubleData: number[];
  uint64Data: number[];
  stringData: Uint8Array[];
  name?: string;
  rawData?: Uint8Array;
  externalData: StringPair[];
  dataLocation?: number;
}

export interface OnnxValueInfo {
  name?: string;
  type?: OnnxType;
}

export interface OnnxType {
  tensorType?: OnnxTensorType;
}

export interface OnnxTensorType {
  elemType?: number;
  shape?: { dim: OnnxDim[] };
}

export interface OnnxDim {
  dimValue?: number;
  dimParam?: string;
}

/** `AttributeProto.AttributeType`. */
export const attributeType = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
  strings: 8,
} as const;

/** `TensorProto.DataType`. */
export const dataType = {
  float: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  double: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
} as const;

/** `TensorProto.DataLocation`. */
export const externalLocation = 1;

const stringPair: Schema<StringPair> = { key: one(1, 'string'), value: one(2, 'string') };

const opsetId: Schema<OpsetId> = { domain: one(1, 'string'), version: one(2, 'int64') };

const tensor: Schema<OnnxTensor> = {
  dims: many(1, 'int64'),
  dataType: one(2, 'int32'),
  floatData: many(4, 'float'),
  int32Data: many(5, 'int32'),
  stringData: many(6, 'bytes'),
  int64Data: many(7, 'int64'),
  name: one(8, 'string'),
  rawData: one(9, 'bytes'),
  doubleData: many(10, 'double'),
  uint64Data: many(11, 'uint64'),
  externalData: many(13, () => stringPair),
  dataLocation: one(14, 'int32'),
};

const dim: Schema<OnnxDim> = { dimValue: one(1, 'int64'), dimParam: one(2, 'string') };
const shape: Schema<{ dim: OnnxDim[] }> = { dim: many(1, () => dim) };
const tensorType: Schema<OnnxTensorType> = {
  elemType: one(1, 'int32'),
  shape: one(2, () => shape),
};
const type: Schema<OnnxType> = { tensorType: one(1, () => tensorType) };
const valueInfo: Schema<OnnxValueInfo> = { name: one(1, 'string'), type: one(2, () => type) };

const attribute: Schema<OnnxAttribute> = {
  name: one(1, 'string'),
  f: one(2, 'float'),
  i: one(3, 'int64'),
  s: one(4, 'bytes'),
  t: one(5, () => tensor),
  g: one(6, () => graph),
  floats: many(7, 'float'),
  ints: many(8, 'int64'),
  strings: many(9, 'bytes'),
  type: one(20, 'int32'),
};

const node: Schema<OnnxNode> = {
  input: many(1, 'string'),
  output: many(2, 'string'),
  name: one(3, 'string'),
  opType: one(4, 'string'),
  attribute: many(5, () => attribute),
  domain: one(7, 'string'),
};

const graph: Schema<OnnxGraph> = {
  node: many(1, () => node),
  name: one(2, 'string'),
  initializer: many(5, () => tensor),
  input: many(11, () => valueInfo),
  output: many(12, () => valueInfo),
  sparseInitializer: many(15, () => ({})),
};

const functionSchema: Schema<OnnxFunction> = { name: one(1, 'string'), domain: one(10, 'string') };

export const modelSchema: Schema<OnnxModel> = {
  irVersion: one(1, 'int64'),
  producerName: one(2, 'string'),
  producerVersion: one(3, 'string'),
  graph: one(7, () => graph),
  opsetImport: many(8, () => opsetId),
  metadata: many(14, () => stringPair),
  functions: many(25, () => functionSchema),
};
