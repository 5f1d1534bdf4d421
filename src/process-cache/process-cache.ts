import type { ChoiceStore } from '../programs/choices.ts';
import type { TraceStore } from './trace-store.ts';

/** A folder in which processes leave each other what they have found. */
export interface ProcessCache {
  readonly plans: ChoiceStore;
  readonly traces: TraceStore;
}

type Open = (folder: string) => ProcessCache | undefined;

let open: Open | undefined;

/** Registers what keeps files: a page has none, so that it doesn't load what writes them. */
export function provideCache(provider: Open): void {
  open = provider;
}

let hasWarned = false;

/** Undefined, with a warning, where nothing was registered: a bundle that was made for pages runs in Node. */
export function cacheIn(folder: string): ProcessCache | undefined {
  if (!open && !hasWarned) {
    console.warn('tostatic: TOSTATIC_CACHE: a bundle for pages keeps no files');
    hasWarned = true;
  }
  return open?.(folder);
}
