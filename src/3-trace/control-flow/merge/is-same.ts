import { valuesIn } from '../../../../runtime/program/number-text.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { patternOf } from '../../variables/text-variable.ts';
import { hole, type Variable } from '../../variables/variable.ts';

/** Returns whether two paths produce the same value, which needs no merging. */
export function isSame(t: Tracer, a: Variable, b: Variable): boolean {
  if (a === b) return true;
  // A hole reads as undefined, but `in`, keys and callbacks distinguish them.
  if (a === hole || b === hole) return false;
  if (a.kind === 'constant' && b.kind === 'constant') {
    return Object.is(constantOf(t, a), constantOf(t, b));
  }
  if (a.kind === 'tensor' && b.kind === 'tensor') return a.traced !== null && a.traced === b.traced;
  if (a.kind === 'scalar' && b.kind === 'scalar') return a.tensor === b.tensor;
  if (a.kind === 'list' && b.kind === 'list') return a.tensor === b.tensor;
  if (a.kind === 'dynamic' && b.kind === 'dynamic') return a.tensor === b.tensor;
  if (a.kind === 'text' && b.kind === 'text') {
    const numbers = valuesIn(b.parts);
    const alike = valuesIn(a.parts).every(({ tensor }, i) => tensor === numbers[i]?.tensor);
    return alike && patternOf(a) === patternOf(b);
  }
  if (a.kind === 'union' && b.kind === 'union') {
    const together = a.selector.which.tensor === b.selector.which.tensor;
    return together && a.options.every((option, i) => isSame(t, option, b.options[i]!));
  }
  if (a.kind === 'object' && b.kind === 'object') return a.value === b.value;
  if (a.kind === 'function' && b.kind === 'function') return a.value === b.value;
  return a.kind === 'uninitialized' && b.kind === 'uninitialized';
}
