import { readFileSync } from 'node:fs';
import { type GeneratedMapping, originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { loadInstrumented } from '../../src/plugin/node-load.ts';
import { isIncluded, type PluginOptions } from '../../src/plugin/options.ts';
import { transform } from '../../src/plugin/transform.ts';

/** The module with short names, without what every module gets at its beginning and end. */
function shown(code: string): string {
  const done = transform(code, '/home/you/app/model.js', { root: '/home/you/app' });
  if (!done) return 'unchanged';
  return done.code
    .replace(/import\{probe as __tostatic\}from"tostatic\/probe";/, 'IMPORT;')
    .replace(/\nfunction __tostaticSource\(\)\{.*\n$/, '')
    .replaceAll('__tostatic.$tostatic', 'ON')
    .replaceAll('__tostatic.hit(__tostaticSource,', 'HIT(')
    .replace(/^IMPORT;(?=\S)/, '');
}

describe('a probe stands at the entry of', () => {
  test.each([
    ['function f() {}', 'function f() {if(ON)return HIT(0);}'],
    ['const f = (x) => x;', 'const f = (x) => ON?HIT(10):x;'],
    ['const f = () => ({ a: 1 });', 'const f = () => (ON?HIT(10):{ a: 1 });'],
    ['const f = () => (1, 2);', 'const f = () => (ON?HIT(10):(1, 2));'],
    [
      'const c = 1; async () => await c;',
      'const c = 1; async () => ON?HIT(13,()=>({get c(){return c}})):await c;',
    ],
    ['let v; () => v++;', 'let v; () => ON?HIT(7,()=>({get v(){return v},set v($){v=$}})):v++;'],
    [
      'let v; () => () => [v];',
      'let v; () => ON?HIT(7,()=>({get v(){return v}})):() => ON?HIT(13,()=>({get v(){return v}})):[v];',
    ],
    ['({ m() {}, get g() {}, *y() {} });', /m\(\) \{if\(ON\).*get g\(\) \{if\(ON\).*\*y\(\) \{if/],
    ['(class { static s = () => this });', /=> ON\?HIT\(20,\(\)=>\(\{\}\),\(\)=>this\):this/],
    ['() => this;', '() => ON?HIT(0,()=>({}),()=>this):this;'],
    [
      'class A extends B { m() { super.m() } }',
      'class A extends B { m() {if(ON)return HIT(21,()=>({get A(){return A}})); super.m() } }',
    ],
    [
      'export default function () { "use strict" }',
      'export default function () { "use strict";if(ON)return HIT(15); }',
    ],
    [
      '(a, { b = c } = {}) => a;',
      /^\(a, \{ b = c \} = \{\}\) => ON\?HIT\(0,.*get c\(\)\{return c\}/,
    ],
    ['() => Math.max(document);', /\(\)=>\(\{get document\(\)\{return document\}\}\)/],
  ])('%s', (code, expected) => {
    if (typeof expected === 'string') expect(shown(code)).toBe(expected);
    else expect(shown(code)).toMatch(expected);
  });
});

describe('no probe', () => {
  test.each([
    ['where a key of a parameter would run something', '({ [f()]: a }) => a;'],
    ['where the body hides an outer name', 'let x; (a = x) => { let x };'],
    ['in a base class that initialises fields', 'class A { x = 1; constructor() {} }'],
    ['where there is no function', 'export const a = 1;'],
    [
      'in a file whose first comment excludes it',
      '// tostatic: exclude\n\nexport const f = () => 1;',
    ],
    ['in an excluded function', '/* tostatic: exclude */ export const f = () => () => 1;'],
    ['in an excluded class', '// tostatic: exclude\nexport class A { m() {} get g() {} }'],
    ['in an excluded method', 'class A {\n  // tostatic: exclude\n  static async m() {}\n}'],
    [
      'in a function with the comment in it',
      'function f() {\n  // tostatic: exclude\n  return 1;\n}',
    ],
  ])('%s', (_name, code) => {
    expect(shown(code)).toBe('unchanged');
  });

  test('an exclusion reaches no further than its function', () => {
    const code = '// tostatic: exclude\nfunction a() {}\nfunction b() {}';
    expect(shown(code)).toContain('function a() {}\nfunction b() {if');
  });
});

describe('a module keeps', () => {
  test('its hashbang, directives and order of imports', () => {
    const code =
      "#!/usr/bin/env node\n'use client'\nimport 'a';\nimport 'b';\nexport const f = () => 1;";
    expect(shown(code).split('\n').slice(0, 4)).toEqual([
      '#!/usr/bin/env node',
      "'use client';IMPORT;",
      "import 'a';",
      "import 'b';",
    ]);
  });

  test('its probes, when it is transformed twice', () => {
    const once = transform('export const f = () => 1;', '/a.js')?.code ?? '';
    expect(transform(once, '/a.js')).toBeUndefined();
  });

  test('its names: the added ones are new', () => {
    const { code } = transform(
      'const __tostatic = 1; export const f = () => __tostatic;',
      '/a.js',
    )!;
    expect(code).toContain('import{probe as __tostatic1}');
  });

  test('its text, with the map to the user file', () => {
    const text = 'export const f = () => "</script>\\u2028";\n';
    const { code } = transform(`${text}//# sourceMappingURL=a.js.map`, '/app/a.js', {
      root: '/app',
    })!;
    const embedded = /function __tostaticSource\(\)\{return(.*)\}\n$/.exec(code)?.[1] ?? '';
    expect(JSON.parse(embedded)).toEqual({ file: 'a.js', text: { code: text } });
  });
});

describe('a compiler that drops comments', () => {
  const compile = (text: string) => {
    const { code, map } = transformSync(text, {
      loader: 'ts',
      sourcemap: 'external',
      sourcefile: 'a.ts',
      minifyWhitespace: true,
    });
    expect(code).not.toContain('exclude');
    return transform(code, '/app/a.ts', {}, map)?.code ?? 'unchanged';
  };

  test('drops no exclusion of a function', () => {
    const code = compile(`
      export function a(x: number) { return x }

      // tostatic: exclude
      // It is called by the page.
      export const b = (x: number) => () => x;
      export class C { m() { return 1 } /* tostatic: exclude */ n() { return 2 } }
      export function d() { return 4 }
      export function e() {
        // tostatic: exclude
        return 5;
      }`);
    expect(code).toContain('function e(){return 5}');
    expect(code).toMatch(/function a\(x\)\{if\(/);
    expect(code).toContain('b=x=>()=>x');
    expect(code).toMatch(/function d\(\)\{if\(/);
  });

  test('drops no exclusion of a file', () => {
    expect(compile('// tostatic: exclude\nimport { x } from "x";\nexport const f = () => x;')).toBe(
      'unchanged',
    );
  });
});

test('the parser says where a module is not JavaScript', () => {
  expect(() => transform('const a: number = 1;', '/a.ts')).toThrow(SyntaxError);
});

test('docs/plugin.md shows what a module becomes', () => {
  const docs = readFileSync(new URL('../../docs/plugin.md', import.meta.url), 'utf8');
  const [before, after] = [...docs.matchAll(/```js\n(let scale.*?|import\{.*?)```/gs)];
  const done = transform(before?.[1] ?? '', '/app/f.js', { root: '/app' })?.code ?? '';
  const lines = (after?.[1] ?? '').split('\n');
  expect(done.split('\n').slice(0, 2)).toEqual(lines.slice(0, 2));
  const [start] = (lines[2] ?? '').split('…');
  expect(done.split('\n').find((line) => line.startsWith('function __tostaticS'))).toContain(start);
});

describe('source maps', () => {
  const typed = `interface Gone {
  x: number;
}
export function model(x: Gone, y?: number): number {
  const scaled: number = x.x * 2; return other(scaled) + (y ?? 0);
}
const other = (z: number): number => z + 1;
`;
  const place = (text: string, word: string): GeneratedMapping => {
    const before = text.slice(0, text.indexOf(word)).split('\n');
    return { line: before.length, column: before.at(-1)!.length } as GeneratedMapping;
  };
  const compiled = transformSync(typed, {
    loader: 'ts',
    sourcemap: 'external',
    sourcefile: '/app/model.ts',
  });
  const done = transform(compiled.code, '/app/model.ts', {}, compiled.map)!;

  test('chained, they lead to what the user wrote', () => {
    const map = new TraceMap(done.map.toString());
    for (const word of ['function model', 'x.x * 2', 'other(scaled)', 'z + 1']) {
      const found = originalPositionFor(map, place(done.code, word));
      const { line } = place(typed, word);
      expect([word, found.source, found.line]).toEqual([word, '/app/model.ts', line]);
    }
    expect(done.map.sourcesContent).toEqual([typed]);
  });

  test('of the step alone, they lead to what came in', () => {
    const map = new TraceMap(done.step.toString());
    for (const word of ['function model', 'const scaled', 'other(scaled)', '?? 0']) {
      const { line, column } = place(compiled.code, word);
      const found = originalPositionFor(map, place(done.code, word));
      expect([word, found.line, found.column]).toEqual([word, line, column]);
    }
  });
});

describe('which modules', () => {
  test.each<[string, PluginOptions, boolean]>([
    ['/app/model.ts', {}, true],
    ['/app/model.ts?v=1', {}, true],
    ['/app/c#/why?/model.ts?v=1#top', {}, true],
    ['/app/part.vue?vue&type=script&lang.ts', {}, false],
    ['/app/view.css', {}, false],
    ['/app/node_modules/x/a.js', {}, false],
    ['/app/a.vue', { include: /\.(?:vue|js)$/ }, true],
    ['/app/test/a.ts', { exclude: ['/test/', /node_modules/] }, false],
    ['/app/node_modules/x/a.js', { exclude: [] }, true],
    [new URL('../../src/index.ts', import.meta.url).pathname, {}, false],
  ])('%s with %o: %s', (id, options, expected) => {
    expect(isIncluded(id, options)).toBe(expected);
  });

  test('none that a bundler made up', () => {
    expect(isIncluded('\0virtual.js', {})).toBe(false);
  });
});

describe("what a hook of Node's kind gives", () => {
  const [url, source] = ['file:///app/a.js', "import { x } from 'y';\nexport const f = () => x;"];
  const loaded = (format: string | undefined, text = source, from = url) => {
    const { source, format: given } = loadInstrumented(from, { format, source: text });
    return [String(source).includes('.hit('), given];
  };

  test('has probes if it is an ES module', () => {
    expect(loaded('module')).toEqual([true, 'module']);
    expect(loaded('commonjs')).toEqual([false, 'commonjs']);
  });

  test('is told from CommonJS by its text, where the host (Deno) names no format', () => {
    expect(loaded(undefined)).toEqual([true, 'module']);
    const text = "const { x } = require('y');\nexports.f = () => x;\nimport('z');";
    expect(loaded(undefined, text)).toEqual([false, undefined]);
    expect(loaded(undefined, source, 'file:///app/node_modules/x/a.js')[0]).toBe(false);
  });
});
