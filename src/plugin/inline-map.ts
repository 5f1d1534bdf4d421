import type { PrintableSourceMap } from './source-map.ts';

/** Returns the comment that contains a file's source map. */
export function inlineMap(map: PrintableSourceMap): string {
  const base64 = Buffer.from(map.toString()).toString('base64');
  return `\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,${base64}\n`;
}
