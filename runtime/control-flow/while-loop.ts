import { expectList } from '../ops/record/expect-tensors.ts';
import { expectFunction } from '../options/expect-arguments.ts';
import { type Condition, holds } from './condition.ts';

/**
 * Repeats `body` on carried values while `test` of them is true, and returns the final values, like
 * `torch.while_loop`. In a full graph it is a single op, whose carried tensors keep their dtype and shape.
 * Gradients flow back through every iteration.
 */
export function whileLoop<Carried extends readonly unknown[]>(
  test: (...carried: Carried) => Condition,
  body: (...carried: Carried) => Carried,
  init: Carried,
): Carried {
  expectFunction('whileLoop', test);
  expectFunction('whileLoop', body);
  expectList('whileLoop', 'values', init);
  let carried = init;
  while (holds(test(...carried), 'whileLoop')) {
    carried = body(...carried);
    expectList('whileLoop', 'values that the body returns', carried);
  }
  return carried;
}
