import { inflateSync, strFromU8 } from 'fflate';
import type { EmbeddedSource, ModuleText } from './probe.ts';

/** The text of an instrumented module. Browsers decompress only asynchronously by themselves. */
export function unpack({ text, packed }: EmbeddedSource): ModuleText {
  if (text) return text;
  const bytes = Uint8Array.from(atob(packed ?? ''), (char) => char.charCodeAt(0));
  return JSON.parse(strFromU8(inflateSync(bytes))) as ModuleText;
}
