import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { boundParts, closureOfFunction } from './code-behind.ts';
import type { Guard } from './guard.ts';
import { compileNumber, numberKey } from './number-expr.ts';
import { compilePlainReader } from './plain-reads.ts';
import { objectId, sourceKey } from './source-key.ts';

type ReadState = (frames: readonly Frame[]) => string;

/** A key that is equal for guards that read the same from the same location. */
export function stateKey(guard: Guard): string {
  switch (guard.kind) {
    case 'gradMode':
    case 'device':
    case 'opDevice':
      return guard.kind;
    case 'number':
      return `number ${numberKey(guard.expr)}`;
    case 'distinct':
    case 'data':
      return `${guard.kind} ${guard.sources.map(sourceKey)}`;
    default:
      return `${guard.kind} ${sourceKey(guard.source)}`;
  }
}

/**
 * Compiles a function that returns what a guard reads as text: if the texts are equal, the guard can't distinguish two
 * calls.
 */
export function compileState(guard: Guard): ReadState {
  const read = readerOf(guard);
  const spell = spellings[guard.kind] ?? spelled;
  return (frames) => {
    try {
      return spell(read(frames));
    } catch {
      // The object that the guard reads through doesn't exist, or has a getter there.
      return '!';
    }
  };
}

function readerOf(guard: Guard): (frames: readonly Frame[]) => unknown {
  switch (guard.kind) {
    case 'number':
      // A result has no size before the run, and doesn't distinguish calls.
      return compileNumber(guard.expr, [], compilePlainReader);
    case 'gradMode':
    case 'device':
    case 'opDevice':
      return () => undefined;
    case 'distinct':
    case 'data': {
      const readers = guard.sources.map(compilePlainReader);
      return (frames) => readers.map((read) => read(frames));
    }
    default:
      return compilePlainReader(guard.source);
  }
}

function keysOf(value: unknown): string {
  return JSON.stringify(Object.keys(value as object));
}

function codeOf(value: unknown): string {
  const closure = closureOfFunction(value);
  return closure ? `code ${closure.code.id}` : spelled(value);
}

function boundTo(value: unknown): string {
  const parts = boundParts(value);
  return parts ? `bound ${parts.args.length}` : spelled(value);
}

const spellings: { readonly [K in Guard['kind']]?: (value: unknown) => string } = {
  keys: keysOf,
  code: codeOf,
  bound: boundTo,
};

function spelled(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (value instanceof Tensor) {
    const { dtype, shape, strides, requiresGrad } = value;
    return `${dtype}[${shape}/${strides}]${requiresGrad ? 'g' : ''}`;
  }
  if (value instanceof Map || value instanceof Set) return [...value.keys()].map(spelled).join();
  return `#${objectId(value)}`;
}
