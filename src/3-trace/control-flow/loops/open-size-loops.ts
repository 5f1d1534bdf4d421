import { numberSources } from '../../../guards/number-expr.ts';
import { decidedByBounds } from '../../../guards/number-range.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { keptBecause } from '../../../traces/kept-loops.ts';
import type { Pc } from '../../../vm/bytecode/instructions.ts';
import { structureOf } from '../../../vm/bytecode/structure.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import type { Variable } from '../../variables/variable.ts';

/**
 * Keeps a JavaScript loop whose number of iterations depends on a size that an `inputSpec` leaves dynamic. Unrolled, it
 * would need a trace per size, so it becomes a loop of the program if possible. Called at a jump that may leave the
 * loop.
 */
export function keepLoopOfOpenSize(
  t: Tracer,
  frame: TraceFrame,
  test: Variable,
  whenTrue: Pc,
  whenFalse: Pc,
): void {
  if (t.control.policy !== 'always' || !dependsOnOpenSize(t, test)) return;
  const { code } = frame.closure;
  // Files and exported models hold recurrent modules as unrolled steps.
  if (isFrameworkFile(code.source.file) && !t.control.limitsUnrolling) return;
  for (const loop of structureOf(code).loops.values()) {
    if (!loop.body.has(frame.pc) || loop.body.has(whenTrue) === loop.body.has(whenFalse)) continue;
    if (t.control.isActive(frame, loop) || t.control.plans.of(code, loop) !== undefined) continue;
    t.control.plans.keep(code, loop, keptBecause.openSize);
  }
}

function dependsOnOpenSize(t: Tracer, test: Variable): boolean {
  if (test.kind !== 'symbolic' || decidedByBounds(test.expr, t.bounds) !== undefined) return false;
  for (const source of numberSources(test.expr)) {
    const size = t.bounds.get(sourceKey(source));
    if (size && size.min !== size.max) return true;
  }
  return false;
}
