import type { Tracer } from '../../state/tracer.ts';
import type { TensorVariable } from '../../variables/variable.ts';
import { RestartTrace } from '../plans/loop-plans.ts';

/**
 * Before it matters which tensor it is: where branches and loops have left it as one of several, these are distinguished
 * from now on. The function is traced again.
 */
export function expectOneTensor(t: Tracer, { mergedAt = [] }: TensorVariable): void {
  const more = mergedAt.filter((at) => t.control.plans.tellApart(at));
  if (more.length > 0) throw new RestartTrace();
}

/** Before something is said of a tensor that others may be, which branches and loops have left before. */
export function expectOneName(t: Tracer, variable: TensorVariable): void {
  expectOneTensor(t, variable);
  const { traced } = variable;
  const places = (traced && t.control.mergedInto.get(traced)) ?? [];
  const more = places.filter((at) => t.control.plans.tellApart(at));
  if (more.length > 0) throw new RestartTrace();
}
