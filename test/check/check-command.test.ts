import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reduce } from '../../src/cli/check/reduce.ts';
import { asShipped } from '../package/as-shipped.ts';

const root = join(import.meta.dirname, '../..');

async function check(file: string, ...options: string[]): Promise<{ code: number; out: string }> {
  const args = [...(await asShipped()), join(root, 'src/cli/main.ts'), 'check', file, ...options];
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: root, encoding: 'utf8' }, (error, out, errors) => {
      done({ code: error ? Number(error.code) : 0, out: out + errors });
    });
  });
}

function moduleWith(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'check-')), 'program.mjs');
  writeFileSync(file, `import { randn } from '${join(root, 'src/index.ts')}';\n${text}`);
  return file;
}

describe('tostatic check', () => {
  it('compares a function in every mode, with its effects', { timeout: 240_000 }, async () => {
    const file = moduleWith(`
      export const log = [];
      export function f(x) {
        log.push(log.length);
        return x.transpose(0, 1).mul(2).relu().sum();
      }
      export const inputs = () => [randn([3, 4]).requiresGrad_()];
    `);
    const { code, out } = await check(file, '--modes', "default,fullGraph,memory: 'cleaned'");
    expect(out.match(/as eagerly; \d+ runs/g)).toHaveLength(3);
    expect(code).toBe(0);
  });

  it('fails if no mode could check a run, and says why', { timeout: 240_000 }, async () => {
    const file = moduleWith(`
      export function excluded(x) {
        eval('');
        return x.mul(2);
      }
      export function shapes(x) {
        return x.shape.length;
      }
      export const inputs = () => [randn([3])];
    `);
    const [fallback, opless] = await Promise.all(
      ['excluded', 'shapes'].map((name) =>
        check(file, '--modes', 'default,fullG', '--function', name),
      ),
    );
    expect(fallback!.out).toMatch(/^default +as eagerly; nothing checked: .*eval/m);
    expect(fallback!.out).toMatch(/^fullGraph +does not apply: .*ordinary JavaScript: .*eval/m);
    expect(opless!.out).toContain('nothing checked: no tensor op was captured');
    for (const { code, out } of [fallback!, opless!]) {
      expect(out).toContain('\nnothing was checked: no mode ran a program\n');
      expect(code).toBe(1);
    }
  });

  it('cuts a difference down to a small module', { timeout: 240_000 }, async () => {
    // Each mode runs in a process of its own: what a process tells of itself differs.
    const file = moduleWith(`
      export function f(x) {
        const y = x.mul(2).add(1);
        const z = y.relu();
        const loss = z.sum();
        loss.backward();
        return [loss, process.pid];
      }
      export const inputs = () => [randn([32, 64]).requiresGrad_()];
      // Differs as well, elsewhere.
      export const started = process.pid;
    `);
    const { code, out } = await check(file, '--modes', 'default', '--seconds', '5');
    expect(code).toBe(1);
    // The function has run backward itself: its results are compared, and no call fails.
    expect(out).not.toContain('throw');
    expect(out).toContain('DIFFERENT at calls[0].result[1]');
    const smaller = join(file, '../program.check.mjs');
    expect(out).toContain(`${smaller} still shows it`);
    expect(existsSync(smaller)).toBe(true);
    const text = readFileSync(smaller, 'utf8').replace(/^\/\/.*\n/, '');
    expect(text).toMatch(/return [^;]*process\.pid/);
    expect(text.length).toBeLessThan(readFileSync(file, 'utf8').length);
  });
});

describe('a module that is cut down', () => {
  it('keeps what the difference needs, in the smallest sizes', async () => {
    const text = `
      const unused = 1;
      export function f(x) {
        const y = x.add(1);
        if (y.rank > 1) y.neg();
        return y.mul(2).broken(16).sum();
      }
      export const inputs = () => [randn([32, 64])];
    `;
    const smallest = await reduce(
      text,
      ['f', 'inputs'],
      async (candidate) => /\.broken\(/.test(candidate) && candidate.includes('function f('),
      Date.now() + 10_000,
    );
    expect(smallest).not.toContain('unused');
    expect(smallest).not.toContain('neg');
    expect(smallest).toContain('broken(');
    expect(smallest).not.toContain('64');
  });

  it('is not tried without the declarations of what it uses', async () => {
    const text = `
      import { nn, ones, randn, zeros as none } from 'tostatic';
      const sizes = { rows: 2 }, model = new nn.Linear(3, sizes.rows);
      class Layer { forward({ x }, ...[rest]) { return model.forward(x).add(rest).broken(); } }
      function sizes2(a = none([2])) { for (const b of a) try { b(); } catch (e) { throw e; } }
      export function f(x) { label: for (;;) break label; return new Layer().forward({ x }, randn([2])); }
      export const inputs = () => [ones([2, 3])];
    `;
    const tried: string[] = [];
    const smallest = await reduce(
      text,
      ['f', 'inputs'],
      async (candidate) => {
        tried.push(candidate);
        return /broken\(\)/.test(candidate) && candidate.includes('function f(');
      },
      Date.now() + 10_000,
    );
    expect(smallest).not.toMatch(/sizes2|none|zeros|catch/);
    expect(tried.length).toBeGreaterThan(10);
    for (const name of ['model', 'Layer', 'none', 'sizes', 'nn', 'randn']) {
      const used = new RegExp(`(?<![.\\w])${name}\\b`, 'g');
      // Every name that occurs is declared, which is one occurrence more than its uses.
      const alone = tried.filter((candidate) => candidate.match(used)?.length === 1);
      const declares = new RegExp(`(?:class|as|const|,) ${name}\\b|\\{${name}\\b`);
      expect(alone.filter((candidate) => !declares.test(candidate))).toEqual([]);
    }
  });
});
