import type { Tracer } from '../../state/tracer.ts';
import type { TensorVariable } from '../../variables/variable.ts';
import { RestartTrace } from '../plans/loop-plans.ts';

/**
 * Must be called before a tensor's identity matters. If branches or loops have merged it with others, restarts the
 * trace, which then distinguishes these tensors.
 */
export function expectOneTensor(t: Tracer, { mergedAt = [] }: TensorVariable): void {
  const more = mergedAt.filter((at) => t.control.plans.distinguish(at));
  if (more.length > 0) throw new RestartTrace();
}

/**
 * Must be called before a tensor's state changes: it may be the same as other tensors that branches or loops merged.
 */
export function expectOneName(t: Tracer, variable: TensorVariable): void {
  expectOneTensor(t, variable);
  const { traced } = variable;
  const places = (traced && t.control.mergedInto.get(traced)) ?? [];
  const more = places.filter((at) => t.control.plans.distinguish(at));
  if (more.length > 0) throw new RestartTrace();
}
