import { type InputSpec, TensorSpec } from '../../runtime/input-spec/spec.ts';
import { dimSource, type Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** The places of sizes that an `inputSpec` leaves open: one program serves all of them from the start. */
export function promisedSizes(specs: readonly InputSpec[]): ReadonlySet<string> {
  const places = specs.flatMap((spec, index) => {
    return [...openSizes(spec, { kind: 'argument', frame: 0, index })];
  });
  return new Set(places);
}

function* openSizes(spec: InputSpec, source: Source): Generator<string> {
  if (spec === null) return;
  if (spec instanceof TensorSpec) {
    for (const [dim, size] of (spec.shape ?? []).entries()) {
      if (typeof size !== 'number') yield sourceKey(dimSource(source, dim));
    }
    return;
  }
  for (const [key, item] of Object.entries(spec)) {
    yield* openSizes(item as InputSpec, { kind: 'property', base: source, key });
  }
}
