import {
  type InputSpec,
  OptionalSpec,
  openDim,
  TensorSpec,
} from '../../runtime/input-spec/spec.ts';
import { dimSource, type Source } from './source.ts';
import { sourceKey } from './source-key.ts';

/** Bounds of a size that an `inputSpec` leaves open; every call is checked against them first. */
interface ShapeBound {
  /** Both included. */
  readonly min: number;
  readonly max: number;
  /** A location that contains the same size; one location for all dimensions of one name. */
  readonly place: Source;
}

/** Bounds of sizes, by the keys of their sources. */
export type ShapeBounds = ReadonlyMap<string, ShapeBound>;

interface OpenSize {
  readonly source: Source;
  readonly name: string | undefined;
  readonly min: number;
  readonly max: number;
  /** Whether its tensor may be missing. */
  readonly isOptional: boolean;
}

/**
 * Returns the locations of sizes that an `inputSpec` leaves open: one program serves all of them from the start.
 * `bound`: the number of bound arguments that precede those of a call.
 */
export function shapeBounds(specs: readonly InputSpec[], bound = 0): ShapeBounds {
  const open = specs.flatMap((spec, index) => {
    return [...openSizes(spec, { kind: 'argument', frame: 0, index: bound + index }, false)];
  });
  return new Map(
    open.map((size) => {
      const { name, source } = size;
      // Bounds of a dimension apply to all dimensions of its name whose tensor is given.
      const same = name === undefined ? [] : open.filter((o) => o.name === name && !o.isOptional);
      const all = [size, ...same];
      const min = Math.max(...all.map((each) => each.min));
      const max = Math.min(...all.map((each) => each.max));
      return [sourceKey(source), { min, max, place: same[0]?.source ?? source }];
    }),
  );
}

function* openSizes(spec: InputSpec, source: Source, isOptional: boolean): Generator<OpenSize> {
  if (spec === null) return;
  if (spec instanceof OptionalSpec) {
    yield* openSizes(spec.spec, source, true);
    return;
  }
  if (spec instanceof TensorSpec) {
    for (const [index, dim] of (spec.shape ?? []).entries()) {
      const open = openDim(dim);
      if (!open) continue;
      const { name, min, max } = open;
      yield { source: dimSource(source, index), name, min, max, isOptional };
    }
    return;
  }
  for (const [key, item] of Object.entries(spec)) {
    yield* openSizes(item as InputSpec, { kind: 'property', base: source, key }, isOptional);
  }
}
