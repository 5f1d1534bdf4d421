import { fileURLToPath, pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filePath, fileUrl } from '../../runtime/errors/file-name.ts';
import { readSourceMap } from '../../runtime/errors/source-map.ts';
import { positionInStackLine } from '../../runtime/errors/stack-lines.ts';
import { isOwnModule } from '../../src/1-capture/live/own-modules.ts';

/** Names that people and tools give to folders; what URLs treat specially is among them. */
const folder = fc
  .stringMatching(/^[a-zA-Zé0-9 #?%@&+=(),;'~.-]{1,8}$/)
  .filter((name) => !/^\.+$|[ .]$/.test(name));
const folders = fc.array(folder, { minLength: 1, maxLength: 4 });
const posix = folders.map((names) => `/${names.join('/')}/model.ts`);
const windows = fc
  .tuple(
    fc.constantFrom('C:', 'c:'),
    folders.map((names) => names.map((name) => name.replace('?', '!'))),
  )
  .map(([root, names]) => `${root}\\${names.join('\\')}\\model.ts`);

describe.each([
  ['POSIX', posix, false],
  ['Windows', windows, true],
] as const)('a file of %s', (_, paths, isWindows) => {
  const urlOf = (path: string) => pathToFileURL(path, { windows: isWindows }).href;

  test('has the path that Node finds for its URL', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const url = urlOf(path);
        expect(filePath(url)).toBe(fileURLToPath(url, { windows: isWindows }));
        expect(filePath(path)).toBe(path);
      }),
    );
  });

  test('has the URL that Node finds for its path', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const url = new URL(fileUrl(path)).href;
        expect(fileURLToPath(url, { windows: isWindows }).toLowerCase()).toBe(path.toLowerCase());
        expect(fileUrl(url)).toBe(url);
      }),
    );
  });

  test('is found in stacks and in source maps, by path and by URL', () => {
    fc.assert(
      fc.property(paths, (path) => {
        for (const name of [path, urlOf(path)]) {
          expect(positionInStackLine(`    at step (${name}:12:5)`)).toEqual({
            file: name,
            line: 12,
            column: 5,
          });
        }
        for (const source of [path, path.replaceAll('\\', '/'), urlOf(path)]) {
          const json = JSON.stringify({ version: 3, sources: [source], mappings: 'AAAA' });
          const { originalOf } = readSourceMap(json, urlOf('/elsewhere/model.js'));
          const found = filePath(originalOf(1, 1)!.file);
          expect(found.toLowerCase()).toBe(path.toLowerCase());
        }
      }),
    );
  });
});

test.each([
  'https://example.org/a.ts?v=1',
  'webpack:///./src/a.ts',
  'tostatic:src/index.ts',
  '<anonymous>',
  'file:///app/100%/%ff.ts',
])('%s is a name of its own', (name) => expect(filePath(name)).toBe(name));

test.each([
  '<anonymous>',
  'vm:module(0)',
  'C:\\app\\main.js',
  'https://example.org/main.js',
  '/c#/main.js',
])("a relative import of %s is the user's", (importer) => {
  expect(isOwnModule('./model.js', importer)).toBe(false);
  expect(isOwnModule('tostatic/nn', importer)).toBe(true);
});
