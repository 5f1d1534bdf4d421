import { relative } from 'node:path';
import type { AnyNode } from 'acorn';
import MagicString from 'magic-string';
import type { Plugin } from 'rolldown';
import { childrenOf } from '../src/vm/syntax/children.ts';
import { parse } from '../src/vm/syntax/parse.ts';

/**
 * Modules whose constants have no other effects. Any other effect of loading is a statement there, not an
 * initializer. Methods of tensors exist because they are on the prototype, whether or not something refers to them.
 */
const declarative =
  /^runtime\/(?!tensor-methods\/)|^src\/(?:deferred|dispatch\/(?:capture-targets|cold-calls)|options|programs)\b/;

/**
 * Marks the initializers of such modules as pure, so that bundlers drop the constants that a page doesn't use: the
 * record of an op, with its gradients and its kernel.
 */
export function pureInitializers(compiled: string): Plugin {
  return {
    name: 'pure-initializers',
    transform(code, id) {
      if (!declarative.test(relative(compiled, id))) return null;
      const text = new MagicString(code);
      const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module' });
      for (const init of body.flatMap(initializersOf)) {
        const found = effectsOf(init);
        if (found.length === 0) continue;
        text.appendLeft(init.start, '/* @__PURE__ */ ');
        if (found.length === 1 && found[0] === init && isCall(init)) continue;
        // A mark applies to one call, not to calls in its arguments, or to spreads of other objects.
        text.appendLeft(init.start, '(() => (').appendRight(init.end, '))()');
      }
      return { code: text.toString(), map: text.generateMap({ hires: true }) };
    },
  };
}

/** The initializers of the constants in a top-level statement. */
function initializersOf(statement: AnyNode): readonly AnyNode[] {
  const exported = statement.type === 'ExportNamedDeclaration' ? statement.declaration : null;
  const declaration = exported ?? statement;
  if (declaration.type !== 'VariableDeclaration') return [];
  return declaration.declarations.flatMap(({ init }) => init ?? []);
}

const isCall = ({ type }: AnyNode): boolean =>
  type === 'CallExpression' || type === 'NewExpression';

/** Nodes of an initializer that a bundler takes for effects of loading. */
function effectsOf(node: AnyNode): readonly AnyNode[] {
  // A body runs only when it is called.
  if (/Function|Class/.test(node.type)) return [];
  const within = childrenOf(node).flatMap(effectsOf);
  return isCall(node) || node.type === 'SpreadElement' ? [node, ...within] : within;
}
