import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { bind } from '../../../../runtime/ops/core/bind.ts';
import { logicalNot } from '../../../../runtime/ops/pointwise/pointwise.ts';
import { assertOp } from '../../../../runtime/program/control-ops.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';

/**
 * Checks a condition in the program. If it doesn't hold, the run ends without effects, and the user's own code
 * throws.
 */
export function check(t: Tracer, truth: Tensor, expected: boolean): void {
  t.runApi(() => noGrad(() => bind(assertOp, [expected ? truth : logicalNot(truth)])));
}
