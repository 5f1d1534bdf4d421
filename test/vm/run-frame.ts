import type { Frame } from '../../src/vm/bytecode/frame.ts';
import { asyncCallable } from '../../src/vm/frames/async-frame.ts';
import type { Machine } from '../../src/vm/frames/machine.ts';
import { runFrames } from '../../src/vm/machine/run-frames.ts';

/** Interprets a frame from its pc to its return. */
export const run = (frame: Frame): unknown => runFrames([frame]);

/** Runs the frame of an async function from where it stands. */
export const drive = (frame: Frame, machine: Machine): Promise<unknown> =>
  asyncCallable(() => frame, machine)() as Promise<unknown>;
