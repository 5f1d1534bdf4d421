import { randomState } from '../random/seed.ts';

/** The position of the random stream. */
export interface RandomSource {
  readonly kind: 'random';
  readonly field: 'seed' | 'offset';
}

export interface PropertySource<Base, Key> {
  readonly kind: 'property';
  readonly base: Base;
  readonly key: Key;
}

/** Whether an object has a property; `own`: one that is not inherited. */
export interface HasPropertySource<Base, Key> {
  readonly kind: 'hasProperty';
  readonly base: Base;
  readonly key: Key;
  readonly own: boolean;
}

/**
 * The access path of a value that an entry reads again before a run, as data. `Origin`: what only one kind of entry
 * reads, such as frames of captured code, or the state of a loaded program.
 */
export type SourceOf<Origin, Key> =
  | Origin
  | RandomSource
  | PropertySource<SourceOf<Origin, Key>, Key>
  | HasPropertySource<SourceOf<Origin, Key>, Key>;

export function randomReader({ field }: RandomSource): () => number {
  return () => randomState()[field];
}
