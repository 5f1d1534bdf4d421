/** What TensorBoard's event files hold: `tensorflow/core/util/event.proto` and `summary.proto`. */

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

export interface ImageProto {
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

export interface Event {
  /** Seconds since 1970. */
  wallTime: number;
  step?: number;
  fileVersion?: string;
  summary?: { value: SummaryValue[] };
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

export const eventSchema: Schema<Event> = {
  wallTime: one(1, 'double'),
  step: one(2, 'int64'),
  fileVersion: one(3, 'string'),
  summary: one(5, () => summary),
};
