import { type CapturedFrame, formatPosition, ownFrameOf } from './position.ts';
import { isV8Line } from './stack-lines.ts';

/** The part of a stack that belongs to one run of captured code. */
interface StackOfRun {
  /** The current stack, whose lines are in the error's stack, below those of the run. */
  readonly current: string;
  /** Whether the lines below may belong to another run, which folds them itself. */
  readonly isNested: boolean;
  /** Whether generated code runs the innermost captured frame. */
  readonly isGenerated: boolean;
  /** Returns the user's frame that generated code represents. */
  frameOf(line: string): CapturedFrame | undefined;
}

/**
 * Reduces an error's stack to the user's frames, in the engine's format. Frames of captured code, which no engine
 * has on its stack, are inserted where tostatic runs it; adjacent tostatic frames become one line. If no frame
 * runs captured code, the stack is unchanged.
 *
 * @param header the text that V8 puts above the frames; by default the existing one.
 */
export function foldStack(
  error: Error,
  captured: readonly CapturedFrame[],
  header?: string,
  run?: StackOfRun,
): void {
  const { stack } = error;
  if (typeof stack !== 'string') return;
  const lines = linesOf(stack);
  const firstOfV8 = lines.findIndex(isV8Line);
  const isV8 = firstOfV8 >= 0;
  const all = isV8 ? lines.slice(firstOfV8) : lines;
  const end = run ? endOfRun(all, linesOf(run.current)) : all.length;
  const frames = all.map((line, index) => ({
    line,
    part: ownFrameOf(line),
    frame: index < end ? run?.frameOf(line) : undefined,
  }));
  const isRunner = ({ part, frame }: (typeof frames)[number]) => part === 'runner' && !frame;
  if (run?.isGenerated) {
    const last = frames.findLast(({ part, frame }, index) => index < end && (!part || frame));
    if (last?.frame) {
      captured = [last.frame, ...captured.slice(1)];
      last.frame = undefined;
    }
  }
  // Captured frames go below everything that the run called.
  const inner = run
    ? frames.findLastIndex(({ part, frame }, i) => i < end && (!part || frame))
    : -1;
  const at = frames.findIndex((each, index) => index > inner && index < end && isRunner(each));
  const isCaptured = frames.slice(0, end).some(({ part }) => part === 'runner');
  if (!isCaptured && header === undefined) return;

  const format = isV8 ? v8Frame : geckoFrame;
  const folded: string[] = [];
  let own = 0;
  const endOwn = () => {
    const text = `(${own} ${own === 1 ? 'frame' : 'frames'} of tostatic)`;
    if (own > 0) folded.push(isV8 ? `    at ${text}` : text);
    own = 0;
  };
  for (const [index, { line, part, frame }] of frames.entries()) {
    if (index === at || frame) {
      endOwn();
      folded.push(...(frame ? [frame] : captured).map(format));
    }
    if (frame) continue;
    if (part && isCaptured && (index < end || !run?.isNested)) own++;
    else {
      endOwn();
      folded.push(line);
    }
  }
  endOwn();
  const head = isV8 ? [header ?? lines.slice(0, firstOfV8).join('\n')] : [];
  try {
    error.stack = [...head, ...folded].join('\n');
  } catch {
    // A frozen error keeps its stack.
  }
}

const linesOf = (stack: string): string[] => stack.split('\n').filter((line) => line !== '');

/** Returns the index from which the lines are also in the current stack; engines may have cut off either stack. */
function endOfRun(lines: readonly string[], current: readonly string[]): number {
  const end = lines.findIndex((line, index) => {
    const start = current.indexOf(line);
    if (start < 0) return false;
    return lines.slice(index).every((each, i) => each === (current[start + i] ?? each));
  });
  return end < 0 ? lines.length : end;
}

function v8Frame(frame: CapturedFrame): string {
  const position = formatPosition(frame);
  return `    at ${frame.name === undefined ? position : `${frame.name} (${position})`}`;
}

/** Other engines only print a method's own name. */
const geckoFrame = (frame: CapturedFrame): string =>
  `${frame.name?.replace(/^new |^.*\./, '') ?? ''}@${formatPosition(frame)}`;
