import type { ChoiceStore } from '../compile/compilation.ts';
import type { TraceStore } from './trace-store.ts';

/** A folder in which processes share plans and traces. */
export interface ProcessCache {
  readonly plans: ChoiceStore;
  readonly traces: TraceStore;
}

type Open = (folder: string) => ProcessCache | undefined;

/** In Node, a bundle made for pages warns once that it stores nothing. */
let open: Open = () => {
  console.warn('tostatic: TOSTATIC_CACHE: a bundle for pages keeps no files');
  open = () => undefined;
  return undefined;
};

/** Registers the code that stores files: pages don't register it, and thus don't load it. */
export function provideCache(provider: Open): void {
  open = provider;
}

export const cacheIn: Open = (folder) => open(folder);
