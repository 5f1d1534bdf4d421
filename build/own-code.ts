import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { AnyNode } from 'acorn';
import { transformSync } from 'esbuild';
import MagicString from 'magic-string';
import type { Plugin } from 'rolldown';
import { publishedScheme } from '../runtime/errors/own-code.ts';
import type { EmbeddedSource, ModuleText } from '../src/1-capture/marked/probe.ts';
import type { StoredFunctions } from '../src/1-capture/stored/stored-functions.ts';
import { transform } from '../src/plugin/transform.ts';
import { childrenOf } from '../src/vm/syntax/children.ts';
import { parse } from '../src/vm/syntax/parse.ts';

/** Files that captures trace into (`src/3-trace/state/framework-files.ts`). */
const captured = /^runtime\/(?:nn|optim|functional|distributions|control-flow|onnx)\//;

/** Part of every program that trains layers, with or without the compiler. */
const always =
  /^runtime\/(?:nn\/module\/|nn\/linear\.|optim\/(?:absent-names|momentum|optimizer|optimizer-\w+|penalty|sgd)\.)/;

/** Texts of instrumented modules by file, for modules that don't carry them. */
export type OwnTexts = Map<string, ModuleText>;

/** Functions of instrumented modules in lowered form, by file. */
export type OwnFunctions = Map<string, StoredFunctions>;

/**
 * Inserts the build plugin's probes into the functions of this package that captures trace into, so that they can
 * be captured wherever they are bundled. Texts of the modules that every program contains go to `texts`, if given:
 * programs without the compiler need none. The functions in lowered form go to `functions`.
 */
export function ownProbes(
  compiled: string,
  probeFile = 'src/1-capture/marked/probe.js',
  texts?: OwnTexts,
  functions?: OwnFunctions,
): Plugin {
  return {
    name: 'own-probes',
    transform(code, id) {
      const path = relative(compiled, id);
      if (!captured.test(path)) return null;
      // Users never see positions in these files, so captured code needs no lines.
      const plain = transformSync(code, {
        minifyWhitespace: true,
        legalComments: 'none',
        target: 'es2022',
      });
      const probe = join(compiled, probeFile);
      const file = publishedScheme + path;
      const made = transform(plain.code, file, { probe });
      if (!made) return null;
      functions?.set(file, made.lowered());
      return texts && always.test(path) ? movedText(made.code, texts) : made.code;
    },
  };
}

/** Returns the module without its own text. */
function movedText(code: string, texts: OwnTexts): string {
  const last = /\nfunction (\w+)\(\)\{return(\{.*\})\}\n$/.exec(code);
  if (!last) throw new Error('an instrumented module ends without its text');
  const source = JSON.parse(last[2]!) as EmbeddedSource;
  const { file, text } = source;
  if (!text) throw new Error('an instrumented module lacks its text');
  texts.set(file, text);
  return `${code.slice(0, last.index)}\nfunction ${last[1]}(){return${JSON.stringify({ file })}}\n`;
}

const textsPlaceholder = '__tostatic_texts__';

/** Fills `own-texts.ts` with the texts that `ownProbes` collected. */
export function ownTexts(compiled: string, texts: OwnTexts): Plugin {
  const module = join(compiled, 'src/1-capture/marked/own-texts.js');
  return {
    name: 'own-texts',
    transform: (code, id) => (id === module ? code.replace('({})', textsPlaceholder) : null),
    renderChunk(code) {
      if (!code.includes(textsPlaceholder)) return null;
      // Modules are instrumented in any order, but builds have to be reproducible.
      const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
      const json = JSON.stringify(Object.fromEntries(sorted));
      return code.replace(textsPlaceholder, () => `(${json})`);
    },
  };
}

/** Writes the functions for `src/node/own-functions.ts`. */
export function writeOwnFunctions(functions: OwnFunctions, dist: string): void {
  // Modules are instrumented in any order, but builds have to be reproducible.
  const sorted = [...functions].sort(([a], [b]) => (a < b ? -1 : 1));
  const json = JSON.stringify(Object.fromEntries(sorted));
  writeFileSync(join(dist, 'src/node/own-functions.json'), json);
}

const placeholder = '__tostatic_url__';

/**
 * Keeps `import.meta.url` relative to the other files as in the sources, wherever bundling moves a module: files
 * that are loaded by URL keep their names.
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
      // Bundlers look for an asset at `new URL('…', import.meta.url)`, Turbopack also at one through a variable.
      const helper = `const ${placeholder}=(path,here=import.meta.url)=>here&&new URL(${JSON.stringify(up)}+path,here).href;`;
      return afterHashbang(code, helper);
    },
  };
}

/** The expressions `import.meta.url` of a module, excluding strings and comments. */
function ownUrlReads(code: string): readonly AnyNode[] {
  const found: AnyNode[] = [];
  const visit = (node: AnyNode): void => {
    if (node.type === 'MemberExpression' && node.object.type === 'MetaProperty') found.push(node);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }));
  return found;
}

/** The import from rolldown's own module that creates namespaces. */
const namespaceMaker = /^import \{ \w+ as __exportAll \} from "[^"]*rolldown-runtime[^"]*";$/m;

/** Own names only: a page may have extended Object.prototype. */
const ownMaker = `const __exportAll = (all) => {
	const made = {};
	for (const name of Object.keys(all)) Object.defineProperty(made, name, { get: all[name], enumerable: true });
	return Object.defineProperty(made, Symbol.toStringTag, { value: "Module" });
};`;

/**
 * Makes chunks create the namespaces of their modules themselves: esbuild downloads a file that another one imports
 * even if none of it is used.
 */
export const ownNamespaces: Plugin = {
  name: 'own-namespaces',
  renderChunk: (code) =>
    namespaceMaker.test(code) ? code.replace(namespaceMaker, () => ownMaker) : null,
};

const registry = 'globalThis[Symbol.for("tostatic.code")]';

/** Adds the statements by which a published file registers its location (`runtime/errors/own-code.ts`). */
export function ownEdges(compiled: string): Plugin {
  const sources = join(compiled, 'src/');
  const lists = join(compiled, 'runtime/ops/families/');
  return {
    name: 'own-edges',
    renderChunk(code, { moduleIds }) {
      // Lists of ops have no code that could occur in a stack.
      if (onlyImports.test(code) || moduleIds.every((id) => id.startsWith(lists))) return null;
      const part = moduleIds.some((id) => id.startsWith(sources)) ? 'runner' : 'runtime';
      // An array, since the frame of a call that is returned is missing in stacks of JavaScriptCore.
      const edge = (name: string) => `function ${name}(){return[new Error]}`;
      const ends = '__tostaticFirst,__tostaticLast';
      // Twice: values that occur once may be moved into the statement by a minifier.
      const first = `${edge('__tostaticFirst')}const __tostaticCode=${registry}??=[];__tostaticCode.push(["${part}",new Error,${ends},${ends}]);`;
      const last = `__tostaticCode.push([null,new Error]);${edge('__tostaticLast')}`;
      return `${afterHashbang(code, first)}\n${last}\n`;
    },
  };
}

/** Matches files without functions. */
const onlyImports = /^(?:import "[^"]*";\s*)*$/;

function afterHashbang(code: string, statement: string): string {
  const end = code.startsWith('#!') ? code.indexOf('\n') + 1 : 0;
  return `${code.slice(0, end)}${statement}\n${code.slice(end)}`;
}
