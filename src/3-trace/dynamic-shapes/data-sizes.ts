/**
 * Functions whose result sizes are read from tensors, such as `nonzero` and `bincount`, as two calls of a program: the
 * first computes the sizes, the second receives them as numbers.
 */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { findingNonzero } from '../../../runtime/ops/indexing/data-dependent.ts';
import { zeros } from '../../../runtime/ops/movement/create.ts';
import { narrow } from '../../../runtime/ops/movement/movement.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { bincountInOps, histcInOps, oneHotInOps } from './counts.ts';
import { coordinatesOf, nonzeroIndices } from './nonzero.ts';
import { repeatInterleaveInOps } from './repeats.ts';
import { type SizeSource, SizesComputed, withSizeSource } from './size-source.ts';
import { tensorSplitInOps } from './split-points.ts';

type Callable = (...args: never[]) => unknown;

/**
 * Functions, by name, that read data other than the positions of nonzero elements. They receive their tensor as an
 * argument, even if they are methods.
 */
const inOps: ReadonlyMap<string, Callable> = new Map<string, Callable>([
  ['bincount', bincountInOps],
  ['histc', histcInOps],
  ['oneHot', oneHotInOps],
  ['repeatInterleave', repeatInterleaveInOps],
  ['tensorSplit', tensorSplitInOps],
]);

/** Functions that read values for their results, but not for the results' sizes. */
const sizesKnown: ReadonlySet<string> = new Set(['histc']);

/** The sizes computed by a call: numbers; for nonzero elements, their positions and count. */
type ResultsOrSizes = readonly (Tensor | number)[];

/** Returns whether the function's sizes are known, so that `withSizes` needs no other call. */
export function hasKnownSizes({ name }: Callable): boolean {
  return sizesKnown.has(name);
}

/**
 * Returns a function that computes the sizes that `withSizes` needs. Its first call, a trial, shows which sizes those
 * are. Later calls end at the last size: ops after it would reject the placeholder positions. Values that a call
 * doesn't read for its shapes are zero. `bounded`: called with a lower bound of the sizes.
 */
export function computingSizes(fn: Callable, bounded: (least: number) => void): Callable {
  const call = callOf(fn);
  let all: readonly Tensor[] | null = null;
  return named(fn, function computing(this: unknown, ...args: never[]) {
    const found: Tensor[] = [];
    const sizes: SizeSource = (compute, least) => {
      bounded(least);
      found.push(...noGrad(compute));
      throw new SizesComputed();
    };
    const find = (mask: Tensor): Tensor => {
      const { indices, count } = noGrad(() => nonzeroIndices(mask));
      found.push(indices, count);
      if (found.length === all?.length) throw new SizesComputed();
      return zeros([mask.rank, 1], { dtype: 'int32' });
    };
    try {
      withSizeSource(sizes, () => findingNonzero(find, () => call(this, args)));
    } catch (error) {
      // With placeholder positions for each mask, it may fail where it doesn't with the right ones.
      if (found.length === 0 && !(error instanceof SizesComputed)) throw error;
    }
    all ??= found;
    const unread = all.slice(found.length);
    return [...found, ...unread.map(({ shape, dtype }) => noGrad(() => zeros(shape, { dtype })))];
  });
}

/** Returns a function that takes the results of `computingSizes` before the arguments of `fn`. */
export function withSizes(fn: Callable): Callable {
  const call = callOf(fn);
  return named(fn, function computed(this: unknown, found: ResultsOrSizes, ...args: never[]) {
    const rest = [...found];
    const sizes: SizeSource = () => rest.splice(0) as number[];
    const find = (mask: Tensor): Tensor | null => {
      const [indices, count] = rest.splice(0, 2) as [Tensor?, number?];
      return indices ? noGrad(() => coordinatesOf(mask, narrow(indices, 0, 0, count!))) : null;
    };
    return withSizeSource(sizes, () => findingNonzero(find, () => call(this, args)));
  });
}

function callOf(fn: Callable): (self: unknown, args: readonly never[]) => unknown {
  const body = inOps.get(fn.name);
  if (!body) return (self, args) => Reflect.apply(fn, self, args);
  return (self, args) => body(...(self === undefined ? args : [self as never, ...args]));
}

function named(fn: Callable, body: (...args: never[]) => unknown): Callable {
  return Object.defineProperty(body, 'name', { value: fn.name });
}
