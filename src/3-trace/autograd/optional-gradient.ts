/** Optional gradients: whether they are a tensor or null depends on the path taken. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { cast } from '../../../runtime/ops/core/cast.ts';
import { fillMissing, isThere } from '../../../runtime/program/optional-gradients.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { chosenBy } from '../control-flow/merge/union.ts';
import { check } from '../control-flow/numbers/check.ts';
import type { Tracer } from '../state/tracer.ts';
import { known, type Variable } from '../variables/variable.ts';

const why = 'a gradient that exists on some paths only';

/** Returns the variable for a gradient: a tensor, or a union of null and a tensor. */
export function gradientVariable(t: Tracer, gradient: Tensor): Variable {
  if (!isOptional(t, gradient)) return t.result(gradient);
  if (t.control.policy !== 'always') throw new GraphBreak('branch-gradient', why);
  const [there, value] = look(t, gradient);
  const index = t.runApi<Tensor>(() => noGrad(() => cast(there, 'float64')));
  return chosenBy(t, index, [known(null), t.result(value)], why);
}

/** Returns the gradient of an input that must have one. A run without it throws the error of eager execution. */
export function neededGradient(t: Tracer, gradient: Tensor): Variable {
  if (!isOptional(t, gradient)) return t.result(gradient);
  const [there, value] = look(t, gradient);
  check(t, there, true);
  return t.result(value);
}

/**
 * Breaks the graph before user code receives an optional gradient: eager execution runs that code only if the gradient
 * exists.
 */
export function expectPresent(t: Tracer, gradient: Tensor): void {
  if (t.builder.isOptional(gradient)) {
    throw new GraphBreak('branch-gradient', `a function is called with ${why}`);
  }
}

function isOptional(t: Tracer, gradient: Tensor): boolean {
  return t.perform<boolean>([gradient], ([part], builder) => builder.isOptional(part as Tensor));
}

/** Returns whether the gradient exists, and its value. */
function look(t: Tracer, gradient: Tensor): readonly [Tensor, Tensor] {
  return t.perform<readonly [Tensor, Tensor]>([gradient], ([part]) =>
    noGrad(() => [bind1(isThere, [part as Tensor]), bind1(fillMissing, [part as Tensor])]),
  );
}
