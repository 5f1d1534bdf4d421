/**
 * The cost of the build plugin's probes when nothing is captured: `npx tsx bench/plugin-overhead.ts`. fib(30) is
 * the worst case: 1.3 million calls with nearly empty bodies.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { transformSync } from 'esbuild';
import { probeFile } from '../src/plugin/probe-file.ts';
import { transform } from '../src/plugin/transform.ts';

const rounds = 40;
const fibModule = `
export function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
export const arrow = (n) => n < 2 ? n : arrow(n - 1) + arrow(n - 2);
const box = { value: 0 };
export class Tree { walk(n) { return n < 2 ? n + box.value : this.walk(n - 1) + this.walk(n - 2) } }
`;
type Work = Record<'function' | 'arrow' | 'method', (n: number) => number>;

const folder = mkdtempSync(join(tmpdir(), 'tostatic-bench-'));
try {
  const probe = join(folder, 'probe.mjs');
  writeFileSync(probe, compile(readFileSync(probeFile, 'utf8'), false));
  const probed = transform(fibModule, join(folder, 'fib.js'), { probe: pathToFileURL(probe).href });
  const plain = await load('plain.mjs', fibModule);
  const marked = await load('marked.mjs', probed!.code);
  console.log('calls with probes / without, fastest of', rounds, 'rounds, fib(30):');
  for (const kind of ['function', 'arrow', 'method'] as const) {
    const [a, b] = fastest(plain[kind], marked[kind]);
    const bytes = allocated(marked[kind]) - allocated(plain[kind]);
    const more = `${((b / a - 1) * 100).toFixed(1)} % more`;
    const times = `${a.toFixed(2)} ms → ${b.toFixed(2)} ms`;
    console.log(
      `  ${kind.padEnd(9)} ${times}  ×${(b / a).toFixed(3)} (${more}), ${bytes} bytes more`,
    );
  }
  printSizes();
} finally {
  rmSync(folder, { recursive: true });
}

async function load(name: string, code: string): Promise<Work> {
  const file = join(folder, name);
  writeFileSync(file, code);
  const module = (await import(pathToFileURL(file).href)) as {
    fib: Work['function'];
    arrow: Work['arrow'];
    Tree: new () => { walk: Work['method'] };
  };
  const tree = new module.Tree();
  return { function: module.fib, arrow: module.arrow, method: (n) => tree.walk(n) };
}

/** Interleaved, so that clock and load affect both equally. */
function fastest(a: (n: number) => number, b: (n: number) => number): [number, number] {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round++) {
    for (const [i, run] of [a, b].entries()) {
      const start = performance.now();
      run(30);
      best[i] = Math.min(best[i]!, performance.now() - start);
    }
  }
  return best;
}

/** Heap growth over one optimized fib(30); one byte per call would be 1.3 million. */
function allocated(run: (n: number) => number): number {
  const before = process.memoryUsage().heapUsed;
  run(30);
  return process.memoryUsage().heapUsed - before;
}

/** Source files of this repository, as they would be shipped. */
function printSizes(): void {
  const files = [
    '../runtime/nn/module/module.ts',
    '../runtime/optim/adam.ts',
    '../runtime/data/loader.ts',
  ];
  const sizes = { plain: 0, probed: 0, plainZip: 0, probedZip: 0 };
  for (const file of files) {
    const path = new URL(file, import.meta.url);
    const { code, map } = transformSync(readFileSync(path, 'utf8'), {
      loader: 'ts',
      sourcemap: 'external',
      sourcefile: path.pathname,
    });
    const before = compile(code, true);
    const done = transform(code, path.pathname, {}, map);
    const after = compile(done?.code ?? code, true);
    sizes.plain += before.length;
    sizes.probed += after.length;
    sizes.plainZip += gzipSync(before).length;
    sizes.probedZip += gzipSync(after).length;
  }
  const { plain, probed, plainZip, probedZip } = sizes;
  console.log('minified modules, with the original source, its map and the probes:');
  console.log(`  ${plain} → ${probed} bytes (×${(probed / plain).toFixed(2)})`);
  console.log(`  gzip ${plainZip} → ${probedZip} bytes (×${(probedZip / plainZip).toFixed(2)})`);
}

function compile(code: string, minify: boolean): string {
  return transformSync(code, { loader: 'ts', minify, format: 'esm' }).code;
}
