import { dtypes } from '../../../../spec/dtype.ts';
import { wideVectors } from './wide-vectors.ts';

/** The number of loops written with two vectors per iteration. */
export const pairedLoops = { count: 0 };

/** Makes loops over elements compute two vectors per iteration from now on. Never called in pages. */
export function pairVectors(): void {
  wideVectors.areUsed = true;
  wideVectors.next = (f, cursors, width) => {
    if (!wideVectors.areUsed || cursors.some(({ walk }) => walk === 'strided')) return undefined;
    pairedLoops.count++;
    return cursors.map((cursor) => {
      if (cursor.walk === 'fixed') return cursor;
      const ahead = width * dtypes[cursor.dtype].bytes;
      return { ...cursor, value: f.local('v128'), ahead };
    });
  };
}
