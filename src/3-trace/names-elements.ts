import type { Guard } from '../guards/guard.ts';
import { sourcesOf } from '../guards/guard-sources.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { Effect, TraceResult } from '../traces/trace-result.ts';
import { owns } from '../vm/language/primordials.ts';
import type { TraceInput } from './inputs/trace-input.ts';
import type { TapeCall } from './state/tape.ts';

interface Traced {
  readonly inputs: readonly TraceInput[];
  readonly tape: readonly TapeCall[];
  readonly guards: readonly Guard[];
  readonly effects: TraceResult['effects'];
}

/** Returns whether the trace depends on individual elements of arrays whose tensors it takes as a whole. */
export function namesElements({ inputs, tape, guards, effects }: Traced): boolean {
  const listed = inputs.filter(({ list }) => list);
  if (listed.length === 0) return false;
  const tensors = new Set<unknown>(listed.map(({ tensor }) => tensor));
  const places = new Set(listed.map(({ source }) => sourceKey(source)));
  const isAt = (source: Source): boolean =>
    places.has(sourceKey(source)) || (owns(source, 'base') && isAt(source.base));
  return (
    guards.some((guard) => sourcesOf(guard).some(isAt)) ||
    effects.some((effect) => changedBy(effect).some(isAt)) ||
    tape.some(({ operands, result }) => holds(operands, tensors) || holds(result, tensors))
  );
}

function changedBy(effect: Effect): readonly Source[] {
  const { object, array, collection, tensor } = effect as Partial<Record<string, unknown>>;
  return [object, array, collection, tensor].flatMap((each) => {
    const place = each as Source | { readonly kind: 'source'; readonly source: Source } | undefined;
    if (!place) return [];
    return place.kind === 'source' ? [place.source] : [place as Source];
  });
}

/** Searches operands or results, including nested arrays and objects. */
function holds(value: unknown, tensors: ReadonlySet<unknown>): boolean {
  if (tensors.has(value)) return true;
  if (Array.isArray(value)) return value.some((item) => holds(item, tensors));
  if (typeof value !== 'object' || value === null) return false;
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.values(value).some((item) => holds(item, tensors));
}
