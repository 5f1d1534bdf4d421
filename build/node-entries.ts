import type { Plugin } from 'rolldown';
import { between, chunkNamed } from './divided-exports.ts';

/**
 * Writes entries for Node, in the folder `node`: each loads a chunk for its side effects, then exports what the entry
 * of the same path exports.
 */
export const nodeEntries = (first: string, entries: readonly string[]): Plugin => ({
  name: 'node-entries',
  generateBundle(_, bundle) {
    for (const entry of entries) {
      const fileName = `node/${entry}.js`;
      const loads = `import "${between(fileName, chunkNamed(bundle, first).fileName)}";\n`;
      const source = `${loads}export * from "${between(fileName, `${entry}.js`)}";\n`;
      this.emitFile({ type: 'asset', fileName, source });
    }
  },
});
