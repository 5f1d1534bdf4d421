import { deviceGuard } from '../device/current.ts';
import { expand } from '../ops/core/broadcast.ts';
import { reshape } from '../ops/movement/movement.ts';
import { arange } from '../ops/movement/ranges.ts';
import { expectArguments } from '../options/expect-options.ts';
import { flag } from '../options/option-kinds.ts';
import type { Shape } from '../spec/shape.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';

export const expandedKinds = { expanded: flag };

/** Returns the values below `bound`, each for the whole batch or with dimensions of size 1. */
export function valuesTo(like: Tensor, bound: number, batch: Shape, expanded: boolean): Tensor {
  expectArguments('enumerateSupport', { expanded }, expandedKinds);
  return tidy(() => {
    const values = deviceGuard(like.device, () => arange(0, bound, 1, { dtype: like.dtype }));
    const column = reshape(values, [bound, ...batch.map(() => 1)]);
    return expanded ? expand(column, [bound, ...batch]) : column;
  });
}
