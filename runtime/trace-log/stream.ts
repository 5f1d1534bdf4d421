/** The log of ops, transforms and scopes, as lines. Without a listener nothing is created. */

import { isContiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { formatShape } from '../spec/shape.ts';

/** Parts of the log with separate listeners; `memory` and `copy` are computed from memory events. */
export type TraceModule = 'op' | 'transform' | 'copy' | 'scope' | 'memory';

type LoggedModule = Extract<TraceModule, 'op' | 'transform' | 'scope'>;
export type TraceListener = (module: LoggedModule, line: string) => void;

/** An operand or result, named as in the program or in the op's record. */
export interface Named {
  readonly name: string;
  readonly meta: TensorMeta;
}

class TraceStream {
  #listeners: readonly TraceListener[] = [];
  /** Whether there is a listener; emitters check it first. */
  active = false;

  subscribe(listener: TraceListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    this.active = true;
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
      this.active = this.#listeners.length > 0;
    };
  }

  /** Logs an issued op. */
  op(name: string, device: string, inputs: readonly Named[], outputs: readonly Named[]): void {
    const [from, to] = [inputs, outputs].map((list) => list.map(formatNamed).join(', '));
    this.#emit('op', `Op(${name}), Place(${device}), inputs {${from}}, outputs {${to}}`);
  }

  /** Logs a tensor that is passed to a kernel in another layout or on another device, or is moved. */
  transform(op: string, from: TensorMeta, to: TensorMeta): void {
    this.#emit('transform', `Transform for ${op} from ${formatKey(from)} to ${formatKey(to)}`);
  }

  /** Logs a value that left its scope after its last use. */
  erase(name: string): void {
    this.#emit('scope', `Erase variable ${name}`);
  }

  #emit(module: LoggedModule, line: string): void {
    for (const listener of this.#listeners) listener(module, line);
  }
}

export const traceStream = new TraceStream();

function formatNamed({ name, meta }: Named): string {
  return `${name}:${meta.dtype}${formatShape(meta.shape)}`;
}

function formatKey(meta: TensorMeta): string {
  const layout = isContiguousMeta(meta) ? 'contiguous' : 'strided';
  return `{${meta.dtype}${formatShape(meta.shape)}, ${layout}, ${meta.device.name}}`;
}
