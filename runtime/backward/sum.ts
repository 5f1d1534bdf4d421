import { gradEnabled } from '../autograd/grad-mode.ts';
import { ownsWholeHolder } from '../autograd/owned-memory.ts';
import { add } from '../ops/arithmetic/arithmetic.ts';
import { add_ } from '../ops/in-place/in-place.ts';
import { sameShape } from '../spec/shape.ts';
import { keep } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Adds two contributions and consumes their handles; works in place if the first one's memory is unaliased. */
export function sum(earlier: Tensor, gradient: Tensor): Tensor {
  if (!gradEnabled() && ownsWholeHolder(earlier) && sameSpec(earlier, gradient)) {
    add_(earlier, gradient);
    gradient.dispose();
    return earlier;
  }
  const total = add(earlier, gradient);
  earlier.dispose();
  gradient.dispose();
  return keep(total);
}

function sameSpec(a: Tensor, b: Tensor): boolean {
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}
