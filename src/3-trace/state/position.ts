import type { CapturedFrame, UserPosition } from '../../../runtime/errors/position.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { capturedFrame, raisingPosition } from '../../vm/frames/captured-frame.ts';
import { isPolyfill } from '../builtins/polyfills/codes.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { prototypeOf } from '../variables/variable.ts';
import { isFrameworkFile } from './framework-files.ts';

/** Returns the line of a user's file, if it contains the code of one of the frames. */
export function lineIn(
  frames: readonly TraceFrame[],
  { file, line }: UserPosition,
): string | undefined {
  for (const { closure } of frames) {
    const text = closure.code.source.line(file, line);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the frames in the order of a stack trace, innermost first. */
export function framesOf(frames: readonly TraceFrame[]): CapturedFrame[] {
  const top = frames.length - 1;
  return frames
    .flatMap(({ closure: { code }, pc, thisVariable }, depth) => {
      if (isPolyfill(code)) return [];
      // An instance created in the trace is named after its prototype.
      const named = thisVariable.kind === 'newObject' ? prototypeOf(thisVariable) : thisVariable;
      const self = named && 'value' in named ? named.value : undefined;
      return capturedFrame(code, depth === top ? pc : pc - 1, self) ?? [];
    })
    .reverse();
}

/** Returns the position in the user's own files, skipping inlined modules of this package. */
export const positionIn = (frames: readonly TraceFrame[]): UserPosition | undefined =>
  placeIn(frames, ({ source, spans }, pc) => source.position(spans[pc]!.start));

/** Returns the position that an error thrown now would report, the same as in eager execution. */
export const errorPositionIn = (frames: readonly TraceFrame[]): UserPosition | undefined =>
  placeIn(frames, raisingPosition);

function placeIn(
  frames: readonly TraceFrame[],
  position: (code: Code, pc: Pc) => UserPosition,
): UserPosition | undefined {
  for (let i = frames.length - 1; i >= 0; i--) {
    const { closure, pc } = frames[i]!;
    const { code } = closure;
    // A caller's pc is already past its call.
    const at = i === frames.length - 1 ? pc : pc - 1;
    if (code.instructions[at] && !isPolyfill(code) && !isFrameworkFile(code.source.file)) {
      return position(code, at);
    }
  }
  return undefined;
}
