/**
 * Where in the user's files something happened. There are two sources: code that runs as bytecode says it
 * exactly (a scoped provider, the current instruction's span), native code by the call stack.
 */

import { originalPlace } from './original-place.ts';
import { isPublishedFile, type OwnPart, ownPartAt } from './own-code.ts';
import { ownerInStackLine, placeInStackLine } from './stack-lines.ts';

export interface UserPosition {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** A frame of captured code. */
export interface CapturedFrame extends UserPosition {
  /** The engine's name: `f`, `Layer.forward`, `new Layer`; absent for functions without a name. */
  readonly name?: string;
}

type Provider = () => UserPosition | undefined;
const providers: Provider[] = [];

/** Inside `body`, `provider` returns where the user's code is. */
export function withPositionProvider<T>(provider: Provider, body: () => T): T {
  providers.push(provider);
  try {
    return body();
  } finally {
    providers.pop();
  }
}

/**
 * The innermost frame of a stack that is in neither this package nor Node itself, as the user's file has it
 * when there is a source map. Frames of installed packages (test runners, loaders) count only where there
 * is no other, and `orInstalled`.
 */
function positionFromStack(lines: readonly string[], orInstalled = true): UserPosition | undefined {
  let installed: UserPosition | undefined;
  for (const text of lines) {
    const place = placeInStackLine(text);
    if (!place || ownPartAt(place)) continue;
    const { file, line, column } = originalPlace(place);
    if (isPublishedFile(file)) continue;
    const position = { file: shownFile(file), line, column };
    if (!file.includes('/node_modules/')) return position;
    installed ??= position;
  }
  return orInstalled ? installed : undefined;
}

/** Whether a line of a stack is a frame of this package: of what runs captured code, or of the tensors. */
export function ownFrameOf(text: string): OwnPart | null {
  const owner = ownerInStackLine(text);
  return owner ? ownPartAt(owner) : null;
}

/** Paths for files, and for what the page's own server has: from its root, as the build plugin has them. */
function shownFile(file: string): string {
  if (file.startsWith('file://')) return decodeURIComponent(file.slice('file://'.length));
  const origin = globalThis.location?.origin;
  if (!origin || !file.startsWith(`${origin}/`)) return file;
  return decodeURIComponent(new URL(file).pathname.slice(1));
}

/**
 * A frame of the user's that is nearer than what runs captured code: a function that runs as it is, called
 * from bytecode.
 */
function nearestPosition(lines: readonly string[]): UserPosition | undefined {
  const runner = lines.findIndex((text) => ownFrameOf(text) === 'runner');
  return runner < 0 ? undefined : positionFromStack(lines.slice(0, runner), false);
}

/** The user's position now; undefined when no user frame is on the stack. */
export function userPosition(): UserPosition | undefined {
  return notedPosition()();
}

/** Notes the user's position, which the result finds in the noted stack: that takes longer. */
export function notedPosition(): () => UserPosition | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  const here = new Error();
  Error.stackTraceLimit = limit;
  let provided: UserPosition | undefined;
  for (let i = providers.length - 1; i >= 0 && !provided; i--) provided = providers[i]!();
  const isProvided = providers.length > 0;
  return () => {
    const lines = (here.stack ?? '').split('\n');
    return (isProvided && nearestPosition(lines)) || provided || positionFromStack(lines);
  };
}

export function formatPosition(position: UserPosition): string {
  return `${position.file}:${position.line}:${position.column}`;
}
