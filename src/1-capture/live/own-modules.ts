import { ownPartOfFile, publishedScheme } from '../../../runtime/errors/own-code.ts';

/**
 * Whether an import names a module of this package. These assign none of the functions that they export, so
 * such an import needs no guard.
 */
export function isOwnModule(from: string, importer: string): boolean {
  if (from === 'tostatic' || from.startsWith('tostatic/')) return true;
  if (!from.startsWith('.')) return false;
  // What is relative to a published module is beside it.
  if (importer.startsWith(publishedScheme)) return true;
  return ownPartOfFile(new URL(from, `file://${importer}`).href) !== null;
}
