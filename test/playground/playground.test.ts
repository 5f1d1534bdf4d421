import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build, preview } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../../examples/playground/samples.ts';
import { inspect } from '../../examples/playground/worker/inspect.ts';
import { postedByPage } from '../browser-page.ts';

const request = { kind: 'inspect', id: 1, budgetShare: 1, fullGraph: false } as const;

describe('an inspection', () => {
  for (const [name, { text }] of Object.entries(samples)) {
    test(`compares eager and compiled steps: ${name}`, () => {
      const result = inspect({ ...request, text, fullGraph: name === 'loop' });
      expect(result.compiled.losses).toEqual(result.eager.losses);
      expect(new Set(result.compiled.losses).size).toBe(name === 'loop' ? 1 : 4);
      expect(result.breaks).toHaveLength(name === 'broken' ? 2 : 0);
      expect(result.eagerKernels === 0).toBe(name !== 'broken');
      expect(result.compiled.timeline.points.length).toBeGreaterThan(0);
      expect(result.opsByLine.length).toBeGreaterThan(0);
      if (name !== 'broken') {
        expect(result.predicted).toBe(result.compiled.peak - result.compiled.held);
      }
    });
  }

  test('holds a budget', () => {
    // Six layers of the twelve, which are planned four times as fast.
    const text = samples.deep.text.replace('length: 12', 'length: 6');
    expect(text).not.toBe(samples.deep.text);
    const result = inspect({ ...request, text, budgetShare: 0.8 });
    expect(result.planned).toBeLessThanOrEqual(result.budget!);
    expect(result.planned).toBeLessThan(result.unlimited!);
    expect(result.predicted).toBe(result.compiled.peak - result.compiled.held);
    expect(result.compiled.losses).toEqual(result.eager.losses);
  });
});

const folder = fileURLToPath(new URL('../../examples/playground/', import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), 'tostatic-playground-'));
const config = {
  configFile: `${folder}vite.config.ts`,
  logLevel: 'error',
  build: { outDir },
} as const;
const skipped = process.env['TOSTATIC_SKIP_GPU'] === '1';

beforeAll(async () => {
  if (!skipped) await build(config);
}, 120_000);
afterAll(() => rmSync(outDir, { recursive: true, force: true }));

