import { isIgnoredFile, isNotToStatic } from '../traces/policy.ts';
import type { Code, SourceText } from '../vm/bytecode/code.ts';

/** Computes a digest of a text. */
export type Digest = (text: string) => string;

const digests = new WeakMap<SourceText, string>();

/**
 * Returns a text that is equal for code that is lowered identically: the same function at the same position in the
 * same file, since positions are stored.
 */
export function printCode(code: Code, fn: object | undefined, digest: Digest): string {
  const { source, span, kind, name, strict } = code;
  let text = digests.get(source);
  if (text === undefined) {
    text = digest(source.text);
    digests.set(source, text);
  }
  const at = source.position(span.start);
  const policy = [fn !== undefined && isNotToStatic(fn), isIgnoredFile(source.file)];
  return JSON.stringify([source.file, text, span.start, span.end, at, kind, name, strict, policy]);
}

/** Returns the text of a function of this package, which is identified by its source. */
export function printOwn(fn: object, digest: Digest): string {
  return digest(`${isNotToStatic(fn)} ${Function.prototype.toString.call(fn)}`);
}
