/**
 * Builds the published package (`npm run build`): compiles TypeScript to JavaScript, inserts probes into functions
 * that captures trace into, and bundles everything into a few files, with declarations and licences.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.ts';
import { writeDeclarations } from './declarations.ts';
import { writeLicenses } from './licenses.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const compiled = join(dist, '.compiled');

function node(...args: readonly string[]): void {
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
}

/**
 * Escapes characters beyond Latin-1, all of which are in strings, templates and comments: engines keep the text of
 * a Latin-1 file in one byte per character, otherwise in two.
 */
function escaped(code: string): string {
  return code.replace(
    /[\u0100-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

rmSync(dist, { recursive: true, force: true });
node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', compiled);
const bundled = await bundle(root, compiled, dist);
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.js') || name.startsWith('.compiled')) continue;
  const file = join(dist, name);
  writeFileSync(file, escaped(readFileSync(file, 'utf8')));
}
writeDeclarations(compiled, dist);

// Read by the command at run time.
node(join(compiled, 'src/cli/run/write-realm-runtime.js'));
const realm = 'src/cli/run/realm-runtime.txt';
cpSync(join(compiled, realm), join(dist, realm));
const page = join(dist, 'src/lab/page');
cpSync(join(root, 'src/lab/page'), page, { recursive: true });
const runner = 'src/export/scale/run.py';
cpSync(join(root, runner), join(dist, runner));
const charts = join(root, 'node_modules/uplot/dist');
const chartFiles = ['uPlot.iife.min.js', 'uPlot.min.css'];
for (const name of chartFiles) cpSync(join(charts, name), join(page, name));

// Example programs, as their readers would write them.
const examples = join(root, 'examples');
mkdirSync(join(dist, 'examples'));
for (const name of readdirSync(examples).filter((file) => file.endsWith('.ts'))) {
  const text = readFileSync(join(examples, name), 'utf8')
    .replaceAll("'../src/index.ts'", "'tostatic'")
    .replaceAll("'../runtime/index.ts'", "'tostatic/runtime'")
    .replaceAll(/'\.\.\/(?:src|runtime)\/(\w+)\/index\.ts'/g, "'tostatic/$1'");
  writeFileSync(join(dist, 'examples', name), text);
}

const shipped = chartFiles.map((name) => join(charts, name));
writeLicenses([...bundled, ...shipped], join(dist, 'licenses.txt'));
rmSync(compiled, { recursive: true });
