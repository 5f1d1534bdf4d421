import { formatSpec } from '../device/tensor-meta.ts';
import { ArgumentError } from '../errors/errors.ts';
import { stack } from '../ops/movement/joining.ts';
import { select } from '../ops/movement/movement.ts';
import { expectList, shapeOf } from '../ops/record/expect-tensors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Iterates over the rows of `xs` with a carried value: `step(carried, x)` returns the next carried value and a
 * result. Returns the final carried value and the results, stacked along a new first dimension: [n, ...x] → [n,
 * ...y]. Throws ArgumentError without rows, because the results' specs would be unknown.
 */
export function scan<Carried>(
  step: (carried: Carried, x: Tensor) => readonly [Carried, Tensor],
  init: Carried,
  xs: Tensor,
): [Carried, Tensor] {
  expectFunction('scan', step);
  const length = rows(xs, 'scan');
  let carried = init;
  const results: Tensor[] = [];
  for (let i = 0; i < length; i++) {
    const pair = step(carried, select(xs, 0, i));
    expectList('scan', 'values that the step returns', pair);
    const [next, result] = pair;
    carried = next;
    results.push(result);
  }
  return [carried, stack(results)];
}

/** Applies `f` to each row of `xs` and stacks the results along a new first dimension. */
export function map(f: (x: Tensor) => Tensor, xs: Tensor): Tensor {
  expectFunction('map', f);
  const length = rows(xs, 'map');
  const results: Tensor[] = [];
  for (let i = 0; i < length; i++) results.push(f(select(xs, 0, i)));
  return stack(results);
}

function rows(xs: Tensor, what: string): number {
  const [length] = shapeOf(what, xs);
  if (length !== undefined && length > 0) return length;
  throw new ArgumentError({
    what: `${what}: no rows to scan`,
    given: formatSpec(xs),
    expected: 'a tensor with at least one row',
    remedy: 'handle the empty case separately',
  });
}
