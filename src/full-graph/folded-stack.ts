import { formatPosition, ownFrameOf, type UserPosition } from '../../runtime/errors/position.ts';

/**
 * Leaves the user's frames in the error's stack. Those of captured code, which no engine has on its stack,
 * stand where tostatic runs it; neighbours that are frames of tostatic become one line.
 */
export function foldStack(error: Error, captured: readonly UserPosition[]): void {
  const [, ...lines] = (error.stack ?? '').split(/\n(?= {4}at )/);
  const folded: string[] = [];
  let own = 0;
  const endRun = () => {
    if (own > 0) folded.push(`    at (${own} ${own === 1 ? 'frame' : 'frames'} of tostatic)`);
    own = 0;
  };
  const places = captured.map((frame) => `    at ${formatPosition(frame)}`);
  for (const line of lines) {
    const kind = ownFrameOf(line);
    if (kind === 'runner' && places.length > 0) {
      endRun();
      folded.push(...places.splice(0));
    }
    if (kind) own++;
    else {
      endRun();
      folded.push(line);
    }
  }
  endRun();
  error.stack = [`${error.name}: ${error.message}`, ...folded].join('\n');
}
