import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, expect, test, vi } from 'vitest';
import { ones, type Tensor, toStatic } from '../../src/index.ts';
import { tostatic } from '../../src/plugin/index.ts';
import { loadModule, withoutInspector } from './load-module.ts';

afterEach(() => void vi.restoreAllMocks());

const standard = `
export const seen: unknown[] = [];
const noted = (fn: Function, context: { name: string }) => void seen.push(context.name);
let scale = 2;
export class Trainer {
  #shift = 1;
  @noted step(x) { return x.mul(scale).add(this.#shift); }
}`;

const legacy = standard.replace(
  '(fn: Function, context: { name: string }) => void seen.push(context.name)',
  '(target: object, name: string) => void seen.push(name)',
);

const compilerOptions = { experimentalDecorators: true };

const tsconfig = `// of the project\n${JSON.stringify({ compilerOptions })}`;

test.each([
  ['standard', standard, {}, null],
  ['legacy', legacy, { tsconfigRaw: { compilerOptions } }, null],
  ['a project with legacy', legacy, {}, 'tsconfig.json'],
  ['a configuration with legacy', legacy, {}, 'other.json'],
])('esbuild with the plugin compiles %s decorators', async (_kind, text, given, config) => {
  const folder = mkdtempSync(join(tmpdir(), 'decorators-'));
  mkdirSync(join(folder, 'src'));
  const file = join(folder, 'src/trainer.ts');
  writeFileSync(file, text);
  if (config) writeFileSync(join(folder, config), tsconfig);
  const options = config === 'other.json' ? { tsconfig: join(folder, config) } : given;
  const { outputFiles } = await build({
    ...{ entryPoints: [file], bundle: true, write: false, format: 'esm', minify: true },
    ...options,
    target: 'es2022',
    plugins: [tostatic.esbuild()],
  });
  rmSync(folder, { recursive: true });
  const { Trainer, seen } = await loadModule(outputFiles[0]!.text);
  withoutInspector();
  expect(seen).toEqual(['step']);
  const trainer = new (Trainer as new () => { step(x: Tensor): Tensor })();
  const x = ones([2]);
  const expected = trainer.step(x).toArraySync();
  trainer.step = toStatic(trainer.step, { fallback: 'error', fullGraph: true });
  expect(trainer.step(x).toArraySync()).toEqual(expected);
});
