import { foldStack } from '../../../runtime/errors/folded-stack.ts';
import { type CapturedFrame, isNestedRun, stackOf } from '../../../runtime/errors/position.ts';
import type { Frame } from '../bytecode/frame.ts';
import { capturedFrame } from './captured-frame.ts';
import { generatedFrameOf } from './generated-scripts.ts';

/**
 * Adds the positions of captured code to the stack of an error that the innermost frame throws, since bytecode has
 * no engine frames. Other thrown values are left unchanged.
 */
export function showCapturedFrames(
  error: unknown,
  frames: readonly Frame[],
  isGenerated = false,
): void {
  if (!(error instanceof Error) || runsWhenPrinted(error)) return;
  foldStack(error, frames.flatMap(placeOf(frames.length - 1)).reverse(), undefined, {
    current: stackOf(mostFrames).stack ?? '',
    isNested: isNestedRun(),
    isGenerated,
    frameOf(line) {
      const found = generatedFrameOf(line);
      return found && capturedFrame(found.code, found.pc, undefined, found.name);
    },
  });
}

/** Errors rarely have more frames. */
const mostFrames = 100;

/** Engines create the text of a stack when it is first read, and then call these. */
const runsWhenPrinted = (error: Error): boolean =>
  ['name', 'message'].some((key) => {
    for (let object: object | null = error; object; object = Object.getPrototypeOf(object)) {
      const property = Object.getOwnPropertyDescriptor(object, key);
      if (property) return property.get !== undefined;
    }
    return false;
  });

const placeOf =
  (top: number) =>
  ({ closure: { code }, pc, thisValue }: Frame, depth: number): CapturedFrame[] => {
    // A caller's pc is already past its call.
    const frame = capturedFrame(code, depth === top ? pc : pc - 1, thisValue);
    return frame ? [frame] : [];
  };
