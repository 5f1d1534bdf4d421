import type { ChoiceStore } from '../compile/compilation.ts';
import type { TraceStore } from './trace-store.ts';

/** A folder in which processes leave each other what they have found. */
export interface ProcessCache {
  readonly plans: ChoiceStore;
  readonly traces: TraceStore;
}

type Open = (folder: string) => ProcessCache | undefined;

/** In Node, a bundle that was made for pages says once that it keeps nothing. */
let open: Open = () => {
  console.warn('tostatic: TOSTATIC_CACHE: a bundle for pages keeps no files');
  open = () => undefined;
  return undefined;
};

/** Registers what keeps files: a page has none, so that it doesn't load what writes them. */
export function provideCache(provider: Open): void {
  open = provider;
}

export const cacheIn: Open = (folder) => open(folder);
