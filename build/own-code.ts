import { join, relative } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import type { AnyNode } from 'acorn';
import { transformSync } from 'esbuild';
import MagicString from 'magic-string';
import type { Plugin } from 'rolldown';
import { publishedScheme } from '../runtime/errors/own-code.ts';
import type { EmbeddedSource, ModuleText } from '../src/1-capture/marked/probe.ts';
import { unpack } from '../src/1-capture/marked/unpack.ts';
import { transform } from '../src/plugin/transform.ts';
import { childrenOf } from '../src/vm/syntax/children.ts';
import { parse } from '../src/vm/syntax/parse.ts';

/** What captures look into (`src/3-trace/state/framework-files.ts`). */
const captured = /^runtime\/(?:nn|optim|functional|control-flow|onnx)\//;

/** What every program contains, with or without the compiler. */
const always = /^runtime\/nn\/module\//;

/** Texts of instrumented modules by file, where these don't carry them. */
export type OwnTexts = Map<string, ModuleText>;

/**
 * Puts the probes of the build plugin into the functions of this package that captures follow, so that they can
 * be captured wherever they are bundled to, and nothing has to look into them. Texts of what every program contains
 * go to `texts`, if given: programs without the compiler need none.
 */
export function ownProbes(
  compiled: string,
  probeFile = 'src/1-capture/marked/probe.js',
  texts?: OwnTexts,
): Plugin {
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
      const made = transform(plain.code, publishedScheme + path, { probe })?.code ?? null;
      return made && texts && always.test(path) ? movedText(made, texts) : made;
    },
  };
}

/** The module without its own text. */
function movedText(code: string, texts: OwnTexts): string {
  const last = /\nfunction (\w+)\(\)\{return(\{.*\})\}\n$/.exec(code);
  if (!last) throw new Error('an instrumented module ends without its text');
  const source = JSON.parse(last[2]!) as EmbeddedSource;
  texts.set(source.file, unpack(source));
  const { file } = source;
  return `${code.slice(0, last.index)}\nfunction ${last[1]}(){return${JSON.stringify({ file })}}\n`;
}

const textsPlaceholder = '__tostatic_texts__';

/** Fills `own-texts.ts` with what `ownProbes` has put into `texts`. */
export function ownTexts(compiled: string, texts: OwnTexts): Plugin {
  const module = join(compiled, 'src/1-capture/marked/own-texts.js');
  return {
    name: 'own-texts',
    transform: (code, id) =>
      id === module ? code.replace("= '';", `= '${textsPlaceholder}';`) : null,
    renderChunk(code) {
      if (!code.includes(textsPlaceholder)) return null;
      // Modules are instrumented in any order; what is published is the same from build to build.
      const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
      const json = JSON.stringify(Object.fromEntries(sorted));
      return code.replace(textsPlaceholder, deflateRawSync(json, { level: 9 }).toString('base64'));
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

/** What a chunk takes of rolldown's own module to make the namespaces of its modules. */
const namespaceMaker = /^import \{ \w+ as __exportAll \} from "[^"]*rolldown-runtime[^"]*";$/m;

const ownMaker = `const __exportAll = (all) => {
	const made = {};
	for (const name in all) Object.defineProperty(made, name, { get: all[name], enumerable: true });
	return Object.defineProperty(made, Symbol.toStringTag, { value: "Module" });
};`;

/**
 * Lets chunks make the namespaces of their modules themselves: esbuild downloads a file that another one imports even
 * where nothing of it is used.
 */
export const ownNamespaces: Plugin = {
  name: 'own-namespaces',
  renderChunk: (code) =>
    namespaceMaker.test(code) ? code.replace(namespaceMaker, () => ownMaker) : null,
};

const registry = 'globalThis[Symbol.for("tostatic.code")]';

/** Adds the statements by which a published file tells where it is (`runtime/errors/own-code.ts`). */
export function ownEdges(compiled: string): Plugin {
  const sources = join(compiled, 'src/');
  const lists = join(compiled, 'runtime/ops/families/');
  return {
    name: 'own-edges',
    renderChunk(code, { moduleIds }) {
      // Lists of ops have no code that a stack could show.
      if (onlyImports.test(code) || moduleIds.every((id) => id.startsWith(lists))) return null;
      const part = moduleIds.some((id) => id.startsWith(sources)) ? 'runner' : 'runtime';
      const edge = (name: string) => `function ${name}(){return new Error}`;
      const first = `${edge('__tostaticFirst')}const __tostaticCode=${registry}??=[];__tostaticCode.push({part:"${part}",at:__tostaticFirst()});`;
      const last = `__tostaticCode.push({part:null,at:__tostaticLast()});${edge('__tostaticLast')}`;
      return `${afterHashbang(code, first)}\n${last}\n`;
    },
  };
}

/** No function of such a file is ever called. */
const onlyImports = /^(?:import "[^"]*";\s*)*$/;

function afterHashbang(code: string, statement: string): string {
  const end = code.startsWith('#!') ? code.indexOf('\n') + 1 : 0;
  return `${code.slice(0, end)}${statement}\n${code.slice(end)}`;
}
