/** The messages in TensorBoard's event files: `event.proto`, `summary.proto` and `graph.proto` of TensorFlow. */

import { many, one, type Schema } from '../protobuf/message.ts';

export interface HistogramProto {
  min: number;
  max: number;
  num: number;
  sum: number;
  sumSquares: number;
  bucketLimit: number[];
  bucket: number[];
}

interface ImageProto {
  height: number;
  width: number;
  /** 1: grey, 3: RGB, 4: RGBA. */
  colorspace: number;
  encoded: Uint8Array;
}

export interface SummaryValue {
  tag: string;
  simpleValue?: number;
  image?: ImageProto;
  histogram?: HistogramProto;
}

export interface AttrEntry {
  key: string;
  value: {
    s?: Uint8Array;
    type?: number;
    list?: { shape: { dim: { size: number }[] }[] };
  };
}

export interface NodeDef {
  name: string;
  op: string;
  /** Names of the nodes that it reads: `name` is the first result, `name:n` result number n. */
  input: string[];
  attr: AttrEntry[];
}

export interface GraphDef {
  node: NodeDef[];
  versions: { producer: number };
}

export interface Event {
  /** Seconds since 1970. */
  wallTime: number;
  step?: number;
  fileVersion?: string;
  summary?: { value: SummaryValue[] };
  /** A `GraphDef`. */
  graphDef?: Uint8Array;
}

const histogram: Schema<HistogramProto> = {
  min: one(1, 'double'),
  max: one(2, 'double'),
  num: one(3, 'double'),
  sum: one(4, 'double'),
  sumSquares: one(5, 'double'),
  bucketLimit: many(6, 'double'),
  bucket: many(7, 'double'),
};

const image: Schema<ImageProto> = {
  height: one(1, 'int32'),
  width: one(2, 'int32'),
  colorspace: one(3, 'int32'),
  encoded: one(4, 'bytes'),
};

const value: Schema<SummaryValue> = {
  tag: one(1, 'string'),
  simpleValue: one(2, 'float'),
  image: one(4, () => image),
  histogram: one(5, () => histogram),
};

const summary: Schema<{ value: SummaryValue[] }> = { value: many(1, () => value) };

const dim: Schema<{ size: number }> = { size: one(1, 'int64') };
const shape: Schema<{ dim: { size: number }[] }> = { dim: many(2, () => dim) };
const list: Schema<{ shape: { dim: { size: number }[] }[] }> = { shape: many(7, () => shape) };
const attrValue: Schema<AttrEntry['value']> = {
  s: one(2, 'bytes'),
  type: one(6, 'int32'),
  list: one(1, () => list),
};
const attr: Schema<AttrEntry> = { key: one(1, 'string'), value: one(2, () => attrValue) };
const node: Schema<NodeDef> = {
  name: one(1, 'string'),
  op: one(2, 'string'),
  input: many(3, 'string'),
  attr: many(5, () => attr),
};
const versions: Schema<{ producer: number }> = { producer: one(1, 'int32') };

export const graphSchema: Schema<GraphDef> = {
  node: many(1, () => node),
  versions: one(4, () => versions),
};

export const eventSchema: Schema<Event> = {
  wallTime: one(1, 'double'),
  step: one(2, 'int64'),
  fileVersion: one(3, 'string'),
  graphDef: one(4, 'bytes'),
  summary: one(5, () => summary),
};
