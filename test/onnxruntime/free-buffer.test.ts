import { describe, expect, it } from 'vitest';
import { freeBuffer } from '../../src/onnxruntime/free-buffer.ts';

describe('a buffer that is freed', () => {
  it('has no bytes any more', () => {
    const buffer = new ArrayBuffer(1 << 16);
    const view = new Float32Array(buffer);
    freeBuffer(buffer);
    expect([buffer.byteLength, view.length]).toEqual([0, 0]);
  });

  it.each([true, false])('where the engine has the method transfer: %s', (isThere) => {
    const buffer = new ArrayBuffer(64);
    const lengths: number[] = [];
    const transfer = isThere
      ? (length: number) => {
          lengths.push(length);
          return structuredClone(buffer, { transfer: [buffer] });
        }
      : undefined;
    Object.defineProperty(buffer, 'transfer', { value: transfer });
    freeBuffer(buffer);
    expect(buffer.byteLength).toBe(0);
    expect(lengths).toEqual(isThere ? [0] : []);
  });

  it('leaves the count of external bytes at once', () => {
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64; i++) freeBuffer(new ArrayBuffer(1 << 20));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 << 20);
  });
});
