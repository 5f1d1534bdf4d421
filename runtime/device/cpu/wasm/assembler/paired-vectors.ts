import { dtypes } from '../../../../spec/dtype.ts';
import { wideVectors } from './wide-vectors.ts';

/** Loops that were written with two vectors in each iteration. */
export const pairedLoops = { count: 0 };

/** From now on, loops over elements compute two vectors in each iteration, while wide vectors are used. Pages have none. */
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
