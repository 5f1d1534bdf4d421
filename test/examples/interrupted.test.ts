import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withSources } from '../source-process.ts';

/** Interrupts a bar, as Ctrl-C does, on a terminal that is as wide as a real one. */
const program = `
  Object.assign(process.stdout, { isTTY: true, columns: 80 });
  const { startProgress } = await import('./examples/mnist/progress.ts');
  startProgress('MLP', 10).step(1, 0.5);
  process.kill(process.pid, 'SIGINT');
  setTimeout(() => {}, 50_000);
`;
const cursorShown = '\u001b[?25h';
const linesWrapped = '\u001b[?7h';

describe('an interrupted example', () => {
  it('leaves the terminal as it was, and ends', () => {
    const ran = spawnSync(
      process.execPath,
      [...withSources, '--input-type=module', '--eval', program],
      { cwd: join(import.meta.dirname, '../..'), encoding: 'utf8', timeout: 40_000 },
    );
    expect(ran.signal, ran.stderr).toBe('SIGINT');
    expect(ran.stdout).toContain('MLP');
    expect(ran.stdout.lastIndexOf(cursorShown)).toBeGreaterThan(
      ran.stdout.lastIndexOf('\u001b[?25l'),
    );
    expect(ran.stdout.lastIndexOf(linesWrapped)).toBeGreaterThan(
      ran.stdout.lastIndexOf('\u001b[?7l'),
    );
  });
});
