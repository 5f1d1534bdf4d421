import { posix } from 'node:path';
import { type ExportNamedDeclaration, type ImportDeclaration, parse } from 'acorn';
import type { OutputBundle, OutputChunk, Plugin } from 'rolldown';

/** An entry for pages that has the exports of another one. */
export interface DividedEntry {
  readonly of: string;
  /** Its path without `.js`, which is also that of the folder with its parts. */
  readonly path: string;
  /** The chunk that each of the files loads first, for its side effects. */
  readonly first?: string;
}

/**
 * Writes entries that export all of several files, one for each chunk that has some of the names. A program then
 * refers to the chunks of the names that it imports, and to no other: with an entry that imports all chunks itself,
 * esbuild would load each of them at once of which anything is used later. Node has the undivided entry, as it would
 * read all of these files.
 */
export const dividedExports = (entries: readonly DividedEntry[]): Plugin => ({
  name: 'divided-exports',
  generateBundle(_, bundle) {
    for (const { of, path, first } of entries) {
      const entry = `${path}.js`;
      const chunk = chunkNamed(bundle, of);
      let code = '';
      for (const [from, names] of namesByFile(chunk)) {
        const fileName = `${path}/${chunkOf(bundle, from).name}.js`;
        const loads = first
          ? `import "${between(fileName, chunkNamed(bundle, first).fileName)}";\n`
          : '';
        const source = `${loads}export { ${names.join(', ')} } from "${between(fileName, from)}";\n`;
        this.emitFile({ type: 'asset', fileName, source });
        code += `export * from "${between(entry, fileName)}";\n`;
      }
      this.emitFile({ type: 'asset', fileName: entry, source: code });
    }
  },
});

/** Returns what an entry exports, as `local as exported`, by the file that has it. */
function namesByFile({ fileName, code }: OutputChunk): Map<string, string[]> {
  const imported = new Map<string, readonly [file: string, name: string]>();
  const found = new Map<string, string[]>();
  const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
  for (const statement of body) {
    if (statement.type === 'ImportDeclaration') {
      for (const [local, place] of importsOf(fileName, statement)) imported.set(local, place);
    } else if (statement.type === 'ExportNamedDeclaration' && !statement.declaration) {
      for (const [local, exported] of exportsOf(statement)) {
        const [file, name] = imported.get(local)!;
        const names = found.get(file) ?? [];
        found.set(file, names);
        names.push(name === exported ? name : `${name} as ${exported}`);
      }
    } else throw new Error(`${fileName} has more than imports and exports`);
  }
  return found;
}

function importsOf(fileName: string, { specifiers, source }: ImportDeclaration) {
  const file = posix.join(posix.dirname(fileName), String(source.value));
  return specifiers.map((each) => {
    if (each.type !== 'ImportSpecifier') throw new Error(`${fileName} imports a namespace`);
    return [each.local.name, [file, nameOf(each.imported)]] as const;
  });
}

const exportsOf = ({ specifiers }: ExportNamedDeclaration) =>
  specifiers.map(({ local, exported }) => [nameOf(local), nameOf(exported)] as const);

const nameOf = (node: ExportNamedDeclaration['specifiers'][number]['local']): string =>
  node.type === 'Identifier' ? node.name : String(node.value);

function chunkOf(bundle: OutputBundle, fileName: string): OutputChunk {
  const file = bundle[fileName];
  if (file?.type !== 'chunk') throw new Error(`no chunk ${fileName}`);
  return file;
}

export function chunkNamed(bundle: OutputBundle, name: string): OutputChunk {
  const found = Object.values(bundle).filter((file) => file.type === 'chunk' && file.name === name);
  if (found.length !== 1) throw new Error(`${found.length} chunks named ${name}`);
  return found[0] as OutputChunk;
}

export const between = (from: string, to: string): string => {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
};
