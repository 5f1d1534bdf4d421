/**
 * Where in the user's files something happened. Two ways to know: code that runs as bytecode says it
 * exactly (a scoped provider, the current instruction's span), native code by the call stack.
 */

export interface UserPosition {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

type Provider = () => UserPosition | undefined;
const providers: Provider[] = [];

/** Inside `body`, `provider` answers where the user's code is. */
export function withPositionProvider<T>(provider: Provider, body: () => T): T {
  providers.push(provider);
  try {
    return body();
  } finally {
    providers.pop();
  }
}

const here = import.meta.url; // webpack takes `new URL` with it for the name of an asset
/** Folder of this package: `…/runtime/errors/position.ts` two levels up. */
const packageRoot = new URL('../../', here).href;
const ownFolders = ['runtime/', 'src/'].map((folder) => packageRoot + folder);

/** Whatever traces or executes captured code: `file:` is left out, since stacks have paths as well. */
const runnerFolder = decodeURIComponent(new URL('src/', packageRoot).pathname);

const runtimeFolder = decodeURIComponent(new URL('runtime/', packageRoot).pathname);

const frameLocation = /\(?((?:file:\/\/|[a-z]:[\\/]|\/)[^()]*?):(\d+):(\d+)\)?$/i;

function toUrl(file: string): string {
  return file.startsWith('file:') ? file : `file://${file}`;
}

/** Whether a line of a stack is a frame of this package: of what runs captured code, or of the tensors. */
export function ownFrameOf(text: string): 'runner' | 'runtime' | null {
  if (text.includes(runnerFolder)) return 'runner';
  return text.includes(runtimeFolder) ? 'runtime' : null;
}

function isOwnFile(url: string): boolean {
  return ownFolders.some((folder) => url.startsWith(folder));
}

/**
 * The innermost frame of a stack that is in neither this package nor Node itself. Frames of installed
 * packages (test runners, loaders) count only where there is no other, and `orInstalled`.
 */
export function positionFromStack(stack: string, orInstalled = true): UserPosition | undefined {
  let installed: UserPosition | undefined;
  for (const text of stack.split('\n')) {
    const match = text.includes('node:') ? null : frameLocation.exec(text.trim());
    if (!match) continue;
    const [, location, line, column] = match;
    const url = toUrl(location!);
    if (isOwnFile(url)) continue;
    const file = decodeURIComponent(url.slice('file://'.length));
    const position = { file, line: Number(line), column: Number(column) };
    if (!url.includes('/node_modules/')) return position;
    installed ??= position;
  }
  return orInstalled ? installed : undefined;
}

/**
 * A frame of the user's that is nearer than what runs captured code: a function that runs as it is, called
 * from bytecode.
 */
function nearestPosition(stack: string): UserPosition | undefined {
  const lines = stack.split('\n');
  const runner = lines.findIndex((text) => text.includes(runnerFolder));
  return runner < 0 ? undefined : positionFromStack(lines.slice(0, runner).join('\n'), false);
}

/** The user's position now; undefined when no user frame is on the stack. */
export function userPosition(): UserPosition | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const stack = new Error().stack ?? '';
  Error.stackTraceLimit = limit;
  const nearest = providers.length > 0 ? nearestPosition(stack) : undefined;
  if (nearest) return nearest;
  for (let i = providers.length - 1; i >= 0; i--) {
    const position = providers[i]!();
    if (position) return position;
  }
  return positionFromStack(stack);
}

export function formatPosition(position: UserPosition): string {
  return `${position.file}:${position.line}:${position.column}`;
}
