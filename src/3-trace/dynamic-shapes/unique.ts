import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { add, sub } from '../../../runtime/ops/arithmetic/arithmetic.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { maskedSelect } from '../../../runtime/ops/indexing/data-dependent.ts';
import { scatter } from '../../../runtime/ops/indexing/gather.ts';
import { indexAdd } from '../../../runtime/ops/indexing/indexing.ts';
import { ones, zeros } from '../../../runtime/ops/movement/create.ts';
import { cat } from '../../../runtime/ops/movement/joining.ts';
import { narrow, reshape } from '../../../runtime/ops/movement/movement.ts';
import { ne } from '../../../runtime/ops/pointwise/comparison.ts';
import type { UniqueOptions } from '../../../runtime/ops/reduce/counting.ts';
import { sort } from '../../../runtime/ops/reduce/order.ts';
import { cumsum } from '../../../runtime/ops/reduce/scans.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** `unique` in terms of ops: the first value of each run of equal values, in sorted order. */
export function uniqueInOps(x: Tensor, options: UniqueOptions = {}): Tensor[] {
  const { returnInverse = false, returnCounts = false } = options;
  return noGrad(() => {
    const length = x.numel();
    const [values, order] = sort(reshape(x, [length]));
    const rest = Math.max(length - 1, 0);
    const differs = ne(narrow(values, 0, length - rest, rest), narrow(values, 0, 0, rest));
    const starts = cat([ones([length - rest], { dtype: 'bool' }), differs]);
    const place = sub(cumsum(cast(starts, 'int32'), 0), 1);
    const distinct = maskedSelect(values, starts);
    const isFloat = dtypes[x.dtype].floating;
    const none = zeros([length], { dtype: 'int32' });
    const inverse = () => reshape(scatter(none, 0, order, place), x.shape);
    return [
      // Adding 0 turns −0 into 0.
      isFloat ? add(distinct, 0) : distinct,
      ...(returnInverse ? [inverse()] : []),
      ...(returnCounts
        ? [
            narrow(
              indexAdd(none, 0, place, ones([length], { dtype: 'int32' })),
              0,
              0,
              distinct.numel(),
            ),
          ]
        : []),
    ];
  });
}
