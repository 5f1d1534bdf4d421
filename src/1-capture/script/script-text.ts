import { textOfDataUrl } from '../../../runtime/errors/data-url.ts';
import { filePath, fileUrl } from '../../../runtime/errors/file-name.ts';
import { readSourceMap, type SourceMap } from '../../../runtime/errors/source-map.ts';
import type { SourcePosition, SourceText } from '../../vm/bytecode/code.ts';
import { builtinModule } from './builtin-module.ts';

interface ScriptTextInput {
  readonly text: string;
  /** The URL that V8 reports: a file URL, a path, or '' for evaluated text. */
  readonly url: string;
  readonly sourceMapURL?: string | undefined;
  /** The source map itself, as JSON, if it came with the text; its sources are final. */
  readonly map?: string | undefined;
  /** The start of `text` in the coordinates of V8 and the source map, which wrappers shift. */
  readonly startLine?: number;
  readonly startColumn?: number;
}

/** The SourceText of a script, with offsets for V8's 0-based line and column. */
export interface ScriptText extends SourceText {
  offsetAt(line: number, column: number): number;
  lineAndColumnAt(offset: number): { line: number; column: number };
}

/** The source map is decoded on the first use of `position`, `line` or `file`, which most scripts never need. */
export function makeScriptText(input: ScriptTextInput): ScriptText {
  const { text, url, startLine = 0, startColumn = 0 } = input;
  const starts = lineStarts(text);
  const scriptFile = url === '' ? '<anonymous>' : filePath(url);
  const lines = new Map<string, readonly string[] | undefined>();
  let loaded: OriginalFiles | undefined;
  const originals = () => {
    loaded ??= openOriginals(input, scriptFile);
    return loaded;
  };

  const lineAndColumnAt = (offset: number) => {
    const index = lineIndex(starts, offset);
    const column = offset - (starts[index] ?? 0) + (index === 0 ? startColumn : 0);
    return { line: index + startLine, column };
  };

  return {
    text,
    get file() {
      return originals().only ?? scriptFile;
    },
    offsetAt(line, column) {
      const index = line - startLine;
      return (starts[index] ?? text.length) + column - (index === 0 ? startColumn : 0);
    },
    lineAndColumnAt,
    position(offset) {
      const { line, column } = lineAndColumnAt(offset);
      // Columns before the start of wrapped text would be negative; they have no original position.
      const generated = { file: scriptFile, line: line + 1, column: Math.max(column, 0) + 1 };
      return (column >= 0 && originals().position(line + 1, column)) || generated;
    },
    line(file, line) {
      // Every traced call requests its text, so each file is split only once.
      if (!lines.has(file)) {
        const content = originals().content(file) ?? readText(file);
        lines.set(file, content === undefined ? undefined : splitLines(content));
      }
      const known = lines.get(file);
      if (known) return known[line - 1];
      if (file !== scriptFile) return undefined;
      return splitLines(text)[line - 1 - startLine];
    },
  };
}

interface OriginalFiles {
  /** The original file, if the script has only one. */
  readonly only: string | undefined;
  position(line: number, column: number): SourcePosition | undefined;
  content(file: string): string | undefined;
}

const noOriginals: OriginalFiles = {
  only: undefined,
  position: () => undefined,
  content: () => undefined,
};

function openOriginals(input: ScriptTextInput, scriptFile: string): OriginalFiles {
  let map: SourceMap | undefined;
  try {
    map = openMap(input);
  } catch {
    // A broken source map must not prevent a capture.
  }
  return map === undefined ? noOriginals : originalsOf(map, scriptFile);
}

function openMap({ map, sourceMapURL, url }: ScriptTextInput): SourceMap | undefined {
  if (map !== undefined) return readSourceMap(map, '');
  if (sourceMapURL === undefined || sourceMapURL === '') return undefined;
  const found = findSourceMap(sourceMapURL, url && fileUrl(url));
  return found && readSourceMap(found.json, found.base);
}

function originalsOf(
  { contents, originalOf, ...map }: SourceMap,
  scriptFile: string,
): OriginalFiles {
  const files = map.files.map((file) => file && filePath(file));
  return {
    only: files.length === 1 ? (files[0] ?? scriptFile) : undefined,
    position(line, column) {
      const found = originalOf(line, column + 1);
      return found && { ...found, file: filePath(found.file) };
    },
    content: (file) => contents[files.indexOf(file)] ?? undefined,
  };
}

function findSourceMap(mapUrl: string, base: string): { json: string; base: string } | undefined {
  const inline = textOfDataUrl(mapUrl);
  if (inline !== undefined) return { json: inline, base };
  const file = new URL(mapUrl, base);
  const json = file.protocol === 'file:' ? readText(filePath(file.href)) : undefined;
  return json === undefined ? undefined : { json, base: file.href };
}

function readText(path: string): string | undefined {
  try {
    return builtinModule('node:fs')?.readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

// ECMAScript's LineTerminatorSequence; V8 counts lines in the same way.
const lineEnd = /\r\n|[\n\r\u2028\u2029]/g;

const splitLines = (text: string): string[] => text.split(lineEnd);

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const match of text.matchAll(lineEnd)) starts.push(match.index + match[0].length);
  return starts;
}

/** Returns the index of the last line that starts at or before `offset`. */
function lineIndex(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
