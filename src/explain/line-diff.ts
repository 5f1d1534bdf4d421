/** The lines that differ between two texts: removed ones, then added ones. */
interface LineDiff {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Omits common lines at the start and at the end. */
export function lineDiff(before: string, after: string): LineDiff {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start++;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const changed = (lines: readonly string[]) => lines.slice(start, lines.length - end);
  return { removed: changed(old), added: changed(now) };
}

/** Bundlers write `(0, module.name)()` for a call of an import. */
const withImportNames = (line: string): string =>
  line.replaceAll(/\(0,\s*[\w$]+\.([\w$]+)\)(?=\()/g, '$1');

/** Prints the difference like a patch, without common indentation. */
export function printLineDiff({ removed, added }: LineDiff): string[] {
  const filled = [...removed, ...added].filter((line) => line.trim() !== '');
  const indents = filled.map((line) => line.length - line.trimStart().length);
  const shared = indents.length > 0 ? Math.min(...indents) : 0;
  const marked = (mark: string, lines: readonly string[]) =>
    lines.map((line) => `${mark} ${withImportNames(line.slice(shared))}`.trimEnd());
  return [...marked('-', removed), ...marked('+', added)];
}
