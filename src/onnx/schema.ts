/** The encoding of an ONNX file's messages. */

import type {
  OnnxAttribute,
  OnnxDim,
  OnnxFunction,
  OnnxGraph,
  OnnxModel,
  OnnxNode,
  OnnxTensor,
  OnnxTensorType,
  OnnxType,
  OnnxValueInfo,
  OpsetId,
  StringPair,
} from '../../runtime/onnx/format/proto.ts';
import { many, one, type Schema } from '../protobuf/message.ts';

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
