/** Tensor methods that are not ops: they read, print, move and differentiate. */

import { backward, backwardAsync } from '../backward/backward.ts';
import { registerHook, retainGrad } from '../backward/hooks.ts';
import { clone } from '../ops/movement/movement.ts';
import type { DType } from '../spec/dtype.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { BaseMethods } from './base-method-types.ts';
import { type AnyMethod, define, defineAll } from './define-method.ts';
import { formatTensor, formatTensorAsync } from './format.ts';
import * as nested from './nested.ts';
import * as read from './read.ts';
import { moveTo, moveToAsync } from './transfer.ts';

declare module '../tensor/tensor.ts' {
  // biome-ignore lint/suspicious/noExplicitAny: as in the class.
  interface Tensor<D extends DType = any> extends BaseMethods<D> {}
}

const readers = {
  data: read.data,
  dataSync: read.dataSync,
  item: read.item,
  itemSync: read.itemSync,
  toArray: nested.toArray,
  toArraySync: nested.toArraySync,
  tolist: nested.toArraySync,
  equal: read.equal,
  toJSON: nested.summary,
  toStringAsync: formatTensorAsync,
  toAsync: moveToAsync,
} as const;

/** The methods, grouped by how a compiler may treat them. */
export const baseMethods: {
  /** Depend only on their arguments: calls can be appended to a program. */
  readonly traced: readonly AnyMethod[];
  /** Read data. */
  readonly reads: readonly AnyMethod[];
} = {
  traced: defineAll({ clone, to: moveTo }),
  reads: defineAll({ ...readers, toString: formatTensor }),
};
// Iteration and printing call no method by name.
for (const [key, fn] of [
  [Symbol.iterator, nested.entries],
  [Symbol.for('nodejs.util.inspect.custom'), formatTensor],
] as const) {
  const value = function (this: Tensor) {
    return fn(this);
  };
  Object.defineProperty(Tensor.prototype, key, { value, writable: true, configurable: true });
}
define('backward', backward);
define('backwardAsync', backwardAsync);
define('registerHook', registerHook);
define('retainGrad', retainGrad);
