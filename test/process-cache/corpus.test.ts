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

const why = new Map<string, number>();
describe('process-cache/corpus', () => {
  it.each(corpus)('$name', ({ make, calls = 4 }) => {
    const first = differential(make, { calls });
    const { stats, leaked } = differential(make, { calls });
    for (const each of first.stats.unkeptTraces ?? []) why.set(each, (why.get(each) ?? 0) + 1);
    console.log(first.stats.translations, '->', stats.translations, stats.knownTraces, first.leaked, leaked, first.stats.unkeptTraces);
  });
  it('summary', () => console.log([...why].sort((a, b) => b[1] - a[1])));
});
