import { randomState } from '../random/seed.ts';

/** The position in the random stream. */
interface RandomSource {
  readonly kind: 'random';
  readonly field: 'seed' | 'offset';
}

interface PropertySource<Base, Key> {
  readonly kind: 'property';
  readonly base: Base;
  readonly key: Key;
}

/** Whether an object has a property; `own` excludes inherited ones. */
interface HasPropertySource<Base, Key> {
  readonly kind: 'hasProperty';
  readonly base: Base;
  readonly key: Key;
  readonly own: boolean;
}

/**
 * The access path, as data, of a value that an entry reads again before each run. `Origin` contains sources
 * specific to one kind of entry, such as frames of captured code or the state of a loaded program.
 */
export type SourceOf<Origin, Key> =
  | Origin
  | RandomSource
  | PropertySource<SourceOf<Origin, Key>, Key>
  | HasPropertySource<SourceOf<Origin, Key>, Key>;

export function randomReader({ field }: RandomSource): () => number {
  return () => randomState()[field];
}
