import { add_ } from '../ops/pointwise/in-place.ts';
import { add } from '../ops/pointwise/pointwise.ts';
import { keep } from '../tensor/lifetime.ts';
import { sameShape } from '../tensor/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';
import { ownsWholeHolder } from './owned-memory.ts';

/** Of two parts of a gradient, whose handles it takes over: written over what came first, where nobody else can see that memory. */
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
