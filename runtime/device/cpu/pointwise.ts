import type { Attrs } from '../../ops/define-op.ts';
import type { Expr } from '../../ops/expr.ts';
import type { TensorMeta } from '../../tensor/meta.ts';
import type { Launch } from '../device.ts';
import { scalarPointwise } from './scalar/pointwise.ts';

/** Binds the kernel of a scalar function. */
export function pointwise(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
  attrs: Attrs,
): Launch {
  return scalarPointwise(expr, inputs, output, attrs);
}
