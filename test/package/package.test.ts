// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts are source text
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { installed } from './installed.ts';

let home: string;
const command = 'node_modules/tostatic/dist/src/cli/main.js';

function node(args: readonly string[]): string {
  return execFileSync(process.execPath, args, { cwd: home, encoding: 'utf8' });
}

/** Runs a module of plain JavaScript, as a user without any build step has it. */
function runModule(name: string, text: string): string {
  const file = join(home, name);
  writeFileSync(file, text);
  return node([file]);
}

describe('package', () => {
  beforeAll(async () => {
    home = (await installed()).project;
  }, 240_000);

  it('captures functions of plain modules from the built package', () => {
    const printed = runModule(
      'user.mjs',
      `import { randn, seed, toStatic } from 'tostatic';
      const factor = 3;
      const f = toStatic((x) => { const y = x.mul(factor); return y.add(1).sum(); });
      seed(1);
      const x = randn([4, 4]);
      const eager = x.mul(factor).add(1).sum().itemSync();
      console.log(f(x).itemSync() === eager, f(x).itemSync() === eager);
      const { translations, graphs, breaks, fallbacks } = f.stats();
      console.log(JSON.stringify({ translations, graphs, breaks, fallbacks }));`,
    );
    expect(printed).toBe('true true\n{"translations":1,"graphs":1,"breaks":[],"fallbacks":[]}\n');
  });

  it('the runtime alone computes and loads no compiler', () => {
    const printed = runModule(
      'runtime-only.mjs',
      `import { ones, memory } from 'tostatic/runtime';
      const x = ones([2, 2]).requiresGrad_();
      x.mul(3).sum().backward();
      console.log([...x.grad.dataSync()].join(), memory.stats('cpu').allocated > 0);`,
    ).trim();
    expect(printed).toBe('3,3,3,3 true');
  });

  it('the command works from the built package', () => {
    writeFileSync(
      join(home, 'double.mjs'),
      `import { ones } from 'tostatic';
      export const double = (x) => x.mul(2);
      export const inputs = () => [ones([2])];`,
    );
    const printed = node([command, 'trace', 'double.mjs', '-d', 'program']);
    expect(printed).toContain('%1: f32[2] = mulScalar %0 value=2');
    expect(printed).toContain('# double.mjs:2:');
  });

  it('scripts run through their bytecode from the built package', () => {
    writeFileSync(
      join(home, 'good.js'),
      'class A { #x = 1; *m() { yield this.#x; } }\nif ([...new A().m()][0] !== 1) throw 1;',
    );
    writeFileSync(join(home, 'bad.js'), 'var x = 1;\nthrow new TypeError(`x is ${x}`);');
    writeFileSync(join(home, 'endless.js'), 'for (;;);');
    writeFileSync(join(home, 'refused.js'), 'var x = 2; if (eval("x") !== 2) throw 1;');
    const args = [command, 'run', '--timeout', '4000', 'good.js', 'bad.js'];
    const result = spawnSync(process.execPath, args, {
      cwd: home,
      encoding: 'utf8',
      input: 'endless.js\nrefused.js\n',
    });
    const lines = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { file: 'good.js', ok: true, error: null },
      { file: 'bad.js', ok: false, error: 'TypeError: x is 1' },
      { file: 'endless.js', ok: false, error: expect.stringContaining('Timeout') },
      { file: 'refused.js', ok: true, native: { reason: 'direct-eval', line: 1 } },
    ]);
    expect(result.status).toBe(1);
  });

  it('an error names the place in the user file', () => {
    const printed = runModule(
      'mistake.mjs',
      `import { ones } from 'tostatic';
      try { ones([2, 3]).matmul(ones([4, 5])); } catch (error) { console.log(error.message); }`,
    );
    expect(printed).toMatch(/at: +.*mistake\.mjs:2:\d+/);
  });
});
