import type { Tensor } from '../../tensor/tensor.ts';
import { div } from '../arithmetic/division.ts';
import { eq, maskedFill } from '../pointwise/comparison.ts';

/**
 * a / b, but 0 wherever a is 0, so that unused results get no infinite gradients: for example eigenvectors, if a loss
 * sums eigenvalues, some of them equal. `b` broadcasts to `a`.
 */
export const quotient = (a: Tensor, b: Tensor): Tensor => div(a, maskedFill(b, eq(a, 0), 1));
