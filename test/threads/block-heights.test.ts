import { describe, expect, it } from 'vitest';
import { blockCount } from '../../runtime/device/cpu/fused/staged.ts';

const kiB = 1024;

describe('blocks of a staged op', () => {
  it.each([
    ['images of 512 KiB, with two values between stages', 8, 512, [512, 128]],
    ['images of 50 KiB', 64, 50, [50]],
    ['rows of 2 KiB', 128, 2, [2]],
    ['rows of 2 KiB, many', 4096, 2, [2, 2, 8]],
  ])('%s: several threads get blocks that are worth sharing', (_, rows, row, slots) => {
    const body = { rows, least: 1, slots: slots.map((size) => size * kiB), longestRow: row * kiB };
    const height = (isShared: boolean) => rows / blockCount(body, isShared);
    const inner = slots.reduce((sum, size) => sum + size, 0) * kiB;
    // As much as there is, up to the memory between stages or 4 MiB of the longest value.
    expect(height(true)).toBeGreaterThanOrEqual(
      Math.min(rows, (4 * kiB) / row, (8 * kiB * kiB) / inner) / 2,
    );
    // One thread keeps a block in the nearest caches.
    expect(height(false) * row).toBeLessThan(Math.max(2 * 64, 2 * row));
    // Twice its height, the least that rounding may make of it, still fits between stages.
    expect(height(true) * inner).toBeLessThanOrEqual(8 * kiB * kiB);
  });
});
