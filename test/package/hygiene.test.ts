import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Installed } from './install.ts';
import { installed } from './installed.ts';

const run = promisify(execFile);
const bin = join(import.meta.dirname, '../../node_modules/.bin');

let at: Installed;
let home: string;
let manifest: {
  readonly dependencies: Record<string, string>;
  readonly scripts: Record<string, string>;
  readonly optionalDependencies?: object;
  readonly peerDependencies: object;
  readonly peerDependenciesMeta: Record<string, { readonly optional: boolean }>;
  readonly exports: Record<string, { types: string; node?: string; default: string }>;
};

beforeAll(async () => {
  at = await installed();
  home = join(at.project, 'node_modules/tostatic');
  manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
}, 240_000);

const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

/** Names of the packages in a `node_modules` folder. */
function packagesIn(modules: string): string[] {
  return readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : name,
  );
}

describe('the tarball', () => {
  it('has metadata without fault', async () => {
    const bytes = readFileSync(at.tarball);
    const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages } = await publint({ pack: { tarball: tarball as ArrayBuffer }, strict: true });
    expect(messages).toEqual([]);
  });

  it('resolves to its types everywhere', { timeout: 120_000 }, async () => {
    const args = [at.tarball, '--profile', 'esm-only', '--format', 'json'];
    const { stdout } = await run(join(bin, 'attw'), args, { maxBuffer: 1 << 24 });
    // Modules are ESM; `require` reaches them from Node 20.19 on.
    const ignored = new Set(['node16-cjs']);
    const { problems } = JSON.parse(stdout) as {
      problems: Record<string, { resolutionKind?: string }[]>;
    };
    const all = Object.values(problems).flat();
    expect(all.filter(({ resolutionKind = '' }) => !ignored.has(resolutionKind))).toEqual([]);
  });

  it('type-checks by itself where nothing but the language is known', {
    timeout: 120_000,
  }, async () => {
    const names = Object.keys(manifest.exports).map((name) => name.replace(/^\./, 'tostatic'));
    const imports = names.map((name, i) => `import * as m${i} from '${name}';\n`).join('');
    const uses = `
      const f = m0.toStatic((x: m0.Tensor) => x.mul(2));
      export const y: m0.Tensor = f(m0.randn([2]));`;
    const lines = `${imports}${uses}\nexport const all = [${names.map((_, i) => `m${i}`)}];\n`;
    writeFileSync(join(at.project, 'types.ts'), lines);
    const options = [
      ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', ''],
      ...['--module', 'nodenext', '--target', 'es2022'],
      ...['--lib', 'es2023,esnext.disposable,esnext.decorators,dom'],
    ];
    const { stdout } = await run(join(bin, 'tsc'), [...options, 'types.ts'], {
      cwd: at.project,
    }).catch((error: { stdout: string }) => error);
    // unplugin's types need those of all bundlers: users of one have them.
    expect(stdout.split('\n').filter((line) => line.includes('node_modules/tostatic/'))).toEqual(
      [],
    );
  });

  it('reads its own location only as the default of a parameter, in which no bundler sees an asset', () => {
    const found = filesUnder(join(home, 'dist'))
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) => readFileSync(file, 'utf8').match(/^[^"'`\n]*import\.meta.*/gm) ?? []);
    expect(found).not.toEqual([]);
    expect(found.filter((line) => !/\(\w+, \w+ = import\.meta\.url\) =>/.test(line))).toEqual([]);
  });

  it('names no generic array in its types, which TypeScript before 5.7 does not know', () => {
    const found = filesUnder(join(home, 'dist'))
      .filter((file) => file.endsWith('.d.ts'))
      .filter((file) =>
        /\b(?:\w+Array|ArrayBufferView|DataView|Buffer)<Array/.test(readFileSync(file, 'utf8')),
      );
    expect(found).toEqual([]);
  });

  it('has licences of everything in it', () => {
    const licenses = readFileSync(join(home, 'dist/licenses.txt'), 'utf8');
    for (const name of ['acorn', 'astring', 'fflate', 'gpu.js', 'magic-string', 'uplot']) {
      expect(licenses).toMatch(new RegExp(`^${name} [\\d.]+ \\((?:MIT|ISC)\\)$`, 'm'));
    }
    for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md', 'docs/plugin.md']) {
      expect(existsSync(join(home, name))).toBe(true);
    }
  });

  it('names no map that is not there, and no folder of the machine that built it', () => {
    for (const file of filesUnder(join(home, 'dist'))) {
      const text = readFileSync(file, 'utf8');
      expect(text.match(/^\/\/# sourceMappingURL=\S*$/m), file).toBeNull();
      expect(text.includes(import.meta.dirname.replace(/\/test\/.*/, '/')), file).toBe(false);
    }
  });
});

describe('an installation for the CPU', () => {
  it('has its comments to bundlers where all bundlers find them', () => {
    const texts = filesUnder(join(home, 'dist'))
      .filter((path) => path.endsWith('.js'))
      .map((path) => readFileSync(path, 'utf8'));
    // Published files have long lines: only what stands right before each comment is looked at.
    const before = texts.flatMap((text) =>
      Array.from(text.matchAll(/webpackIgnore/g), ({ index }) =>
        text.slice(Math.max(0, index - 100), index),
      ),
    );
    expect(before.length).toBeGreaterThan(1);
    const direct = /import\(\s*(?:\/\*[^*]*\*\/\s*)*\/\* $/;
    expect(before.filter((found) => !direct.test(found))).toEqual([]);
    expect(texts.filter((text) => text.includes('__rewriteRelativeImportExtension'))).toEqual([]);
  });

  it('is at most 12 packages and 12 MB, and runs no scripts', () => {
    const modules = join(at.project, 'node_modules');
    const packages = packagesIn(modules);
    expect(packages.length).toBeLessThanOrEqual(12);
    const bytes = filesUnder(modules).reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThan(12e6);
    for (const name of packages) {
      const { scripts = {} } = JSON.parse(
        readFileSync(join(modules, name, 'package.json'), 'utf8'),
      ) as { scripts?: Record<string, string> };
      const run = ['preinstall', 'install', 'postinstall'].filter((script) => script in scripts);
      expect(run, name).toEqual([]);
    }
    expect(manifest.optionalDependencies).toBeUndefined();
    // npm installs none of them unasked.
    const optional = Object.entries(manifest.peerDependenciesMeta);
    expect(optional.filter(([, { optional }]) => optional).map(([name]) => name)).toEqual(
      Object.keys(manifest.peerDependencies),
    );
  });

  it('has the same names for pages as for Node, by fewer chunks', async () => {
    for (const name of ['./runtime', './functions']) {
      const { node, default: page } = manifest.exports[name]!;
      const [inNode, inPage] = await Promise.all(
        [node!, page].map((path) => import(pathToFileURL(join(home, path)).href)),
      );
      expect({ ...inPage }, name).toEqual({ ...inNode });
    }
  });

  it('loads few files, and nothing of the GPU, the command or the plugin', () => {
    const loaded = (entry: string): string[] => {
      const seen = new Set<string>();
      const waiting = [entry];
      for (let file = waiting.pop(); file; file = waiting.pop()) {
        if (seen.has(file)) continue;
        seen.add(file);
        const text = readFileSync(file, 'utf8');
        for (const [, path] of text.matchAll(/(?:from|import)\s*["'`](\.[^"'`]+\.js)["'`]/g)) {
          waiting.push(join(file, '..', path!));
        }
      }
      return [...seen];
    };
    const sizeOf = (files: readonly string[]) =>
      files.reduce((sum, f) => sum + statSync(f).size, 0);
    const runtime = loaded(join(home, manifest.exports['./runtime']!.node!));
    const whole = loaded(join(home, manifest.exports['.']!.default));
    // Layers, optimizers and functions have files of their own, for pages that load the compiler later.
    // Also what pages load only with programs that have control ops or a backward, and what only Node has: its entry, and
    // the numerics of the environment.
    expect(runtime.length).toBeLessThanOrEqual(27);
    expect(whole.length).toBeLessThanOrEqual(39);
    expect(sizeOf(runtime)).toBeLessThan(1.98e6);
    expect(sizeOf(whole)).toBeLessThan(3.74e6);
    for (const file of whole) {
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/^import\b.*["'](?!\.)[^"']*["'];$/m);
      expect(readFileSync(file, 'utf8'), file).not.toContain('createShaderModule');
      // Engines keep the text in one byte per character then, else in two.
      expect(readFileSync(file, 'utf8'), file).not.toMatch(/[\u0100-\uffff]/);
    }
  });

  it('says how to get WebGPU where there is none', () => {
    const text = `import { init } from 'tostatic';
      await init('gpu').catch((error) => console.log(error.name, error.message));`;
    writeFileSync(join(at.project, 'no-gpu.mjs'), text);
    const printed = execFileSync(process.execPath, ['no-gpu.mjs'], {
      cwd: at.project,
      encoding: 'utf8',
    });
    expect(printed).toMatch(/^DeviceError gpu: this process has no WebGPU\n/);
    expect(printed).toContain('remedy:   npm install webgpu');
  });

  it('has examples that run', { timeout: 60_000 }, () => {
    const tsx = pathToFileURL(join(bin, '../tsx/dist/loader.mjs')).href;
    const file = 'node_modules/tostatic/dist/examples/quickstart.ts';
    const printed = execFileSync(process.execPath, ['--import', tsx, file], {
      cwd: at.project,
      encoding: 'utf8',
    });
    expect(printed).toMatch(/step 3: loss [\d.]+/);
  });
});
