/** Vectors of 256 bits: the same bits, and a kernel that differs is found. The option is one of Node 24. */

import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { init, zeros } from '../../src/index.ts';
import { isOfDay } from '../share-of-day.ts';
import { withSources } from '../source-process.ts';
import { nodeWithWideVectors } from './node-with-wide-vectors.ts';

const node = nodeWithWideVectors();

function run(
  program: string,
  args: readonly string[],
  more: object = {},
  by = node!,
): Record<string, unknown> {
  const file = new URL(`programs/${program}.ts`, import.meta.url).pathname;
  const env = { ...process.env, TOSTATIC_CHECK: '0', ...more };
  const text = execFileSync(by, [...withSources, file, ...args], { env, encoding: 'utf8' });
  return JSON.parse(text) as Record<string, unknown>;
}

describe.skipIf(!node)('vectors of 256 bits', () => {
  it.runIf(isOfDay(0))('give the same bits, on one thread and on two', () => {
    // On two threads they give those of one: test/threads/same-bits.
    const narrow = run('numerics-sample', [], { TOSTATIC_THREADS: '1' });
    for (const threads of ['1', '2']) {
      const wide = run('numerics-sample', ['revectorize'], { TOSTATIC_THREADS: threads });
      expect(wide, `${threads} threads`).toEqual({
        ...narrow,
        numerics: 'default: WebAssembly SIMD, 256 bits, fused multiply-add',
      });
    }
  });

  it.runIf(isOfDay(1))('give the recorded bits with portable numerics', () => {
    const portable = run('numerics-sample', ['revectorize'], { TOSTATIC_NUMERICS: 'portable' });
    expect(portable).toMatchObject({
      numerics: 'portable: WebAssembly SIMD, 256 bits',
      functions: 'e523808d',
      capturedTraining: '6617cf2d',
    });
  });

  it.runIf(isOfDay(2))(
    'join the two vectors of an iteration of element-wise loops, to the same bits at every size',
    () => {
      const single = run('paired-loops', ['single']);
      const joined = run('paired-loops', ['joined']);
      expect(single).toMatchObject({ pairedLoops: 0 });
      expect(joined.hashes).toEqual(single.hashes);
      expect(joined.pairedLoops).toBeGreaterThan(150);
    },
  );

  it('are refused where a kernel differs, and products are right all the same', () => {
    const { said, product } = run('broken-vectors', []);
    expect(said).toMatch(/256-bit vectors change results here[\s\S]*the kernel product/);
    expect(product).toBe(3 * 20 * 40);
  });
});

describe('element-wise loops with two vectors in each iteration', () => {
  it.runIf(isOfDay(3))('give the same bits at every size in any engine', () => {
    const [single, paired] = ['single', 'paired'].map((how) =>
      run('paired-loops', [how], {}, process.execPath),
    );
    expect(paired!.hashes).toEqual(single!.hashes);
    expect(paired!.pairedLoops).toBeGreaterThan(150);
  });
});

describe('init with revectorize', () => {
  it('is an error that names the engine where that is not known to work', async () => {
    if (process.versions.node.startsWith('24.')) return;
    await expect(init('cpu', { revectorize: true })).rejects.toThrow(
      /not supported here[\s\S]*Node 2[02356][\s\S]*Node 24 on x64/,
    );
  });

  it('is an error after the first op', async () => {
    zeros([2]).add(1).dispose();
    await expect(init('cpu', { revectorize: true })).rejects.toThrow(/before the first op/);
  });
});
