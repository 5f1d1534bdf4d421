import type { UserPosition } from '../../runtime/errors/position.ts';
import type { SourceText } from '../vm/bytecode/code.ts';

/** The number of lines shown before and after the marked one. */
const around = 2;

/** The user's lines around a position, with a mark; empty if they are unavailable. */
export function windowAround(at: UserPosition, sources: Iterable<SourceText>): string[] {
  const files = [...sources];
  const lineAt = (number: number) => {
    for (const source of files) {
      const text = source.line(at.file, number);
      if (text !== undefined) return text;
    }
    return undefined;
  };
  const numbers = Array.from({ length: 2 * around + 1 }, (_, i) => at.line - around + i);
  const width = String(at.line + around).length;
  return numbers.flatMap((number) => {
    const text = number > 0 ? lineAt(number) : undefined;
    if (text === undefined) return [];
    const mark = number === at.line ? '  <--- HERE' : '';
    return [`    ${String(number).padStart(width)} | ${text}${mark}`];
  });
}
