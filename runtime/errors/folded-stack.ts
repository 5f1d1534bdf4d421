import { type CapturedFrame, formatPosition, ownFrameOf } from './position.ts';
import { isV8Line } from './stack-lines.ts';

/**
 * Reduces an error's stack to the user's frames, in the engine's format. Frames of captured code, which no engine
 * has on its stack, are inserted where tostatic runs it; adjacent tostatic frames become one line. If no frame
 * runs captured code, the stack is unchanged.
 *
 * @param header the text that V8 puts above the frames; by default the existing one.
 */
export function foldStack(error: Error, captured: readonly CapturedFrame[], header?: string): void {
  const { stack } = error;
  if (typeof stack !== 'string') return;
  const lines = stack.split('\n').filter((line) => line !== '');
  const firstOfV8 = lines.findIndex(isV8Line);
  const isV8 = firstOfV8 >= 0;
  const frames = lines.slice(isV8 ? firstOfV8 : 0).map((line) => [line, ownFrameOf(line)] as const);
  const isCaptured = frames.some(([, part]) => part === 'runner');
  if (!isCaptured && header === undefined) return;

  const folded: string[] = [];
  let own = 0;
  const endRun = () => {
    const run = `(${own} ${own === 1 ? 'frame' : 'frames'} of tostatic)`;
    if (own > 0) folded.push(isV8 ? `    at ${run}` : run);
    own = 0;
  };
  const places = captured.map((frame) => (isV8 ? v8Frame(frame) : geckoFrame(frame)));
  for (const [line, part] of frames) {
    if (part === 'runner' && places.length > 0) {
      endRun();
      folded.push(...places.splice(0));
    }
    if (part && isCaptured) own++;
    else {
      endRun();
      folded.push(line);
    }
  }
  endRun();
  const head = isV8 ? [header ?? lines.slice(0, firstOfV8).join('\n')] : [];
  try {
    error.stack = [...head, ...folded].join('\n');
  } catch {
    // A frozen error keeps its stack.
  }
}

function v8Frame(frame: CapturedFrame): string {
  const place = formatPosition(frame);
  return `    at ${frame.name === undefined ? place : `${frame.name} (${place})`}`;
}

/** Other engines only print a method's own name. */
const geckoFrame = (frame: CapturedFrame): string =>
  `${frame.name?.replace(/^new |^.*\./, '') ?? ''}@${formatPosition(frame)}`;
