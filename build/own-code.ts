import { join, relative } from 'node:path';
import type { AnyNode } from 'acorn';
import { transformSync } from 'esbuild';
import MagicString from 'magic-string';
import type { Plugin } from 'rolldown';
import { publishedScheme } from '../runtime/errors/own-code.ts';
import { transform } from '../src/plugin/transform.ts';
import { childrenOf } from '../src/vm/syntax/children.ts';
import { parse } from '../src/vm/syntax/parse.ts';

/** What captures look into (`src/3-trace/state/framework-files.ts`). */
const captured = /^runtime\/(?:nn|optim|control-flow|onnx)\//;

/**
 * Puts the probes of the build plugin into the functions of this package that captures follow, so that they can
 * be captured wherever they are bundled to, and nothing has to look into them.
 */
export function ownProbes(compiled: string, probeFile = 'src/1-capture/marked/probe.js'): Plugin {
  return {
    name: 'own-probes',
    transform(code, id) {
      const path = relative(compiled, id);
      if (!captured.test(path)) return null;
      // Positions in these files are shown to no user: what is captured needs no lines of its own.
      const plain = transformSync(code, {
        minifyWhitespace: true,
        legalComments: 'none',
        target: 'es2022',
      });
      const probe = join(compiled, probeFile);
      return transform(plain.code, publishedScheme + path, { probe })?.code ?? null;
    },
  };
}

const placeholder = '__tostatic_url__';

/**
 * Keeps `import.meta.url` what it is in the sources, relative to the other files, wherever bundling
 * moves a module: files that are loaded by their URL keep their names.
 */
export function ownUrls(compiled: string): Plugin {
  return {
    name: 'own-urls',
    transform(code, id) {
      if (!code.includes('import.meta.url') || id.includes('node_modules')) return null;
      const path = JSON.stringify(relative(compiled, id));
      const text = new MagicString(code);
      for (const { start, end } of ownUrlReads(code)) {
        text.overwrite(start, end, `${placeholder}(${path})`);
      }
      return text.toString();
    },
    renderChunk(code, { fileName }) {
      if (!code.includes(placeholder)) return null;
      const up = '../'.repeat(fileName.split('/').length - 1) || './';
      // A function, and not `new URL('…', import.meta.url)`, which bundlers take for the name of an asset.
      const helper = `const ${placeholder}=path=>{const here=import.meta.url;return here&&new URL(${JSON.stringify(up)}+path,here).href};`;
      return afterHashbang(code, helper);
    },
  };
}

/** The expressions `import.meta.url` of a module, and not what strings and comments say of them. */
function ownUrlReads(code: string): readonly AnyNode[] {
  const found: AnyNode[] = [];
  const visit = (node: AnyNode): void => {
    if (node.type === 'MemberExpression' && node.object.type === 'MetaProperty') found.push(node);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }));
  return found;
}

const registry = 'globalThis[Symbol.for("tostatic.code")]';

/** Adds the statements by which a published file tells where it is (`runtime/errors/own-code.ts`). */
export function ownEdges(compiled: string): Plugin {
  const sources = join(compiled, 'src/');
  return {
    name: 'own-edges',
    renderChunk(code, { moduleIds }) {
      const part = moduleIds.some((id) => id.startsWith(sources)) ? 'runner' : 'runtime';
      const edge = (name: string) => `function ${name}(){return new Error}`;
      const first = `${edge('__tostaticFirst')}(${registry}??=[]).push({part:"${part}",at:__tostaticFirst()});`;
      const last = `${registry}.push({part:null,at:__tostaticLast()});${edge('__tostaticLast')}`;
      return `${afterHashbang(code, first)}\n${last}\n`;
    },
  };
}

function afterHashbang(code: string, statement: string): string {
  const end = code.startsWith('#!') ? code.indexOf('\n') + 1 : 0;
  return `${code.slice(0, end)}${statement}\n${code.slice(end)}`;
}
