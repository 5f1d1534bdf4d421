import { fileUrl } from '../../../runtime/errors/file-name.ts';
import { ownPartOfFile, publishedScheme } from '../../../runtime/errors/own-code.ts';

/**
 * Returns whether an import refers to a module of this package, which never reassigns exported functions, so that
 * such an import needs no guard.
 */
export function isOwnModule(from: string, importer: string): boolean {
  if (from === 'tostatic' || from.startsWith('tostatic/')) return true;
  if (!from.startsWith('.')) return false;
  // A relative import of a published module refers to a published module.
  if (importer.startsWith(publishedScheme)) return true;
  // Evaluated modules have names that are no URLs, such as `vm:module(0)`.
  const base = fileUrl(importer);
  return URL.canParse(from, base) && ownPartOfFile(new URL(from, base).href) !== null;
}
