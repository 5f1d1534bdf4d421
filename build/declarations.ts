import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

/** Declarations that users can import. */
const entries = Object.values(manifest.exports).map(({ types }) =>
  types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1'),
);

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
