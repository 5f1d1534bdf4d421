/** Which types the declarations of a package mention without exporting them. */

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** A declaration, by where it stands. */
interface Declared {
  readonly file: string;
  readonly name: string;
}

type Exported = Declared | { readonly namespace: string };

const kinds = '(?:abstract )?(?:function|const|class|interface|type)';

const keyOf = ({ file, name }: Declared): string => `${file}#${name}`;

/** The parts of `{ a, type B as C }`. */
const partsOf = (list: string): [original: string, local: string][] =>
  list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [original = '', local = original] = part.split(' as ');
      return [original, local];
    });

class Declarations {
  readonly #texts = new Map<string, string>();
  readonly #exports = new Map<string, Map<string, Exported>>();

  /** Without comments. */
  #text(file: string): string {
    const known = this.#texts.get(file);
    if (known !== undefined) return known;
    const text = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    this.#texts.set(file, text);
    return text;
  }

  #target(from: string, specifier: string): string {
    return resolve(dirname(from), specifier.replace(/\.js$/, '.d.ts'));
  }

  #imports(file: string): Map<string, Declared> {
    const lines = this.#text(file).matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']*)'/g);
    return new Map(
      Array.from(lines).flatMap(([, list, specifier]) =>
        partsOf(list!).map(([name, local]) => [
          local,
          { file: this.#target(file, specifier!), name },
        ]),
      ),
    );
  }

  exportsOf(file: string): ReadonlyMap<string, Exported> {
    const known = this.#exports.get(file);
    if (known) return known;
    const found = new Map<string, Exported>();
    this.#exports.set(file, found);
    const text = this.#text(file);
    const own = new RegExp(`^export (?:declare )?${kinds}\\*? (\\w+)`, 'gm');
    for (const [, name] of text.matchAll(own)) found.set(name!, { file, name: name! });
    const lists = /export (?:type )?\{([^}]*)\}(?: from '(\.[^']*)')?/g;
    for (const [, list, specifier] of text.matchAll(lists)) {
      for (const [name, local] of partsOf(list!)) {
        const from = specifier ? this.#target(file, specifier) : null;
        const origin = from ? this.exportsOf(from).get(name) : this.#resolve(file, name);
        if (origin) found.set(local, origin);
      }
    }
    for (const [, name, specifier] of text.matchAll(/export \*(?: as (\w+))? from '(\.[^']*)'/g)) {
      const from = this.#target(file, specifier!);
      if (name) found.set(name, { namespace: from });
      else for (const [each, origin] of this.exportsOf(from)) found.set(each, origin);
    }
    return found;
  }

  /** What a name means in a file; only names that the file imports, or exports itself. */
  #resolve(file: string, name: string): Exported | undefined {
    const imported = this.#imports(file).get(name);
    if (imported) return this.exportsOf(imported.file).get(imported.name);
    return new RegExp(`^export (?:declare )?${kinds} ${name}\\b`, 'm').test(this.#text(file))
      ? { file, name }
      : undefined;
  }

  /** Exported types that the declaration mentions. */
  *mentioned({ file, name }: Declared): Generator<Declared> {
    const text = this.#text(file);
    const starts = new RegExp(`^(?:export )?(?:declare )?${kinds} ${name}\\b`, 'gm');
    for (const { index } of text.matchAll(starts)) {
      const rest = text.slice(index);
      const end = rest.slice(1).search(/^(?:export|declare|interface|type|import)\b/m);
      const body = (end < 0 ? rest : rest.slice(0, end)).replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''");
      for (const [, id] of body.matchAll(/(?<![.\w$#])([A-Z]\w*)\b(?!\s*\??:)/g)) {
        const meant = this.#resolve(file, id!);
        if (meant && 'name' in meant) yield meant;
      }
    }
  }
}

/** Types that declarations of the entry points mention, and that no entry point exports: `file#name`. */
export function unexported(
  dist: string,
  entries: readonly string[],
  opaque: ReadonlySet<string>,
): string[] {
  const declarations = new Declarations();
  const open: Declared[] = [];
  const seen = new Set<string>();
  const publish = (file: string): void => {
    for (const origin of declarations.exportsOf(file).values()) {
      if ('namespace' in origin) publish(origin.namespace);
      else if (!seen.has(keyOf(origin))) {
        seen.add(keyOf(origin));
        open.push(origin);
      }
    }
  };
  for (const entry of entries) publish(join(dist, entry));
  const missing = new Set<string>();
  for (const declared of open) {
    if (opaque.has(declared.name)) continue;
    for (const type of declarations.mentioned(declared)) {
      if (!seen.has(keyOf(type)) && !opaque.has(type.name)) missing.add(keyOf(type));
    }
  }
  return Array.from(missing, (key) => key.slice(dist.length + 1)).sort();
}
