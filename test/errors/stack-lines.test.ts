import { describe, expect, test } from 'vitest';
import { ownerInStackLine, positionInStackLine } from '../../runtime/errors/stack-lines.ts';

const page = 'https://example.org/assets/index-BZt5.js';

/** Lines as the engines write them; null where a line names no place of a user's file. */
const lines: Readonly<Record<string, readonly (readonly [string, string | null])[]>> = {
  'Chromium and Node': [
    [`    at forward (${page}:1:20417)`, `${page}:1:20417`],
    [`    at ${page}:12:3`, `${page}:12:3`],
    [`    at async ${page}:12:3`, `${page}:12:3`],
    [`    at async Object.go (${page}:1:2)`, `${page}:1:2`],
    [`    at new Linear (${page}?v=1f2e:10:5)`, `${page}?v=1f2e:10:5`],
    [
      `    at Object.f [as g] (http://localhost:5173/@fs/home/me/a.ts:7:9)`,
      'http://localhost:5173/@fs/home/me/a.ts:7:9',
    ],
    ['    at f (file:///home/me/my%20app/a.mjs:7:9)', 'file:///home/me/my%20app/a.mjs:7:9'],
    ['    at /home/me/My (old) app/a.cjs:7:9', '/home/me/My (old) app/a.cjs:7:9'],
    ['    at f (/home/me/My (old) app/a.cjs:7:9)', '/home/me/My (old) app/a.cjs:7:9'],
    ['    at f (C:\\me\\a.js:7:9)', 'C:\\me\\a.js:7:9'],
    ['    at f (webpack-internal:///./src/a.js:7:9)', 'webpack-internal:///./src/a.js:7:9'],
    ['    at f (chrome-extension://abcdef/a.js:7:9)', 'chrome-extension://abcdef/a.js:7:9'],
    [`    at eval (eval at f (${page}:3:1), <anonymous>:1:7)`, null],
    ['    at Array.map (<anonymous>)', null],
    ['    at async Promise.all (index 0)', null],
    ['    at Module.run (node:internal/modules/esm/module_job:325:25)', null],
    ['    at wasm://wasm/0a1b:wasm-function[3]:0x1f', null],
    ['    at (3 frames of tostatic)', null],
    ['Error: f at g: 1:2', null],
  ],
  Firefox: [
    [`forward@${page}:1:20417`, `${page}:1:20417`],
    [`@${page}:12:3`, `${page}:12:3`],
    [`async*go@${page}:1:2`, `${page}:1:2`],
    [`Linear/this.f<@${page}:10:5`, `${page}:10:5`],
    ['f@http://localhost:5173/@fs/home/me/a.ts:7:9', 'http://localhost:5173/@fs/home/me/a.ts:7:9'],
    ['f@file:///home/me/a.mjs:7:9', 'file:///home/me/a.mjs:7:9'],
    [`eval@${page} line 3 > eval:1:7`, null],
    [`anonymous@${page} line 3 > Function:1:7`, null],
    ['f@moz-extension://abcdef/a.js:7:9', 'moz-extension://abcdef/a.js:7:9'],
    [`f@${page}:wasm-function[3]:0x1f`, null],
    ['self-hosted:1:2', null],
  ],
  Safari: [
    [`forward@${page}:1:20417`, `${page}:1:20417`],
    [`module code@${page}:12:3`, `${page}:12:3`],
    [`global code@${page}:1:2`, `${page}:1:2`],
    [`@${page}:12:3`, `${page}:12:3`],
    ['map@[native code]', null],
    ['[native code]', null],
    ['eval code@', null],
    ['asyncFunctionResume@[native code]', null],
    ['wasm-stub@[wasm code]', null],
  ],
};

describe('a place in a stack', () => {
  for (const [engine, table] of Object.entries(lines)) {
    describe(engine, () => {
      test.each(table)('%s', (line, expected) => {
        const place = positionInStackLine(line);
        expect(place ? `${place.file}:${place.line}:${place.column}` : null).toBe(expected);
      });
    });
  }

  test.each([
    [`    at eval (eval at f (${page}:3:14), <anonymous>:1:7)`, `${page}:3`],
    [
      `    at eval (eval at f (eval at g (${page}:3:14), <anonymous>:2:2), <anonymous>:1:7)`,
      `${page}:3`,
    ],
    [`anonymous@${page} line 3 > Function:1:7`, `${page}:3`],
    [`forward@${page}:3:2`, `${page}:3`],
  ])('of evaluated code belongs to what evaluates it: %s', (line, expected) => {
    const owner = ownerInStackLine(line);
    expect(`${owner?.file}:${owner?.line}`).toBe(expected);
  });
});
