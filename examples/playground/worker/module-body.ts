/** Rewrites a module's imports and exports, so that its text can be the body of a function. */

import type { ExportNamedDeclaration, Identifier, ImportDeclaration } from 'acorn';
import MagicString from 'magic-string';
import * as tostatic from '../../../src/index.ts';
import { type Place, parsed, placeOf, TextError } from './text-places.ts';

export interface ModuleBody {
  /** The text without imports and `export`; offsets are unchanged. */
  readonly text: string;
  /** The imported values by name. */
  readonly imported: Readonly<Record<string, unknown>>;
  readonly exported: readonly string[];
}

/** Throws TextError, at the `original` position, for text that can't be parsed or linked. */
export function moduleBody(script: string, original: (at: Place) => Place): ModuleBody {
  const program = parsed(script, 'module', original);
  const mistake: Mistake = (offset, message) =>
    new TextError(message, original(placeOf(script, offset)));
  const edited = new MagicString(script);
  const blank = (start: number, end: number) => {
    if (end > start) edited.overwrite(start, end, script.slice(start, end).replace(/[^\n]/g, ' '));
  };
  const imported: Record<string, unknown> = {};
  const exported: string[] = [];
  for (const node of program.body) {
    switch (node.type) {
      case 'ImportDeclaration':
        Object.assign(imported, linked(node, mistake));
        blank(node.start, node.end);
        break;
      case 'ExportNamedDeclaration':
        if (node.source) throw mistake(node.start, 'exports name what stands in this text');
        exported.push(...namesOf(node));
        blank(node.start, node.declaration?.start ?? node.end);
        break;
      case 'ExportDefaultDeclaration':
      case 'ExportAllDeclaration':
        throw mistake(node.start, 'export by name: export function step(…) { … }');
    }
  }
  return { text: edited.toString(), imported, exported };
}

type Mistake = (offset: number, message: string) => TextError;

function namesOf({ declaration, specifiers }: ExportNamedDeclaration): string[] {
  if (!declaration) return specifiers.map(({ local }) => (local as Identifier).name);
  if (declaration.type !== 'VariableDeclaration') return [declaration.id.name];
  return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
}

function linked({ source, specifiers, start }: ImportDeclaration, mistake: Mistake): object {
  if (source.value !== 'tostatic') {
    throw mistake(start, `'tostatic' is the only module that can be imported here`);
  }
  return Object.fromEntries(
    specifiers.map((each) => [each.local.name, importedValue(each, mistake)]),
  );
}

function importedValue(
  specifier: ImportDeclaration['specifiers'][number],
  mistake: Mistake,
): unknown {
  const { type, start } = specifier;
  if (type === 'ImportNamespaceSpecifier') return tostatic;
  if (type === 'ImportDefaultSpecifier') throw mistake(start, `'tostatic' has no default export`);
  const { name } = specifier.imported as Identifier;
  if (!Object.hasOwn(tostatic, name)) throw mistake(start, `'tostatic' exports no '${name}'`);
  return (tostatic as Readonly<Record<string, unknown>>)[name];
}
