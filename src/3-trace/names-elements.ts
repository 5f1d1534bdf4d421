import type { Guard } from '../guards/guard.ts';
import { sourcesOf } from '../guards/guard-sources.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { Effect, TraceResult } from '../traces/trace-result.ts';
import { owns } from '../vm/language/primordials.ts';
import type { OuterTensors } from './inputs/outer-tensors.ts';
import type { TraceInput } from './inputs/trace-input.ts';
import { type TapeCall, tensorsIn } from './state/tape.ts';

interface Traced {
  readonly inputs: readonly TraceInput[];
  readonly lists: readonly OuterTensors[];
  readonly tape: readonly TapeCall[];
  readonly guards: readonly Guard[];
  readonly effects: TraceResult['effects'];
}

type ArgumentSource = Extract<Source, { readonly kind: 'argument' }>;
type ElementSource = Extract<Source, { readonly kind: 'property' }>;

/** Returns whether the trace depends on individual elements of arrays whose tensors are inputs as a list. */
export function namesElements({ inputs, lists, tape, guards, effects }: Traced): boolean {
  const listed = inputs.filter(({ list }) => list);
  if (listed.length === 0) return false;
  const tensors = new Set(listed.map(({ tensor }) => tensor));
  const keysOf = new Map(lists.map(({ source, keys }) => [sourceKey(source), keys]));
  const isElement = (source: Source): source is ElementSource =>
    source.kind === 'property' &&
    keysOf.has(sourceKey(source.base)) &&
    /^\d+$/.test(String(source.key));
  const isRest = ({ frame, index }: ArgumentSource): boolean =>
    lists.some(({ source }) => {
      return source.kind === 'restArguments' && source.frame === frame && index >= source.from;
    });
  // True if no array is an element of another array whose elements have the same keys.
  const isImplied = (guard: Guard): boolean => {
    if (guard.kind !== 'distinct') return false;
    const [keys, ...more] = guard.sources.map((source) => keysOf.get(sourceKey(source)));
    const hasKeys = (source: Source) =>
      !isElement(source) || keysOf.get(sourceKey(source.base)) === keys;
    return keys !== undefined && more.every((one) => one === keys) && guard.others.every(hasKeys);
  };
  const isAt = (source: Source): boolean =>
    isElement(source) ||
    (source.kind === 'argument' && isRest(source)) ||
    (owns(source, 'base') && isAt(source.base));
  // Elements that are separate inputs are the same elements in a longer array.
  const alone = new Set(inputs.flatMap(({ list, source }) => (list ? [] : [sourceKey(source)])));
  const isAloneAt = (source: Source): boolean =>
    alone.has(sourceKey(source)) || (owns(source, 'base') && isAloneAt(source.base));
  const names = (source: Source): boolean => isAt(source) && !isAloneAt(source);
  return (
    guards.some((guard) => !isImplied(guard) && sourcesOf(guard).some(names)) ||
    effects.some((effect) => changedBy(effect).some(isAt)) ||
    tape.some(({ operands, result }) =>
      tensorsIn([operands, result]).some((each) => tensors.has(each)),
    )
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
