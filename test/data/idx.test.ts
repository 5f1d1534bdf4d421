import { describe, expect, it } from 'vitest';
import { parseIdx } from '../../runtime/data/idx.ts';
import { DataError } from '../../runtime/errors/errors.ts';

const file = (...bytes: number[]) => Uint8Array.from(bytes);
const matrix = file(0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6);

function failure(bytes: Uint8Array): DataError {
  try {
    parseIdx(bytes, 'some/file');
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
  return expect.fail('no error');
}

describe('parseIdx', () => {
  it('reads dimensions and elements, also from the middle of a buffer', () => {
    const larger = new Uint8Array(40);
    larger.set(matrix, 7);
    for (const bytes of [matrix, larger.subarray(7, 7 + matrix.length)]) {
      const { shape, data } = parseIdx(bytes, 'f');
      expect(shape).toEqual([2, 3]);
      expect([...data]).toEqual([1, 2, 3, 4, 5, 6]);
    }
  });

  it('names the path and what to do', () => {
    const error = failure(file(1, 2));
    expect(error.message).toContain('some/file is not an idx file of bytes');
    expect(error.given).toBe('2 bytes that start with 01 02');
    expect(error.expected).toContain('00 00 08');
    expect(error.remedy).toContain('download the file again');
    expect(error.at?.file).toBe(import.meta.filename);
  });

  it.each([
    ['empty', file(), 'is not an idx file'],
    ['text', new TextEncoder().encode('<html>'), 'is not an idx file'],
    ['another element type', file(0, 0, 0x0d, 1, 0, 0, 0, 0), 'is not an idx file of bytes'],
    ['compressed', file(0x1f, 0x8b, 8, 0), 'is compressed'],
    ['header cut short', matrix.subarray(0, 9), "its size doesn't fit"],
    ['elements cut short', matrix.subarray(0, 17), "its size doesn't fit"],
    ['bytes too many', file(...matrix, 0), "its size doesn't fit"],
    ['huge dimensions', file(0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255), "doesn't fit"],
    [
      '255 huge dimensions',
      new Uint8Array(4 + 4 * 255).fill(255).fill(0, 0, 2).fill(8, 2, 3),
      "doesn't fit",
    ],
  ])('refuses: %s', (_name, bytes, what) => {
    expect(failure(bytes).message).toContain(what);
  });

  it('says how many bytes a file should have', () => {
    const error = failure(matrix.subarray(0, 17));
    expect(error.given).toBe('17 bytes');
    expect(error.expected).toBe('18 bytes for shape [2,3]');
  });
});
