import { formatPosition, ownFrameOf, type UserPosition } from '../../runtime/errors/position.ts';
import { isV8Line } from '../../runtime/errors/stack-lines.ts';

/**
 * Leaves the user's frames in the error's stack, in the format of the engine. Those of captured code, which
 * no engine has on its stack, stand where tostatic runs it; neighbours that are frames of tostatic become one line.
 */
export function foldStack(error: Error, captured: readonly UserPosition[]): void {
  const lines = (error.stack ?? '').split('\n').filter((line) => line !== '');
  const firstOfV8 = lines.findIndex(isV8Line);
  const isV8 = firstOfV8 >= 0;
  const folded: string[] = [];
  let own = 0;
  const endRun = () => {
    const run = `(${own} ${own === 1 ? 'frame' : 'frames'} of tostatic)`;
    if (own > 0) folded.push(isV8 ? `    at ${run}` : run);
    own = 0;
  };
  const places = captured.map((frame) => `${isV8 ? '    at ' : '@'}${formatPosition(frame)}`);
  // Above V8's frames there is the message, which the error has itself.
  for (const line of lines.slice(isV8 ? firstOfV8 : 0)) {
    const part = ownFrameOf(line);
    if (part === 'runner' && places.length > 0) {
      endRun();
      folded.push(...places.splice(0));
    }
    if (part) own++;
    else {
      endRun();
      folded.push(line);
    }
  }
  endRun();
  error.stack = [...(isV8 ? [`${error.name}: ${error.message}`] : []), ...folded].join('\n');
}
