import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { currentDevice, guardingDevice } from '../../runtime/device/current.ts';
import { compileValueTest, hasKeys } from '../../runtime/entry/guard.ts';
import { assertNever } from '../../runtime/errors/invariant.ts';
import { type Shape, sameShape } from '../../runtime/spec/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Frame, uninitialized } from '../vm/bytecode/frame.ts';
import { closureOf } from '../vm/frames/function-of.ts';
import { boundParts, closureOfFunction } from './code-behind.ts';
import { callNative, collectionType, isPlainCollection } from './collection-slots.ts';
import type { Guard, GuardedSize, GuardedStrides } from './guard.ts';
import { isInherited } from './inherited-property.ts';
import { compileNumber } from './number-expr.ts';
import { allows, isPlainArray, listsPlainly } from './plain.ts';
import type { PlainReads } from './plain-reads.ts';

export type Check = (frames: readonly Frame[]) => boolean;

/** Compiles a guard once to a function of the frames. */
export function compileCheck(guard: Guard, sizes: readonly number[], reads: PlainReads): Check {
  switch (guard.kind) {
    case 'gradMode':
      return () => gradEnabled() === guard.enabled;
    case 'device':
      return () => currentDevice() === guard.device;
    case 'opDevice':
      return () => guardingDevice() === guard.device;
    case 'number': {
      const read = compileNumber(guard.expr, sizes, (source) => reads.reader(source));
      const { value } = guard;
      return (frames) => Object.is(read(frames), value);
    }
    case 'same': {
      const [read, readOther] = [reads.reader(guard.source), reads.reader(guard.other)];
      return (frames) => (read(frames) === readOther(frames)) === guard.same;
    }
    case 'distinct':
      return compileDistinct(guard, reads);
    case 'data': {
      const readers = guard.sources.map((source) => reads.reader(source));
      return (frames) => {
        for (let i = 0; i < readers.length; i++) readers[i]!(frames);
        return true;
      };
    }
    default: {
      const read = reads.reader(guard.source, looksInside.has(guard.kind));
      const test = compileTest(guard);
      return (frames) => test(read(frames));
    }
  }
}

/** Checks hundreds of parameters for distinctness in one pass. */
function compileDistinct(
  { sources, others }: Guard & { kind: 'distinct' },
  reads: PlainReads,
): Check {
  const readers = sources.map((source) => reads.reader(source));
  const foreign = others.map((source) => reads.reader(source));
  const seen = new Set<unknown>();
  return (frames) => {
    try {
      for (let i = 0; i < readers.length; i++) {
        seen.add(readers[i]!(frames));
        if (seen.size === i) return false;
      }
      for (let i = 0; i < foreign.length; i++) if (seen.has(foreign[i]!(frames))) return false;
      return true;
    } finally {
      // A check keeps no object alive.
      seen.clear();
    }
  };
}

/** Guards that inspect the object, not only its identity. */
export const looksInside: ReadonlySet<Guard['kind']> = new Set<Guard['kind']>([
  'keys',
  'members',
  'plainArray',
  'collection',
  'change',
]);

/** Guards on a single source. */
type SourceGuard = Exclude<
  Guard,
  { kind: 'gradMode' | 'device' | 'opDevice' | 'number' | 'same' | 'distinct' | 'data' }
>;

export function compileTest(guard: SourceGuard): (value: unknown) => boolean {
  switch (guard.kind) {
    case 'value':
    case 'truthy':
    case 'defined':
    case 'typeof':
    case 'isArray':
      return compileValueTest(guard);
    case 'initialized':
      return (value) => value !== uninitialized;
    case 'identity':
      return (value) => value === guard.value;
    case 'plainArray':
      return isPlainArray;
    case 'keys':
      return (value) => listsPlainly(value) && hasKeys(value, guard.keys);
    case 'change': {
      const { key, change } = guard;
      return (value) => allows(value as object, change, key);
    }
    case 'collection':
      return (value) =>
        typeof value === 'object' &&
        value !== null &&
        (guard.plain ? isPlainCollection(value, guard.type) : collectionType(value) === guard.type);
    case 'members':
      return (value) => hasMembers(value as ReadonlyMap<unknown, unknown>, guard.keys);
    case 'closure': {
      const { code, scope, homeObject } = guard;
      return (value) => {
        const closure = closureOf(value);
        return (
          closure?.code === code && closure.scope === scope && closure.homeObject === homeObject
        );
      };
    }
    case 'code': {
      const { code } = guard;
      return (value) => closureOf(value) === undefined && closureOfFunction(value)?.code === code;
    }
    case 'bound': {
      const { args } = guard;
      return (value) => boundParts(value)?.args.length === args;
    }
    case 'tensor': {
      const { dtype, shape, strides, device, requiresGrad } = guard;
      return (value) =>
        value instanceof Tensor &&
        value.dtype === dtype &&
        value.device === device &&
        value.requiresGrad === requiresGrad &&
        fits(value.shape, shape) &&
        hasLayout(value, strides) &&
        // A disposed tensor must throw where eager execution throws.
        value.holder !== null;
    }
    case 'prototype': {
      const { properties } = guard;
      return (value) => {
        for (let i = 0; i < properties.length; i++) {
          if (!isInherited(value as object, properties[i]!)) return false;
        }
        return true;
      };
    }
    case 'bare': {
      const { keys } = guard;
      return (value) => isBare(value as object, keys);
    }
    case 'leaf':
      return (value) => value instanceof Tensor && value.isLeaf && !value.hooks?.length;
    default:
      return assertNever(guard, 'guard');
  }
}

const { getPrototypeOf, hasOwn } = Object;

function isBare(tensor: object, keys: readonly PropertyKey[]): boolean {
  if (getPrototypeOf(tensor) !== Tensor.prototype) return false;
  for (let i = 0; i < keys.length; i++) if (hasOwn(tensor, keys[i]!)) return false;
  return true;
}

function hasLayout(value: Tensor, strides: GuardedStrides): boolean {
  if (strides === null) return value.isContiguous;
  return strides === 'any' ? !value.isContiguous : sameShape(value.strides, strides);
}

function hasMembers(value: ReadonlyMap<unknown, unknown>, keys: readonly unknown[]): boolean {
  if (callNative(value, 'size') !== keys.length) return false;
  let i = 0;
  for (const key of callNative(value, 'keys') as Iterable<unknown>)
    if (!Object.is(key, keys[i++])) return false;
  return true;
}

/** Sizes 0 and 1 are always specialized, which simplifies much. */
function fits(shape: Shape, expected: readonly GuardedSize[]): boolean {
  if (shape.length !== expected.length) return false;
  for (let i = 0; i < shape.length; i++) {
    const size = expected[i]!;
    if (size === 'any') continue;
    if (size === null ? shape[i]! < 2 : shape[i] !== size) return false;
  }
  return true;
}
