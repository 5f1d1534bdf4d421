import type { EncodedSourceMap } from '@jridgewell/remapping';
import type { EmbeddedSource } from '../1-capture/probe.ts';

/**
 * What an instrumented module carries along: its text before the probes, and the map from there to
 * the user's file when it was compiled before.
 */
export function embeddedSource(
  code: string,
  file: string,
  incoming: EncodedSourceMap | string | undefined,
  withContent: boolean,
): EmbeddedSource {
  // A comment that names a map would be read as the map of this text.
  const text = code.replace(/\n\/\/[#@] sourceMappingURL=\S*\s*$/, '\n');
  const map = typeof incoming === 'string' ? (JSON.parse(incoming) as EncodedSourceMap) : incoming;
  if (!map?.mappings || isIdentity(map, code)) return { file, text };
  const { mappings, names, sources, sourcesContent } = map;
  const [only] = sources;
  const named = sources.length === 1 && only !== undefined ? [file] : sources;
  const content = withContent ? { sourcesContent } : {};
  const json = { version: 3, mappings, names, sources: named, ...content };
  return { file, text, map: JSON.stringify(json) };
}

/** Bundlers give a map from a text to itself when nothing changed it. */
const isIdentity = ({ sources, sourcesContent }: EncodedSourceMap, code: string): boolean =>
  sources.length === 1 && sourcesContent?.[0] === code;
