import { invariant } from '../../../runtime/errors/invariant.ts';
import { inflate } from './inflate.ts';
import { ownTexts } from './own-texts.ts';
import type { EmbeddedSource, ModuleText } from './probe.ts';

let own: Readonly<Record<string, ModuleText>> | undefined;

/** Returns the text of an instrumented module. Browsers have only asynchronous decompression. */
export function unpack({ file, text, packed }: EmbeddedSource): ModuleText {
  if (text) return text;
  if (packed !== undefined) return inflated(packed) as ModuleText;
  own ??= inflated(ownTexts) as Readonly<Record<string, ModuleText>>;
  const found = own[file];
  invariant(found !== undefined, `the text of ${file} is missing`);
  return found;
}

function inflated(packed: string): unknown {
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(inflate(bytes)));
}
