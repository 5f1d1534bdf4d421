import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Declarations that users can import, by the exports in `package.json`. */
const entries = [
  'runtime/index',
  'runtime/functions',
  'runtime/load',
  'runtime/nn/index',
  'runtime/optim/index',
  'runtime/data/mnist',
  'runtime/weights/index',
  'src/export/index',
  'src/onnx/index',
  'src/onnxruntime/index',
  'src/onnxruntime/web',
  'src/tensorboard/index',
  'src/page',
  'src/deferred/index',
  'src/1-capture/marked/probe',
  'src/plugin/index',
  'src/plugin/node-loader',
  'src/plugin/turbopack-loader',
];

/** `from './x.ts'` and `import('./x.ts')`, which declarations keep as in the sources. */
const relativeImport = /((?:from|import)\s*\(?\s*['"]\.[^'"]*)\.ts(?=['"])/g;

/** Writes those declarations, and the ones they refer to, beside the files that they declare. */
export function writeDeclarations(compiled: string, dist: string): void {
  const done = new Set<string>();
  const waiting = entries.map((entry) => join(compiled, `${entry}.d.ts`));
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (done.has(file)) continue;
    done.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, start] of text.matchAll(relativeImport)) {
      const path = start!.slice(start!.search(/['"]/) + 1);
      waiting.push(join(dirname(file), `${path}.d.ts`));
    }
    const target = join(dist, relative(compiled, file));
    cpSync(file, target);
    writeFileSync(
      target,
      text.replaceAll(relativeImport, '$1.js').replace(/\n\/\/# source.*\n?$/, '\n'),
    );
  }
}
