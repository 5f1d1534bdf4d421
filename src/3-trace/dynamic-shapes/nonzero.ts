/** Functions whose results have a size for each nonzero element of a mask, as two calls of a program. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { floorDivide, remainder } from '../../../runtime/ops/arithmetic/division.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { findingNonzero } from '../../../runtime/ops/indexing/data-dependent.ts';
import { scatter } from '../../../runtime/ops/indexing/gather.ts';
import { zeros } from '../../../runtime/ops/movement/create.ts';
import { stack } from '../../../runtime/ops/movement/joining.ts';
import { narrow, reshape } from '../../../runtime/ops/movement/movement.ts';
import { arange } from '../../../runtime/ops/movement/ranges.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { sub } from '../../../runtime/ops/pointwise/pointwise.ts';
import { sum } from '../../../runtime/ops/reduce/reduce.ts';
import { cumsum } from '../../../runtime/ops/reduce/scans.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { uniqueInOps } from './unique.ts';

/** Functions that read their data otherwise, by name. */
const inOps: ReadonlyMap<string, Callable> = new Map([['unique', uniqueInOps as Callable]]);

type Callable = (...args: never[]) => unknown;

const int32 = { dtype: 'int32' } as const;

/** Returns a function that returns, for each mask that `fn` meets, the places of its nonzero elements and their count. */
export function countingNonzero(fn: Callable): Callable {
  const body = inOps.get(fn.name) ?? fn;
  return named(fn, function counting(this: unknown, ...args: never[]) {
    const found: Tensor[] = [];
    const find = (mask: Tensor): Tensor => {
      found.push(...noGrad(() => placesOf(mask)));
      return zeros([mask.rank, 1], int32);
    };
    try {
      findingNonzero(find, () => Reflect.apply(body, this, args));
    } catch (error) {
      // With one place of each mask it may fail where it doesn't with the right ones.
      if (found.length === 0) throw error;
    }
    return found;
  });
}

/** Returns a function that takes what `countingNonzero` has found, before the arguments of `fn`. */
export function withNonzero(fn: Callable): Callable {
  const body = inOps.get(fn.name) ?? fn;
  return named(
    fn,
    function counted(this: unknown, found: readonly (Tensor | number)[], ...args: never[]) {
      const rest = [...found];
      const find = (mask: Tensor): Tensor | null => {
        const [places, count] = rest.splice(0, 2) as [Tensor?, number?];
        return places ? noGrad(() => tableOf(mask, narrow(places, 0, 0, count!))) : null;
      };
      return findingNonzero(find, () => Reflect.apply(body, this, args));
    },
  );
}

/** Returns the row-major places of nonzero elements, followed by anything else, and their count. */
function placesOf(mask: Tensor): [places: Tensor, count: Tensor] {
  const length = mask.numel();
  const test = reshape(cast(mask, 'bool'), [length]);
  const ones = cast(test, 'int32');
  const before = sub(cumsum(ones, 0), ones);
  const to = where(test, before, length);
  const places = scatter(zeros([length + 1], int32), 0, to, arange(length, int32));
  return [narrow(places, 0, 0, length), cast(sum(ones), 'float64')];
}

/** Returns the coordinates of places in a tensor: int32 [rank, count]. */
function tableOf({ shape }: Tensor, places: Tensor): Tensor {
  if (shape.length === 0) return zeros([0, places.numel()], int32);
  let rest = places;
  const rows: Tensor[] = [];
  for (const size of shape.slice(1).reverse()) {
    rows.push(remainder(rest, size));
    rest = floorDivide(rest, size);
  }
  return stack([rest, ...rows.reverse()]);
}

function named(fn: Callable, body: (...args: never[]) => unknown): Callable {
  return Object.defineProperty(body, 'name', { value: fn.name });
}
