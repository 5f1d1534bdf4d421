import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul } from '../arithmetic/arithmetic.ts';
import { expand } from '../core/broadcast.ts';
import { eye } from '../movement/ranges.ts';
import { matmul } from '../products/matmul.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { inverse } from './linear-systems.ts';

/** The `n`-th power of a square matrix, or of each in a batch; of the inverse for n < 0. */
export function matrixPower(x: Tensor, n: number): Tensor {
  return naming('matrixPower', () => {
    expectTensors('matrixPower', x);
    expectNumber('matrixPower', 'n', n);
    if (!Number.isInteger(n)) {
      throw new ArgumentError({
        what: 'matrixPower: the exponent is not an integer',
        given: String(n),
        expected: 'an integer',
        remedy: 'use pow() for the power of each element',
      });
    }
    if (x.rank < 2 || x.shape.at(-1) !== x.shape.at(-2)) {
      throw new ShapeError({
        what: 'matrixPower: not square',
        given: formatSpec(x),
        expected: '[..., n, n]',
        remedy: 'check the last two dimensions',
      });
    }
    return tidy(() => {
      if (n === 0) {
        const { dtype, device } = x;
        return expand(eye(x.shape.at(-1)!, x.shape.at(-1)!, { dtype, device }), x.shape);
      }
      let factor = n < 0 ? inverse(x) : x;
      let result: Tensor | null = null;
      for (let rest = Math.abs(n); rest > 0; rest = Math.floor(rest / 2)) {
        if (rest % 2 === 1) result = result ? matmul(result, factor) : factor;
        if (rest > 1) factor = matmul(factor, factor);
      }
      return result === x ? mul(x, 1) : result!;
    });
  });
}
