/** Gradients that exist on some paths only: whether a tensor or null is data-dependent. */

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

/** Returns the variable for a gradient: a tensor, or a union of null and one. */
export function gradientVariable(t: Tracer, gradient: Tensor): Variable {
  if (!isOptional(t, gradient)) return t.result(gradient);
  if (t.control.policy !== 'always') throw new GraphBreak('branch-gradient', why);
  const [there, value] = look(t, gradient);
  const index = t.runApi<Tensor>(() => noGrad(() => cast(there, 'float64')));
  return chosenBy(t, index, [known(null), t.result(value)], why);
}

/** The gradient of an input that must have one: where the run finds none, it throws what eager execution throws. */
export function neededGradient(t: Tracer, gradient: Tensor): Variable {
  if (!isOptional(t, gradient)) return t.result(gradient);
  const [there, value] = look(t, gradient);
  check(t, there, true);
  return t.result(value);
}

/** Code of the user's runs for the gradient: eagerly only where there is one. */
export function expectThere(t: Tracer, gradient: Tensor): void {
  if (t.builder.isOptional(gradient)) {
    throw new GraphBreak('branch-gradient', `a function is called with ${why}`);
  }
}

function isOptional(t: Tracer, gradient: Tensor): boolean {
  return t.perform<boolean>([gradient], ([part], builder) => builder.isOptional(part as Tensor));
}

/** Whether it is there, and its value where it is. */
function look(t: Tracer, gradient: Tensor): readonly [Tensor, Tensor] {
  return t.perform<readonly [Tensor, Tensor]>([gradient], ([part]) =>
    noGrad(() => [bind1(isThere, [part as Tensor]), bind1(fillMissing, [part as Tensor])]),
  );
}
