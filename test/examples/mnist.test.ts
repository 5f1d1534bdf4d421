import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readOptions } from '../../examples/mnist/options.ts';
import { withSources } from '../source-process.ts';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'mnist-'));

function runExample(...args: string[]): Promise<Outcome> {
  const main = join(root, 'examples/mnist/main.ts');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...withSources, main, ...args],
      { cwd: root },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      },
    );
  });
}

/** The printed rows of one strategy: [peak allocated, peak reserved, kept, predicted, allocs, ms, loss]. */
function rowsOf(stdout: string, strategy: string): string[][] {
  const lines = stdout.split('\n').filter((line) => line.startsWith(`│ ${strategy}`));
  return lines.map((line) =>
    line
      .split('│')
      .slice(2, -1)
      .map((cell) => cell.trim()),
  );
}

const numberOf = (text: string | undefined) => Number(text!.replaceAll(',', ''));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('MNIST example', () => {
  const report = join(folder, 'deep', 'report.html');
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await runExample('--limit', '1200', '--epochs', '1', '--report', report);
  });

  it('succeeds: bytes are steady and as predicted, losses equal bit for bit', () => {
    expect(outcome.stderr).toBe('');
    expect(outcome.code).toBe(0);
    expect(outcome.stdout).toContain('12 losses are equal to the last bit');
  });

  it('prints a table of both models with a lower peak for toStatic', () => {
    const [counted, compiled] = [
      rowsOf(outcome.stdout, 'eager (refcount)'),
      rowsOf(outcome.stdout, 'toStatic'),
    ];
    expect(rowsOf(outcome.stdout, 'eager (tidy)')).toHaveLength(2);
    expect([counted.length, compiled.length]).toEqual([2, 2]);
    compiled.forEach((row, model) => {
      const [peak, , kept, predicted, calls, , loss] = row;
      const [eagerPeak, , , , , , eagerLoss] = counted[model]!;
      expect(numberOf(peak)).toBeLessThan(numberOf(eagerPeak));
      expect(kept).toBe(predicted);
      expect(loss).toBe(eagerLoss);
      const [allocations, frees] = calls!.split(' / ');
      expect(allocations).toBe(frees);
    });
  });

  it('writes the report and prints where it is', () => {
    const [, url] = /^report: (file:.*)$/m.exec(outcome.stdout)!;
    expect(fileURLToPath(url!)).toBe(report);
    const html = readFileSync(report, 'utf8');
    expect(html).toContain('conv2dWeightGrad');
    expect(html).toContain('eager (refcount)');
  });

  it('prints plain lines where there is no terminal', () => {
    expect(outcome.stdout).toMatch(/^ConvNet, toStatic: step \d+ of 12, loss \d\.\d{4}$/m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must be absent.
    expect(outcome.stdout).not.toMatch(/[\u001b\r]/);
  });

  it('says in a message which file is missing', async () => {
    const { code, stdout, stderr } = await runExample('--data', join(folder, 'none'));
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(join(folder, 'none', 'train-labels-idx1-ubyte'));
    expect(stderr).toContain('remedy:');
    expect(stderr).not.toMatch(/^\s+at .*\.ts:\d+/m);
  });

  it.each([
    ['--limit', '0'],
    ['--epochs', 'two'],
    ['--batch', '1.5'],
    ['--model', 'vgg'],
    ['--device', 'tpu'],
  ])('rejects %s %s', (option, value) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('the process ends');
    });
    expect(() => readOptions([option, value])).toThrow('the process ends');
    expect(exit).toHaveBeenCalledExactlyOnceWith(1);
    expect(written.mock.calls.join('')).toMatch(/^error: option '--/);
    vi.restoreAllMocks();
  });
});