describe.skipIf(skipped)('the page in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let close: () => Promise<void>;
  const problems: string[] = [];
  const seconds = (count: number) => ({ timeout: count * 1000 });

  beforeAll(async () => {
    const executablePath = '/usr/bin/chromium';
    if (!existsSync(executablePath)) {
      throw new Error(`no ${executablePath}: apt-get install chromium`);
    }
    const server = await preview({ ...config, preview: { port: 0 } });
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(server.resolvedUrls!.local[0]!);
    close = async () => {
      await browser.close();
      await server.close();
    };
  }, 120_000);

  afterAll(() => close?.());

  const figures = () => page.locator('#figures').innerText();
  const waitFor = (text: string) =>
    expect.poll(() => page.locator('#figures').innerText(), seconds(60)).toContain(text);

  test('captures the first example, under its strict policy', async () => {
    await waitFor('equal bits');
    expect(await figures()).toContain('as predicted, to the byte');
    expect(await page.locator('.ops').innerText()).toMatch(/\d/);
    expect(problems).toEqual([]);
  });

  test('shows every stage, by mouse and by keyboard', async () => {
    await page.getByRole('tab', { name: 'Bytecode' }).click();
    expect(await page.locator('#panel').innerText()).toContain('call');
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Guards');
    await page.keyboard.press('End');
    expect(await page.locator('#panel').innerText()).toContain('0 graph breaks');
  });

  test('shows graph breaks beside their lines', async () => {
    await page.getByLabel('Example').selectOption('broken');
    await waitFor('2 graph breaks');
    await page.getByRole('tab', { name: 'Breaks (2)' }).click();
    expect(await page.locator('#panel').innerText()).toContain('line 8: ');
    expect(await page.locator('.cm-lint-marker-warning').count()).toBe(2);
  });

  test('captures what is typed, and names mistakes', async () => {
    await page.getByLabel('The function to capture').fill('export const x = ;');
    await expect.poll(() => page.locator('#problem').innerText(), seconds(20)).toContain('line 1');
    // What is still shown is not of this text.
    const results = page.locator('section.read');
    expect(await page.locator('#status').innerText()).toBe('not captured');
    expect(await results.getAttribute('class')).toBe('read stale');
    expect(await page.locator('#read-title').textContent()).toContain('last captured function');
    const wrong = `export function step() {\n  return absent;\n}\nexport const inputs = () => [];`;
    await page.getByLabel('The function to capture').fill(wrong);
    await expect
      .poll(() => page.locator('#problem').innerText(), seconds(20))
      .toBe('line 2: ReferenceError: absent is not defined');
    await page
      .getByLabel('The function to capture')
      .fill(
        `import { randn, type Tensor } from 'tostatic';\nexport const double = (x: Tensor) => x.mul(2);\nexport const inputs = () => [randn([5])];`,
      );
    await expect
      .poll(() => page.locator('#status').innerText(), seconds(20))
      .toBe('double is captured');
    expect(await page.locator('#problem').isVisible()).toBe(false);
    expect(await results.getAttribute('class')).toBe('read');
  });

  test('an edited example can be chosen again, and shows nothing of a text before', async () => {
    const example = page.getByLabel('Example');
    const editor = page.getByLabel('The function to capture');
    const status = () => page.locator('#status').innerText();
    expect(await example.inputValue()).toBe('');
    await editor.fill(
      `export const inputs = () => [];\nexport const f = () => console.log('printed');`,
    );
    await expect.poll(status, seconds(20)).toBe('f is captured');
    expect(await page.locator('#printed').innerText()).toContain('printed');
    await editor.fill('export const x = ;');
    await expect.poll(status, seconds(20)).toBe('not captured');
    expect(await page.locator('#printed').isVisible()).toBe(false);
    // A loop that never ends is told from what failed before it.
    await page.clock.install();
    await editor.fill(`export const inputs = () => [];\nexport const f = () => { while (true); };`);
    await expect.poll(status, seconds(20)).toBe('Capturing …');
    await page.clock.fastForward(5000);
    expect(await status()).toContain('a loop that never ends? Edit it.');
    expect(await page.locator('#problem').isVisible()).toBe(false);
    expect(await page.locator('.cm-lint-marker').count()).toBe(0);
    await example.selectOption('mlp');
    await page.clock.resume();
    await expect.poll(status, seconds(20)).toBe('step is captured');
    expect(await example.inputValue()).toBe('mlp');
  });

  test('trains on digits without freezing', async () => {
    await page.locator('input[name=steps]').fill('40');
    await page.evaluate(() => {
      const counted = window as unknown as { frames: number };
      counted.frames = 0;
      const count = () => {
        counted.frames++;
        requestAnimationFrame(count);
      };
      requestAnimationFrame(count);
    });
    await page.getByRole('button', { name: 'Train' }).click();
    const status = page.locator('#train-status');
    await expect.poll(() => status.innerText(), seconds(60)).toContain('recognized');
    const [, accuracy] = /([\d.]+) %/.exec(await status.innerText())!;
    expect(Number(accuracy)).toBeGreaterThan(75);
    expect(await status.innerText()).toContain('0 breaks');
    expect(
      await page.evaluate(() => (window as unknown as { frames: number }).frames),
    ).toBeGreaterThan(5);
    expect(problems).toEqual([]);
  });

  test('fits a phone: nothing scrolls sideways', async () => {
    const [inner, outer] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
    ]);
    expect(inner).toBeLessThanOrEqual(outer!);
  });
});

describe.skipIf(skipped)('the page in Firefox', () => {
  test('captures, shows graph breaks, and trains on digits', { timeout: 60_000 }, async () => {
    const driver = readFileSync(join(import.meta.dirname, 'page-in-frame.ts'), 'utf8');
    const { code } = transformSync(driver, { loader: 'ts', target: 'es2022' });
    writeFileSync(join(outDir, 'page.js'), code);
    const shown = JSON.parse(await postedByPage(outDir, { browser: 'firefox' })) as Shown;
    expect(shown.first).toContain('as predicted, to the byte');
    expect(shown.broken).toContain('2 graph breaks');
    const [, accuracy] = /([\d.]+) %/.exec(shown.trained)!;
    expect(Number(accuracy)).toBeGreaterThan(70);
    expect(shown.trained).toContain('0 breaks');
    expect(shown.problems).toEqual([]);
  });
});

interface Shown {
  readonly first: string;
  readonly broken: string;
  readonly trained: string;
  readonly problems: readonly string[];
}
