import type { CapturedFrame, UserPosition } from '../../../runtime/errors/position.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { capturedFrame, raisingPosition } from '../../vm/frames/captured-frame.ts';
import { isPolyfill } from '../builtins/polyfills/codes.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import { prototypeOf } from '../variables/variable.ts';
import { isFrameworkFile } from './framework-files.ts';

/** The line of a user's file that some frame's code is in. */
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

/** The frames as an engine would list them, the innermost first. */
export function framesOf(frames: readonly TraceFrame[]): CapturedFrame[] {
  const top = frames.length - 1;
  return frames
    .flatMap(({ closure: { code }, pc, thisVariable }, depth) => {
      if (isPolyfill(code)) return [];
      // An instance created in the trace is named by what it inherits from.
      const named = thisVariable.kind === 'newObject' ? prototypeOf(thisVariable) : thisVariable;
      const self = named && 'value' in named ? named.value : undefined;
      return capturedFrame(code, depth === top ? pc : pc - 1, self) ?? [];
    })
    .reverse();
}

/** The place in the user's own files, not in the modules of this package that were inlined. */
export const positionIn = (frames: readonly TraceFrame[]): UserPosition | undefined =>
  placeIn(frames, ({ source, spans }, pc) => source.position(spans[pc]!.start));

/** The position that an error thrown now reports, which is eager execution's. */
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
    if (code.spans[at] && !isPolyfill(code) && !isFrameworkFile(code.source.file)) {
      return position(code, at);
    }
  }
  return undefined;
}
