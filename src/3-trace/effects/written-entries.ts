import type { CollectionEntry } from '../variables/variable.ts';

/** The trace's writes to a pre-existing Map or Set, entry by entry. */
export interface WrittenEntries {
  /** Written entries by key, in the order in which they follow the previous ones; null if deleted. */
  readonly written: Map<unknown, WrittenEntry | null>;
  /** All entries, once their number or order mattered. */
  all: Map<unknown, CollectionEntry> | null;
  /** Keys put in again, like those of a collection created in the trace. */
  readonly putIn: unknown[];
}

/** `again`: deleted before, so that it has moved to the end. */
export type WrittenEntry = CollectionEntry & { readonly anew: boolean };
