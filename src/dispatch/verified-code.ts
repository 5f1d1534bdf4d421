import {
  type CapturedCode,
  type CodeOf,
  isRefused,
  type RejectedCode,
} from '../3-trace/variables/code-of.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { verify } from '../vm/bytecode/verify.ts';
import { codeOf } from './code-cache.ts';

const known = new WeakSet<Code>();

/** Verifies each code once. Throws InvariantError for invalid bytecode, a bug in lowering. */
export function verifyFrames(frames: readonly Frame[]): void {
  for (const { closure } of frames) verifyOnce(closure.code);
}

function verifyOnce(code: Code): void {
  if (known.has(code)) return;
  verify(code);
  known.add(code);
}

function verified(found: CapturedCode | RejectedCode): CapturedCode | RejectedCode {
  if (!isRefused(found)) verifyOnce(found.closure.code);
  return found;
}

/** Like `codeOf`, for strict functions. */
export const verifiedCodeOf: CodeOf = Object.assign(
  ((fn) => verified(codeOf(fn))) satisfies (...args: Parameters<CodeOf>) => ReturnType<CodeOf>,
  {
    called: ((fn) => verified(codeOf.called(fn))) satisfies CodeOf['called'],
    ownAlone: ((fn) => verified(codeOf.ownAlone(fn))) satisfies CodeOf['ownAlone'],
    construction: ((type) => verified(codeOf.construction(type))) satisfies CodeOf['construction'],
    privateMember: codeOf.privateMember,
    homeObject: codeOf.homeObject,
    privateOwner: codeOf.privateOwner,
  },
);
