import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { transformSync } from 'esbuild';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSourceMap } from '../../runtime/errors/source-map.ts';

const url = 'https://example.org/assets/index.js.map';

test('leads from every column of minified code to where another reader of maps leads', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/).map((text) => `$${text}`);
  const line = fc
    .tuple(name, name, fc.nat())
    .map(([a, b, n]) => `export const ${a} = (${b}: number) => {\n  return ${b} * ${n};\n};`);
  const program = fc.array(line, { minLength: 1, maxLength: 12 });
  let found = 0;
  const property = fc.property(program, fc.boolean(), (statements, minify) => {
    const unique = [...new Map(statements.map((each) => [each.split(' ')[2], each])).values()];
    const { code, map } = transformSync(unique.join('\n\n'), {
      loader: 'ts',
      minify,
      sourcemap: 'external',
      sourcefile: '../src/model.ts',
    });
    const { originalOf } = readSourceMap(map, url);
    const expected = new TraceMap(map, url);
    for (const [row, text] of code.split('\n').entries()) {
      for (let column = 0; column < text.length; column++) {
        const other = originalPositionFor(expected, { line: row + 1, column });
        const place = originalOf(row + 1, column + 1);
        if (other.source === null) expect(place).toBeUndefined();
        else {
          found++;
          expect(place).toEqual({
            file: 'https://example.org/src/model.ts',
            line: other.line,
            column: other.column + 1,
          });
        }
      }
    }
  });
  fc.assert(property, { numRuns: 40 });
  expect(found).toBeGreaterThan(1000);
});

test('has nothing for code that has no original', () => {
  const json = JSON.stringify({ version: 3, sources: ['a.ts', null], mappings: 'AAAA,C,CCAA;' });
  const { originalOf } = readSourceMap(json, url);
  expect(originalOf(1, 1)).toEqual({ file: 'https://example.org/assets/a.ts', line: 1, column: 1 });
  expect(originalOf(1, 2)).toBeUndefined();
  expect(originalOf(1, 3)).toBeUndefined();
  expect(originalOf(3, 1)).toBeUndefined();
});

test('throws for what is no JSON', () => {
  expect(() => readSourceMap('<!doctype html>', url)).toThrow(SyntaxError);
});

test('keeps the names of final sources, and has their texts', () => {
  const sources = ['a.ts', '/b c.ts', 'webpack:///./c.ts', null];
  const json = JSON.stringify({ version: 3, sources, sourcesContent: ['A'], mappings: '' });
  const { files, contents } = readSourceMap(json, '');
  expect(files).toEqual(['a.ts', '/b c.ts', 'webpack:///./c.ts', undefined]);
  expect(contents).toEqual(['A']);
});

test('finds the place in a file of one long line', () => {
  const mappings = Array.from({ length: 5000 }, () => 'CAAC').join(',');
  const { originalOf } = readSourceMap(JSON.stringify({ sources: ['a.ts'], mappings }), '');
  expect(originalOf(1, 1)).toBeUndefined();
  for (const column of [2, 3, 1999, 5001, 9999]) {
    const until = Math.min(column - 1, 5000);
    expect(originalOf(1, column)).toEqual({ file: 'a.ts', line: 1, column: until + 1 });
  }
});
