/** What the commands make of a module that exports a training step and its arguments, and no workload. */

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { init } from '../../src/index.ts';
import { measureVariant, type VariantResult } from '../../src/lab/compare/measure.ts';
import { stepVariants } from '../../src/lab/compare/variants.ts';
import { stepAlone } from '../../src/lab/compare/workload.ts';
import { asShipped } from '../package/as-shipped.ts';

type AnyStep = (...inputs: unknown[]) => unknown;

it('a plain step is measured with what it returns, and leaves what it found', async () => {
  const device = await init('cpu');
  const { default: plainStep, inputs } = await import('./plain-step.ts');
  const [refcounted, tidied, captured] = stepVariants.map((variant) =>
    measureVariant(stepAlone(plainStep as AnyStep, inputs), variant, {
      device,
      size: 'reduced',
      steps: 1,
    }),
  ) as [VariantResult, VariantResult, VariantResult];
  for (const { losses, leaked } of [refcounted, tidied, captured]) {
    expect(losses.length).toBeGreaterThan(2);
    expect(leaked).toBe(0);
  }
  expect(captured.graphs).toBeGreaterThan(1);
  expect(captured.peakAllocated).toBeLessThan(refcounted.peakAllocated);
  expect(refcounted.peakAllocated).toBeLessThanOrEqual(tidied.peakAllocated);
});

it('a module that exports a plain step needs no workload', { timeout: 120_000 }, async () => {
  const node = await asShipped('and TypeScript');
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [...node, 'src/cli/main.ts', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const printed = run('compare', 'test/lab/plain-step.ts', '--modes', 'eager,static');
  expect(printed).toMatch(/eager \(refcount\)[\s\S]*toStatic: the whole step/);
  expect(printed).not.toContain('failed: ');
  const checked = run('check', 'test/lab/plain-step.ts', '--calls', '2', '--modes', 'default');
  expect(checked).toMatch(/^default +as eagerly; \d+ runs of programs checked$/m);
});
