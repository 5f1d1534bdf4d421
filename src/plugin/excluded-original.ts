import { originalPositionFor, type SourceMapInput, TraceMap } from '@jridgewell/trace-mapping';
import { makeScriptText } from '../1-capture/script/script-text.ts';
import type { Range } from './excluded.ts';

/**
 * Like `excludedRanges`, but for the user's original text, since compilers drop comments. A directive applies to the
 * function that begins on its own line after it, or on the next line with code; otherwise to the file if it precedes
 * all code, or else to the enclosing function. `targets`: functions and classes, outer ones first.
 */
export function excludedInOriginal(
  code: string,
  targets: readonly Range[],
  incoming: string | object | undefined,
): Range[] {
  const map = incoming && new TraceMap(incoming as SourceMapInput);
  const content = map && map.sources.length === 1 && map.sourcesContent?.[0];
  if (!map || !content || !/tostatic:\s*exclude/.test(content)) return [];

  const lines = content.split('\n');
  const generated = makeScriptText({ text: code, url: '' });
  const lineAt = (offset: number): number => {
    const { line, column } = generated.lineAndColumnAt(offset);
    return originalPositionFor(map, { line: line + 1, column }).line ?? 0;
  };
  return lines.flatMap((text, i) => {
    const [, rest] = directive.exec(text) ?? [];
    if (rest === undefined) return [];
    const line = rest.trim() === '' ? nextWithCode(lines, i + 1) : i;
    const found = targets.find(({ start }) => lineAt(start) === line + 1);
    if (found) return [found];
    const isFirst = lines.slice(0, i + 1).every((before) => !isCode(before));
    if (isFirst) return [{ start: 0, end: code.length }];
    const around = targets.findLast(
      ({ start, end }) => lineAt(start) <= i + 1 && i + 1 <= lineAt(end - 1),
    );
    return around ? [around] : [];
  });
}

const directive = /(?:\/\/\s*tostatic:\s*exclude\s*$|\/\*\s*tostatic:\s*exclude\s*\*\/)(.*)$/;

/** Whether the line begins with code: exact enough for lines above the first statement. */
const isCode = (line: string): boolean => !/^\s*(?:$|\/\/|\/\*|\*|#!)/.test(line);

function nextWithCode(lines: readonly string[], from: number): number {
  const found = lines.slice(from).findIndex(isCode);
  return found < 0 ? lines.length : from + found;
}
