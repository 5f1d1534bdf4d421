import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import '../../src/node/index.ts';
import { corpus } from '../corpus/all.ts';
import { differential } from '../corpus/differential.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe('process-cache/corpus', () => {
  let known = 0;

  it.each(corpus)('$name: as eagerly, and left to others or refused by name', (each) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { make, calls = 4 } = each;
    const { stats: first } = differential(make, { calls });
    const { stats, leaked } = differential(make, { calls });
    expect(warn.mock.calls.flat().filter((text) => /TOSTATIC_CACHE/.test(String(text)))).toEqual(
      [],
    );
    const { knownTraces = 0, translations } = stats;
    if (!first.unkeptTraces) expect(knownTraces).toBeGreaterThan(0);
    if (translations === 0) known++;
    if (!each.expected.garbage) expect(leaked).toBe(0);
  });

  it('most functions are traced once for all processes', () => {
    expect(known / corpus.length).toBeGreaterThan(0.75);
  });
});
