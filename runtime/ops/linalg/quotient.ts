import type { Tensor } from '../../tensor/tensor.ts';
import { div } from '../arithmetic/division.ts';
import { eq, maskedFill } from '../pointwise/comparison.ts';

/**
 * a / b, but 0 wherever a is: what isn't asked for has no infinite gradient, such as that of the eigenvectors in a sum of
 * eigenvalues, some of which are equal. `b` broadcasts to `a`.
 */
export const quotient = (a: Tensor, b: Tensor): Tensor => div(a, maskedFill(b, eq(a, 0), 1));
