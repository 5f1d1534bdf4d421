import { naming } from '../../errors/naming.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { expand } from '../core/broadcast.ts';
import { casting } from '../core/cast.ts';
import { entryIndex, indexCopy, indexedShape } from '../indexing/indexing.ts';
import { atleast1d } from '../movement/at-least.ts';
import { fullLike } from '../movement/ranges.ts';
import { where } from '../pointwise/comparison.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';

/** Returns a copy of `x` with the entries selected by `index` [k] filled with a number or a scalar tensor. */
export function indexFill(x: Tensor, dim: number, index: Tensor, value: Tensor | number): Tensor {
  return naming('indexFill', () => {
    expectTensors('indexFill', x, index);
    expectOperand('indexFill', value);
    return tidy(() => {
      const at = normalizeDim(dim, x.rank, 'indexFill');
      const shape = indexedShape(atleast1d(x), entryIndex('indexFill', index), at);
      const filled = (values: Tensor, number: number) =>
        indexCopy(values, dim, index, fullLike(values, number, { shape }));
      if (!(value instanceof Tensor)) return filled(x, value);
      // Uses a mask, so that an entry selected twice is filled once and contributes to the value's gradient once.
      const named = filled(fullLike(x, 0, { dtype: 'bool' }), 1);
      return casting([value], x.dtype, ([own]) => where(named, expand(own!, x.shape), x));
    });
  });
}
