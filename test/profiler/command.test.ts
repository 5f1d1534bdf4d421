/** `tostatic profile`: a table of an exported function, and a timeline for viewers. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { profileFile } from '../../src/cli/profile-file.ts';
import { asShipped } from '../package/as-shipped.ts';

const defaults = { calls: '10', warmup: '2', sort: 'total', limit: '30' };

describe('profiler/command', () => {
  it('prints a table and writes a timeline', { timeout: 60_000 }, async () => {
    const node = await asShipped('and TypeScript');
    const folder = mkdtempSync(join(tmpdir(), 'tostatic-profile-'));
    try {
      const file = join(folder, 'trace.json');
      const command = [...node, 'src/cli/main.ts', 'profile', 'examples/stages.ts'];
      const printed = execFileSync(
        process.execPath,
        [...command, '--calls', '3', '--sort', 'calls', '--trace', file],
        { cwd: join(import.meta.dirname, '../..'), encoding: 'utf8', stdio: 'pipe' },
      );
      expect(printed).toMatch(/^call layer +3 /m);
      expect(printed).toMatch(/^run_program +3 /m);
      expect(printed).toMatch(/^fused\(matmul·mul·relu\) +6 /m);
      expect(printed).not.toMatch(/^trace /m);
      const { traceEvents } = JSON.parse(readFileSync(file, 'utf8'));
      const programs = traceEvents.filter(({ name }: { name: string }) => name === 'run_program');
      expect(programs).toHaveLength(3);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('runs the function as it is on demand', async () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await profileFile('examples/stages.ts', { ...defaults, calls: '3', eager: true });
      const printed = String(write.mock.calls.at(-1)![0]);
      expect(printed).toMatch(/^matmul +6 /m);
      expect(printed).not.toContain('run_program');
    } finally {
      write.mockRestore();
    }
  });

  it('refuses options that mean nothing', async () => {
    const refused = (options: object) =>
      profileFile('examples/stages.ts', { ...defaults, ...options });
    await expect(refused({ calls: 'some' })).rejects.toThrow(/--calls some/);
    await expect(refused({ warmup: '-1' })).rejects.toThrow(/--warmup -1/);
    await expect(refused({ sort: 'size' })).rejects.toThrow(/sort has a wrong value/);
  });
});
