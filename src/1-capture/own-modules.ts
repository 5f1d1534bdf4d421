/** Path of the folder that holds `runtime/` and `src/`. */
const here = import.meta.url; // apart from `new URL`, which bundlers take for the name of an asset
const root = decodeURIComponent(new URL('../../', here).pathname);

/**
 * Whether an import names a module of this package. These assign none of the functions that they export, so
 * such an import needs no guard.
 */
export function isOwnModule(from: string, importer: string): boolean {
  if (from === 'tostatic' || from.startsWith('tostatic/')) return true;
  if (!from.startsWith('.')) return false;
  const path = decodeURIComponent(new URL(from, `file://${importer}`).pathname);
  return path.startsWith(`${root}src/`) || path.startsWith(`${root}runtime/`);
}
