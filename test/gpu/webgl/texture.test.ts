import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rectanglesOf, rowElements } from '../../../runtime/device/gpu/webgl/texture.ts';

const around = fc.tuple(fc.nat(4), fc.integer({ min: -2, max: 2 }));
const count = around.map(([rows, more]) => Math.max(0, rows * rowElements + more));

it('any range of elements is at most three rectangles, which cover it in order', () => {
  fc.assert(
    fc.property(count, count, (first, length) => {
      const rectangles = rectanglesOf(first, length);
      expect(rectangles.length).toBeLessThanOrEqual(3);
      let next = first;
      for (const { x, y, width, height } of rectangles) {
        expect(y * rowElements + x).toBe(next);
        expect(width > 0 && x + width <= rowElements).toBe(true);
        // Rows follow each other without a gap only where they are whole.
        expect(height === 1 || (x === 0 && width === rowElements)).toBe(true);
        next += width * height;
      }
      expect(next).toBe(first + length);
    }),
  );
});
