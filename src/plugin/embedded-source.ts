import type { EmbeddedSource, ModuleText } from '../1-capture/marked/probe.ts';
import type { SourceMapData } from './source-map.ts';

/**
 * The source stored in an instrumented module: its text before the probes were inserted, and the map to the user's file
 * if it was compiled before. It isn't compressed: a compressed page is smaller without, since this text is similar to
 * the instrumented code.
 */
export function embeddedSource(
  code: string,
  file: string,
  incoming: SourceMapData | string | undefined,
  { withContent, commonJs }: { readonly withContent: boolean; readonly commonJs: boolean },
): EmbeddedSource {
  const plain = moduleText(code, file, incoming, withContent);
  return { file, text: commonJs ? { ...plain, commonJs } : plain };
}

function moduleText(
  code: string,
  file: string,
  incoming: SourceMapData | string | undefined,
  withContent: boolean,
): ModuleText {
  // A comment that names a map would be read as the map of this text.
  const plain = code.replace(/\n\/\/[#@] sourceMappingURL=\S*\s*$/, '\n');
  const map = typeof incoming === 'string' ? (JSON.parse(incoming) as SourceMapData) : incoming;
  if (!map?.mappings || isIdentity(map, code)) return { code: plain };
  const { mappings, names, sources, sourcesContent } = map;
  const [only] = sources;
  const named = sources.length === 1 && only !== undefined ? [file] : sources;
  const content = withContent ? { sourcesContent } : {};
  const json = { version: 3, mappings, names, sources: named, ...content };
  return { code: plain, map: JSON.stringify(json) };
}

/** Bundlers return an identity map if nothing changed the text. */
const isIdentity = ({ sources, sourcesContent }: SourceMapData, code: string): boolean =>
  sources.length === 1 && sourcesContent?.[0] === code;
