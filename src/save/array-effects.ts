import { isPrimitiveValue } from '../../runtime/save/primitive.ts';
import type { Effect, TraceResult } from '../traces/trace-result.ts';
import type { SourceMapper } from './source-mapper.ts';

/**
 * Returns the effects of a trace, where a new array that replaces an old one (`group.betas = [0.9, 0.999]`) is a write
 * to each element: the state in a file contains no arrays, only their elements.
 */
export function effectsOnElements(trace: TraceResult, mapper: SourceMapper): readonly Effect[] {
  return trace.effects.flatMap((effect) => elementEffects(effect, trace, mapper) ?? [effect]);
}

function elementEffects(
  effect: Effect,
  { makes }: TraceResult,
  mapper: SourceMapper,
): Effect[] | null {
  if (effect.kind !== 'setProperty' || effect.value.kind !== 'made') return null;
  const make = makes[effect.value.index]!;
  if (make.kind !== 'array' || make.isFrozen || make.own || make.named.length > 0) return null;
  const array = { kind: 'property', base: effect.object, key: effect.key } as const;
  if (mapper.isArgument(array)) return null;
  const value = mapper.valueOf(array);
  const fits = Array.isArray(value) && value.length === make.elements.length;
  if (!fits || !value.every(isPrimitiveValue)) return null;
  const elements = make.elements.flatMap((element, i): Effect[] =>
    element ? [{ ...effect, object: array, key: String(i), value: element }] : [],
  );
  return elements.length === value.length ? elements : null;
}
