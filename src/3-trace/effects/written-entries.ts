import type { CollectionEntry } from '../variables/variable.ts';

/** What the trace has written to a pre-existing Map or Set, entry by entry. */
export interface WrittenEntries {
  /** By key, in the order in which they come after what was there; null: deleted. */
  readonly written: Map<unknown, WrittenEntry | null>;
  /** All entries, once their number or order mattered. */
  all: Map<unknown, CollectionEntry> | null;
  /** As of one created in the trace. */
  readonly putIn: unknown[];
}

/** `again`: deleted before, so that it has moved to the end. */
export type WrittenEntry = CollectionEntry & { readonly anew: boolean };
