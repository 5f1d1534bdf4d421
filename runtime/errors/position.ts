/**
 * The position of an event in the user's files. Code that runs as bytecode knows it exactly (a scoped provider,
 * from the current instruction's span); for native code it comes from the call stack.
 */

import { filePath } from './file-name.ts';
import { originalPosition } from './original-position.ts';
import { isPublishedOriginal, type OwnPart, ownPartAt } from './own-code.ts';
import { ownerInStackLine, positionInStackLine } from './stack-lines.ts';

export interface UserPosition {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** A frame of captured code. */
export interface CapturedFrame extends UserPosition {
  /** The engine's name for the function, such as `f`, `Layer.forward`, `new Layer`; absent for unnamed functions. */
  readonly name?: string;
}

type Provider = () => UserPosition | undefined;
const providers: Provider[] = [];

/** Runs `body` with `provider` returning the user's position. */
export function withPositionProvider<T>(provider: Provider, body: () => T): T {
  providers.push(provider);
  try {
    return body();
  } finally {
    providers.pop();
  }
}

/**
 * Returns the innermost frame that is in neither this package nor Node, mapped to the user's file if there is a source
 * map. Frames of installed packages (test runners, loaders) count only if there is no other, and only with
 * `orInstalled`.
 */
function positionFromStack(lines: readonly string[], orInstalled = true): UserPosition | undefined {
  let installed: UserPosition | undefined;
  for (const text of lines) {
    const at = positionInStackLine(text);
    if (!at || ownPartAt(at)) continue;
    const { file, line, column } = originalPosition(at);
    if (isPublishedOriginal(at, file)) continue;
    const position = { file: shownFile(file), line, column };
    if (!/[\\/]node_modules[\\/]/.test(file)) return position;
    installed ??= position;
  }
  return orInstalled ? installed : undefined;
}

/** Returns the part of the package that a stack line belongs to, or null. */
export function ownFrameOf(text: string): OwnPart | null {
  const owner = ownerInStackLine(text);
  return owner ? ownPartAt(owner) : null;
}

/**
 * Returns the path of a file. For files from the page's own server it is relative to the root, as the build plugin's
 * are.
 */
function shownFile(file: string): string {
  const origin = globalThis.location?.origin;
  if (!origin || !file.startsWith(`${origin}/`)) return filePath(file);
  return decodeURIComponent(new URL(file).pathname.slice(1));
}

/** Reading a stack takes time per frame, and the user's frame is nearly always among the first. */
const [firstFrames, allFrames] = [20, 100];

/** Returns an error with the current stack. */
export function stackOf(frames: number): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = frames;
  const here = new Error();
  Error.stackTraceLimit = limit;
  return here;
}

/** Whether the running captured code was called by other captured code, through native code. */
export const isNestedRun = (): boolean => providers.length > 1;

/** The position that a provider knows; null without any provider. */
function providedPosition(): { readonly at: UserPosition | undefined } | null {
  for (let i = providers.length - 1; i >= 0; i--) {
    const at = providers[i]!();
    if (at) return { at };
  }
  return providers.length > 0 ? { at: undefined } : null;
}

/**
 * Returns the user frame above the runner of captured code, if any: a native function called from bytecode. Otherwise
 * the provided position. Undefined if that depends on missing frames, unless `isWhole`.
 */
function positionIn(
  { stack = '' }: Error,
  provided: ReturnType<typeof providedPosition>,
  isWhole: boolean,
): UserPosition | undefined {
  const lines = stack.split('\n');
  if (provided) {
    const runner = lines.findIndex((text) => ownFrameOf(text) === 'runner');
    if (runner < 0 && !isWhole) return undefined;
    const near = positionFromStack(lines.slice(0, Math.max(runner, 0)), false) ?? provided.at;
    if (near) return near;
  }
  return positionFromStack(lines, isWhole);
}

/** Returns the user's current position; undefined if no user frame is on the stack. */
export function userPosition(): UserPosition | undefined {
  const provided = providedPosition();
  const at = positionIn(stackOf(firstFrames), provided, false);
  return at ?? positionIn(stackOf(allFrames), provided, true);
}

/** Captures the stack; the returned function extracts the user's position, which takes longer. */
export function notedPosition(): () => UserPosition | undefined {
  const [here, provided] = [stackOf(allFrames), providedPosition()];
  return () => positionIn(here, provided, true);
}

export function formatPosition(position: UserPosition): string {
  return `${position.file}:${position.line}:${position.column}`;
}
