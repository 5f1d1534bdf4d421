import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { GeneratorVariable } from '../../variables/iterator-variables.ts';
import type { Variable } from '../../variables/variable.ts';

/**
 * Creates the generator that represents the result of `iterator.map(f)` and similar methods in the trace. `enter`
 * begins the polyfill. If the result leaves the trace, the call runs natively.
 */
export function iteratorHelper(
  t: Tracer,
  name: string,
  enter: () => Variable | undefined,
): GeneratorVariable {
  const { closure, pc } = t.top;
  if (t.control.plans.has('break', closure.code, pc)) {
    throw new GraphBreak('native-call', `the iterator of ${name} leaves the graph`);
  }
  const generator = t.execution.toReturn(enter) as GeneratorVariable;
  return { ...generator, helper: { code: closure.code, pc } };
}
