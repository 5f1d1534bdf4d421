import type { Statement } from 'acorn';
import type { TextEdits } from './text-edits.ts';

export const lineStart = (text: string, offset: number): number =>
  text.lastIndexOf('\n', offset - 1) + 1;

/** Removes the statement, including its line if nothing else is on it. */
export function removeLines(text: string, { start, end }: Statement, edited: TextEdits): void {
  const from = lineStart(text, start);
  const next = text.indexOf('\n', end);
  const to = next < 0 ? text.length : next + 1;
  const alone = text.slice(from, start).trim() === '' && text.slice(end, to).trim() === '';
  if (alone) edited.replace(from, to, '');
  else edited.replace(start, end, '');
}
