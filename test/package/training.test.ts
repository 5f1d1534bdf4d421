import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type BrowserName, postedByPage } from '../browser-page.ts';
import { bundled } from './bundled.ts';
import type { Mistakes } from './fixtures/mistakes.ts';
import type { PageReport, Report } from './fixtures/report.ts';
import type { KernelRun, UserKernel } from './fixtures/user-kernel.ts';

let folder: string;
let inNode: Report;

// Named so until Node 22.
const permission = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

function reportOfNode(flags: readonly string[]): Report {
  const args = ['--no-warnings', ...flags, join(folder, 'node.js')];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Report;
}

beforeAll(async () => {
  ({ folder } = await bundled());
  inNode = reportOfNode([]);
}, 240_000);

const strictPolicy = "script-src 'self' 'wasm-unsafe-eval'";

function expectWholeSteps({ mlp, convNet }: Report['trainings']): void {
  for (const training of [mlp, convNet]) {
    expect(training).toMatchObject({ breaks: [], fallbacks: 0, eagerKernels: 0 });
    expect(training.graphs).toBe(training.traces);
    expect(training.graphs).toBeGreaterThan(0);
  }
}

/** Software rendering, for WebGL2 on machines without a GPU. */
const softwareGl = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];

/** A user's kernel is one op of a graph, with the gradient that eager execution has. */
function expectKernel(found: UserKernel, expected: UserKernel, tolerance: number): void {
  expect(found.breaks).toEqual([]);
  expect(found.graphs).toBe(expected.graphs);
  const numbers = ({ loss, gradient }: KernelRun) => [loss, ...gradient];
  expect(numbers(found.captured)).toEqual(numbers(found.eager));
  numbers(expected.eager).forEach((value, i) => {
    const error = Math.abs(numbers(found.eager)[i]! - value);
    expect(error).toBeLessThanOrEqual(tolerance * (1 + Math.abs(value)));
  });
}

const fixture = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8').split('\n');

/** `mistakes.ts:19:12` of the place where a text begins in the user's file. */
function placeOf(line: string, text: string, columns: boolean): string {
  const lines = fixture('mistakes.ts');
  const index = lines.findIndex((each) => each.includes(line));
  return `src/mistakes.ts:${index + 1}:${columns ? lines[index]!.indexOf(text) + 1 : ''}`;
}

function expectUserPlaces(found: Mistakes, columns: boolean): void {
  const at = (line: string, text: string) => placeOf(line, text, columns);
  expect(found.eager).toContain(`at:       ${at('the mistake', 'matmul')}`);
  expect(found.captured).toContain(`at:       ${placeOf('the mistake', 'matmul', true)}`);
  expect(found.breaks).toEqual([placeOf('the break', 'Date.now() < 0', true)]);
  expect(found.explained).toContain('if (Date.now() < 0) return x;');
  const decision = placeOf('the decision', 'x.sum', true);
  expect(found.refused).toContain(`at:       ${decision}`);
  expect(found.refused).toContain('if (x.sum().itemSync() > 0) return twice([x.mul(2)]);');
  expect(found.refusedStack).toContain(decision);
  // Firefox and Safari leave the message to the error.
  if (columns) expect(found.thrownStack).toMatch(/^RangeError: too large\n/);
  expect(found.thrownStack).toContain(placeOf('the throw', 'new RangeError', true));
  expect(found.refusedStack).toMatch(/\(\d+ frames? of tostatic\)/);
}

describe('a bundle of the packed package', () => {
  test('trains with one graph per step in Node', () => {
    expectWholeSteps(inNode.trainings);
    const { mlp, mlpEager, convNet, convNetEager } = inNode.trainings;
    expect(mlp.losses).toEqual(mlpEager.losses);
    expect(mlp.weights).toBe(mlpEager.weights);
    expect(convNet.losses).toEqual(convNetEager.losses);
    expect(convNet.weights).toBe(convNetEager.weights);
  });

  test("captures the library's modules, whose texts may be with the compiler", () => {
    expect(inNode.inside).toEqual({ counts: [4, 4], breaks: 0 });
  });

  test("makes ops of a user's kernels, eagerly and captured", () => {
    expectKernel(inNode.kernel, inNode.kernel, 0);
    expect(inNode.kernel.graphs).toBe(1);
    // The sum over both points of (tanh(centre) - point)^2.
    expect(inNode.kernel.eager.loss).toBeCloseTo(50.8225, 4);
  });

  test('computes the same where Node permits no inspector and no eval', () => {
    const flags = [permission, '--allow-fs-read=*', '--disallow-code-generation-from-strings'];
    const report = reportOfNode(flags);
    expectWholeSteps(report.trainings);
    expect(report.trainings).toEqual(inNode.trainings);
  });

  const policies = { 'a page': undefined, 'a page with a strict policy': strictPolicy };
  for (const browser of ['chromium', 'firefox'] satisfies BrowserName[]) {
    describe.skipIf(process.env['TOSTATIC_SKIP_GPU'] === '1')(browser, () => {
      for (const [name, policy] of Object.entries(policies)) {
        test(`trains with one graph per step in ${name}`, { timeout: 120_000 }, async () => {
          const flags = browser === 'chromium' ? softwareGl : [];
          const page = { browser, flags, ...(policy !== undefined && { policy }) };
          const report = JSON.parse(await postedByPage(folder, page)) as PageReport;
          expectWholeSteps(report.trainings);
          if (browser === 'chromium') expect(report.trainings).toEqual(inNode.trainings);
          for (const kind of ['mlp', 'mlpEager', 'convNet', 'convNetEager'] as const) {
            const { losses } = report.trainings[kind];
            const expected = inNode.trainings[kind].losses;
            expect(losses).toHaveLength(expected.length);
            losses.forEach((loss, i) => {
              expect(Math.abs(loss - expected[i]!)).toBeLessThan(1e-6);
            });
          }
          expect(report.inside).toEqual(inNode.inside);
          expectKernel(report.kernel, inNode.kernel, 0);
          const { kernelOnGpu } = report;
          if (typeof kernelOnGpu !== 'string') expectKernel(kernelOnGpu, inNode.kernel, 1e-5);
          else if (browser === 'firefox') expect(kernelOnGpu).toMatch(/^DeviceError/);
          else expect.fail(kernelOnGpu);
          // Of a call, engines name different columns.
          expectUserPlaces(report.mistakes, browser === 'chromium');
        });
      }

      test('names places of the bundle where it has no map', { timeout: 120_000 }, async () => {
        const body = await postedByPage(folder, { browser, hidden: /\.map$/ });
        const { mistakes } = JSON.parse(body) as Report;
        // Captured code knows its places by itself.
        expect(mistakes.captured).toContain(`at:       ${placeOf('the mistake', 'matmul', true)}`);
        const [, file, line, column] = /at: +(assets\/\S+\.js):(\d+):(\d+)\n/.exec(mistakes.eager)!;
        const text = readFileSync(join(folder, file!), 'utf8').split('\n')[Number(line) - 1]!;
        expect(text.slice(Number(column) - 3, Number(column) + 12)).toContain('matmul(');
      });
    });
  }
});
