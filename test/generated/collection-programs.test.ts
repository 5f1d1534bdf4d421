import fc from 'fast-check';
import { it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { FullGraphError, Tensor, type ToStaticOptions, tensor, toStatic } from '../../src/index.ts';
import {
  type CollectionCall,
  type CollectionProgram,
  collectionPrograms,
  collectionText,
} from './collection-programs.ts';
import { runs } from './runs.ts';

interface Key {
  readonly number: number;
}
type Fn = (x: Tensor, a: Key, b: Key, c: Key, o: { readonly k: Key }) => unknown;

const modes: readonly ToStaticOptions[] = [{}, { fullGraph: true }, { capture: 'auto' }];

/** Tensors by their values, other keys by their numbers. */
function shown(value: unknown): unknown {
  if (value instanceof Tensor) return value.toArraySync();
  if (value instanceof Map) return ['Map', ...[...value].flat().map(shown)];
  if (value instanceof Set) return ['Set', ...[...value].map(shown)];
  return Array.isArray(value) ? value.map(shown) : value;
}

/** What each call returns and leaves in the collections; ends with null where a call is refused. */
function observed(text: string, calls: readonly CollectionCall[], options?: ToStaticOptions) {
  const keys = [0, 1, 2, 3].map((number) => ({ number }));
  const [map, set, weak, kept] = [new Map(), new Set(), new WeakMap(), { k: keys[0] }];
  const make = new Function('Tensor', 'map', 'set', 'weak', 'kept', text);
  const eager = make(Tensor, map, set, weak, kept) as Fn;
  const fn = options ? toStatic(eager, options) : eager;
  const tensors = [0, 1, 2].map((i) => tensor([i, i + 1]));
  const outcomes: (string | null)[] = [];
  for (const { x, objects } of calls) {
    const [a, b, c, k] = objects.map((i) => keys[i]!) as [Key, Key, Key, Key];
    let result: unknown;
    try {
      result = fn(x === null ? tensor([7, outcomes.length]) : tensors[x]!, a, b, c, { k });
    } catch (error) {
      if (error instanceof FullGraphError) return [...outcomes, null];
      result = String(error);
    }
    const held = keys.map((key) => weak.get(key) as unknown);
    outcomes.push(JSON.stringify([result, map, set, kept.k, held].map(shown)));
  }
  return outcomes;
}

function check(program: CollectionProgram): void {
  const text = collectionText(program);
  const eager = observed(text, program.calls);
  for (const options of modes) {
    const found = observed(text, program.calls, options);
    const differs = found.findIndex((each, i) => each !== null && each !== eager[i]);
    if (differs < 0) continue;
    const shownCalls = JSON.stringify(program.calls.slice(0, differs + 1));
    throw new Error(
      `${JSON.stringify(options)}:\n${text}\n${shownCalls}\n${found[differs]}\nnot\n${eager[differs]}`,
    );
  }
}

it('Maps and Sets hold captured what they hold eagerly', { timeout: 3_600_000 }, () => {
  withCaptureSession(() => fc.assert(fc.property(collectionPrograms, check), runs(40, 2)));
});
