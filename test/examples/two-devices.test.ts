import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { skipGpu } from '../gpu/open-gpu.ts';
import { withSources } from '../source-process.ts';

const root = join(import.meta.dirname, '../..');
const chromiumIcd = '/usr/lib/chromium/vk_swiftshader_icd.json';

/** What an example prints, in a process of its own. */
function printedBy(
  example: readonly string[],
  environment: Readonly<Record<string, string>>,
): string {
  const { VK_ICD_FILENAMES: _own, ...outer } = process.env;
  const run = () =>
    execFileSync(process.execPath, [...withSources, ...example], {
      cwd: root,
      encoding: 'utf8',
      env: { ...outer, ...environment },
    });
  try {
    return run();
  } catch (error) {
    // The C library ends the process of a software adapter now and then, with this message; it is not ours.
    if (!String((error as { stderr?: string }).stderr).includes('futex facility')) throw error;
    console.warn(`once more, since: ${(error as { stderr: string }).stderr}`);
    return run();
  }
}

const places = [
  ['cpu:1', { TOSTATIC_GPU_SOFTWARE: '0' }],
  [
    'gpu',
    {
      TOSTATIC_GPU_SOFTWARE: '1',
      ...(existsSync(chromiumIcd) && { VK_ICD_FILENAMES: chromiumIcd }),
    },
  ],
] as const;

describe.each(skipGpu ? places.slice(0, 1) : places)(
  'beside the CPU, %s',
  (device, environment) => {
    const found = (printed: string, pattern: RegExp) =>
      [...printed.matchAll(pattern)].map(([, ...parts]) => parts);

    it('has only the rows of an embedding that stays on the CPU, which trains to the same losses', () => {
      // A GPU's gradient of an embedding asks every index for every element.
      const rows = device === 'gpu' ? 8000 : 200_000;
      const printed = printedBy(['examples/embedding-on-cpu.ts', String(rows)], environment);
      const line = /^(.*): (\d+) bytes on cpu, (\d+) bytes on (\S+); losses (.*)$/gm;
      const [together, apart] = found(printed, line);
      const table = rows * 16 * 4;
      expect([together![3], apart![3]]).toEqual([device, device]);
      // The table and its gradient.
      expect(Number(together![2])).toBeGreaterThan(2 * table);
      expect(Number(apart![1])).toBeGreaterThan(2 * table);
      expect(Number(apart![2])).toBeLessThan(table / 10);
      const losses = [together![4]!, apart![4]!].map((text) => text.split(' ').map(Number));
      expect(losses[0]!.length).toBe(5);
      losses[0]!.forEach((loss, i) => {
        expect(losses[1]![i]).toBeCloseTo(loss, device === 'gpu' ? 5 : 12);
      });
    });

    it('is not read synchronously where the slice of a shape has a guard', () => {
      const printed = printedBy(['examples/device-guard.ts'], environment);
      const line = /^(.*): (\d+) copies to the device, (\d+) copies synchronous, from it; (.*)$/gm;
      expect(found(printed, line)).toEqual([
        ['no guard', '10', '10', '1×3×32×24'],
        ['slice on cpu', '0', '0', '1×3×32×24'],
      ]);
    });
  },
);
