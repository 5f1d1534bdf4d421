/**
 * The parts of the ONNX messages that are read or written here,
 * https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
 */

export interface OnnxModel {
  irVersion?: number;
  producerName?: string;
  producerVersion?: string;
  graph?: OnnxGraph;
  opsetImport: OpsetId[];
  metadata: StringPair[];
  /** The model's own functions; bodies are not read. */
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
