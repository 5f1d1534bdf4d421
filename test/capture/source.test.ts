import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { makeScriptText } from '../../src/1-capture/script/script-text.ts';
import { captured } from './captured.ts';

interface Typed {
  only: string; // types vanish from the compiled text, so its lines differ from this file's
}

const file = fileURLToPath(import.meta.url);
const lines = readFileSync(file, 'utf8').split('\n');
const lineOf = (text: string) => lines.findIndex((line) => line.startsWith(text)) + 1;

function marked(input: Typed): string {
  const here = input.only;
  return here + file;
}

test('source/positions are those of the TypeScript file', () => {
  const { source, syntax } = captured(marked);
  const { node } = syntax();
  expect(source.file).toBe(file);
  const { start } = node.body;
  expect(source.position(start)).toMatchObject({ file, line: lineOf('function marked') });
  const inside = source.text.indexOf('input.only', start);
  expect(source.position(inside)).toEqual({ file, line: lineOf('  const here'), column: 16 });
  expect(source.line(file, lineOf('  const here'))).toBe('  const here = input.only;');
  expect(source.text.slice(node.start, node.end)).toBe(marked.toString());
});

test('source/without a source map positions are those of the text', () => {
  const source = makeScriptText({ text: 'a\r\nbc\u2028d', url: '/no/such/file.js' });
  expect(source.position(4)).toEqual({ file: '/no/such/file.js', line: 2, column: 2 });
  expect(source.position(6)).toMatchObject({ line: 3, column: 1 });
  expect(source.line('/no/such/file.js', 2)).toBe('bc');
  expect(source.line('/no/such/other.js', 2)).toBeUndefined();
  expect(source.offsetAt(1, 1)).toBe(4);
});

test('source/a wrapper before the first line is taken off', () => {
  const text = 'wrap(() => {const a = 1;\nconst b = 2;})';
  const source = makeScriptText({ text, url: 'file:///x.js', startColumn: -12 });
  expect(source.position(text.indexOf('const a'))).toMatchObject({ line: 1, column: 1 });
  expect(source.position(text.indexOf('const b'))).toMatchObject({ line: 2, column: 1 });
  expect(source.offsetAt(0, 0)).toBe(12);
});

test('source/a broken source map is ignored', () => {
  for (const sourceMapURL of ['data:application/json;base64,e30', 'data:x', '%%', 'gone.map']) {
    const source = makeScriptText({ text: 'abc', url: '/a.js', sourceMapURL });
    expect(source.position(1)).toEqual({ file: '/a.js', line: 1, column: 2 });
  }
});
