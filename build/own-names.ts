import { relative } from 'node:path';
import MagicString from 'magic-string';
import type { Plugin } from 'rolldown';
import { parse } from '../src/vm/syntax/parse.ts';

/** Modules with classes whose names errors, summaries and printed models contain. */
const named = /^runtime\/(?:nn|optim|data|distributions|tensor)\//;

/** Gives exported classes their names as text, which minifiers keep: `Linear` would be `e` in a page's errors. */
export function ownNames(compiled: string): Plugin {
  return {
    name: 'own-names',
    transform(code, id) {
      if (!named.test(relative(compiled, id))) return null;
      const text = new MagicString(code);
      const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
      for (const statement of body) {
        if (statement.type !== 'ExportNamedDeclaration') continue;
        const { declaration } = statement;
        if (declaration?.type !== 'ClassDeclaration') continue;
        const name = JSON.stringify(declaration.id.name);
        text.appendLeft(declaration.body.start + 1, `static name=${name};`);
      }
      return text.hasChanged()
        ? { code: text.toString(), map: text.generateMap({ hires: true }) }
        : null;
    },
  };
}
