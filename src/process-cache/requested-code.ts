import { type CodeOf, isRefused } from '../3-trace/variables/code-of.ts';
import type { Closure } from '../vm/bytecode/frame.ts';

/** How a trace requested a function's code: to call it, to construct with it, or as a function of this package. */
export type CodeRequest = 'call' | 'new' | 'alone';

export interface RequestedCode {
  // biome-ignore lint/complexity/noBannedTypes: whatever is called.
  readonly fn: Function;
  readonly how: CodeRequest;
  readonly closure: Closure;
}

/**
 * Returns the code of a function, requested in one way; undefined if it is unavailable, or if the function is
 * bound.
 */
export function closureFor(
  codeOf: CodeOf,
  { fn, how }: Pick<RequestedCode, 'fn' | 'how'>,
): Closure | undefined {
  const found =
    how === 'call' ? codeOf(fn) : how === 'new' ? codeOf.construction(fn) : codeOf.ownAlone(fn);
  if (isRefused(found) || found.boundThis || found.boundArgs.length > 0) return undefined;
  return found.closure;
}

/** Records the functions whose code is requested. */
export function notingCode(codeOf: CodeOf, requested: RequestedCode[]): CodeOf {
  type Fn = RequestedCode['fn'];
  const noted = (how: CodeRequest, ask: (fn: Fn) => ReturnType<CodeOf>) => (fn: Fn) => {
    const found = ask(fn);
    if (!isRefused(found)) requested.push({ fn, how, closure: found.closure });
    return found;
  };
  return Object.assign(noted('call', codeOf), {
    called: noted('call', (fn) => codeOf.called(fn)),
    ownAlone: noted('alone', (fn) => codeOf.ownAlone(fn)),
    construction: noted('new', (fn) => codeOf.construction(fn)),
    privateMember: codeOf.privateMember,
    homeObject: codeOf.homeObject,
    privateOwner: codeOf.privateOwner,
  });
}
