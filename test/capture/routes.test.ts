import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync, transformSync } from 'esbuild';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import {
  type AnyFunction,
  captureFunction,
  withCaptureSession,
} from '../../src/1-capture/capture.ts';
import { type FunctionScope, scopeOf, tensor, toStatic } from '../../src/index.ts';
import { instrument, loadModule, withoutInspector } from '../plugin/load-module.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-routes-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

/** What a call would add to is the proof that none was made. */
const forms = `
let ran = 0;
export const count = () => ran;
let outer = 1;
export const bump = () => { outer++ };
export function plain(a = ran++, { b = ran++, ...c } = (ran++, {}), ...d) { ran++; return [outer, a, b, c, d] }
export const arrow = (a = ran++, [b = ran++] = [ran++]) => (ran++, outer + a + b);
export function* generator(a = ran++) { ran++; yield outer + a }
export async function later(a = ran++) { ran++; return outer + a }
export async function* both(a = ran++) { ran++; yield outer + a }
export const expression = function self(a = ran++) { ran++; return [self, outer, a] };
export class Owner {
  #secret = 5;
  constructor(a = ran++) { ran++; this.a = [outer, a] }
  method(a = ran++) { ran++; return outer + this.#secret + a }
  static create(a = ran++) { ran++; return outer + a }
  get value() { ran++; return outer }
  set value(v) { ran++; outer = v }
  static get shared() { ran++; return outer }
  field = () => (ran++, [this, outer]);
}
export class Base { constructor(a = ran++) { ran++; this.a = [outer, a] } }
export class Child extends Owner {
  constructor(a = ran++) { super(a); ran++; outer++ }
  method(a) { ran++; return super.method(a) + outer }
}
export const object = {
  method() { ran++; return outer }, get read() { ran++; return outer }, *each() { ran++; yield outer },
  ['computed' + 1]() { ran++; return outer },
};
export const bound = plain.bind({ self: true }, 1);
export const looped = [];
for (let i = 0; i < 2; i++) looped.push(() => [i, outer, ran++]);
`;

interface Forms {
  count(): number;
  bump(): void;
  [name: string]: unknown;
}

function functionsOf(module: Forms): Record<string, AnyFunction> {
  const { Owner, Base, Child, object, looped } = module as unknown as Record<
    string,
    AnyFunction
  > & {
    object: { method: AnyFunction; each: AnyFunction; computed1: AnyFunction };
    looped: AnyFunction[];
  };
  const accessor = (holder: object, name: string) => Object.getOwnPropertyDescriptor(holder, name)!;
  const names = ['plain', 'arrow', 'generator', 'later', 'both', 'expression'] as const;
  return {
    ...Object.fromEntries(names.map((name) => [name, module[name] as AnyFunction])),
    method: (Owner!.prototype as Record<string, AnyFunction>)['method']!,
    static: (Owner as unknown as Record<string, AnyFunction>)['create']!,
    getter: accessor(Owner!.prototype as object, 'value').get!,
    setter: accessor(Owner!.prototype as object, 'value').set!,
    staticGetter: accessor(Owner!, 'shared').get!,
    base: Base!,
    derived: Child!,
    superMethod: (Child!.prototype as Record<string, AnyFunction>)['method']!,
    objectMethod: object.method,
    objectGetter: accessor(object, 'read').get!,
    objectGenerator: object.each,
    computed: object.computed1,
    perIteration: looped[1]!,
  };
}

/** Captures every form, reads a live variable through each, and finds that nothing ran. */
function checkAll(module: Forms, route: FunctionScope['route'], name = 'outer'): void {
  const before = module.count();
  const functions = Object.entries(functionsOf(module));
  const scopes = withCaptureSession(() => functions.map(([, fn]) => scopeOf(fn)));
  for (const [i, [form]] of functions.entries()) {
    const scope = scopes[i]!;
    if (scope.route === 'co-execution') throw new Error(`${form}: ${scope.why}`);
    expect(scope.route, form).toBe(route);
    const seen = scope.names.includes(name) ? name : undefined;
    if (seen) {
      const value = scope.get(seen) as number;
      module.bump();
      expect(scope.get(seen), form).toBe(value + 1);
      expect(scope.isConstant(seen), form).toBe(false);
    }
    expect(module.count(), `${form} has run`).toBe(before);
  }
}

const asCommonJs = (text: string) => transformSync(text, { format: 'cjs' }).code;

describe('no body, default or pattern runs for a scope', () => {
  test('of an ES module, through the inspector', async () => {
    checkAll((await loadModule(forms)) as unknown as Forms, 'inspector');
  });

  test('of an ES module, through markers', async () => {
    withoutInspector();
    checkAll((await loadModule(instrument(forms))) as unknown as Forms, 'plugin');
  });

  test('of a CommonJS module', () => {
    const file = join(folder, 'forms.cjs');
    writeFileSync(file, asCommonJs(forms));
    checkAll(createRequire(file)(file) as Forms, 'inspector');
  });

  test('of a CommonJS module, through markers', () => {
    const file = join(folder, 'marked-forms.cjs');
    const sloppy = `function sloppy() { return [this === globalThis, outer] }; module.exports.sloppy = sloppy;`;
    writeFileSync(file, instrument(asCommonJs(forms) + sloppy, file));
    withoutInspector();
    const module = createRequire(file)(file) as Forms;
    checkAll(module, 'plugin');
    expect(captureFunction(module['sloppy'] as AnyFunction)).toMatchObject({ strict: false });
  });

  test('of a minified bundle, through the inspector', () => {
    const [source, file] = [join(folder, 'forms.mjs'), join(folder, 'bundle.cjs')];
    writeFileSync(source, forms);
    buildSync({ entryPoints: [source], bundle: true, minify: true, format: 'cjs', outfile: file });
    const module = createRequire(file)(file) as Forms;
    const names = (scopeOf(module['later'] as AnyFunction) as FunctionScope).names;
    // Which of them is `outer` only its value tells, as the names are gone.
    expect(names.length).toBeGreaterThan(0);
    const before = module.count();
    withCaptureSession(() => {
      for (const [form, fn] of Object.entries(functionsOf(module))) {
        expect(scopeOf(fn).route, form).toBe('inspector');
      }
    });
    expect(module.count()).toBe(before);
  });

  test('of a minified bundle with markers', () => {
    const [source, file] = [join(folder, 'marked.mjs'), join(folder, 'marked.cjs')];
    writeFileSync(source, instrument(forms, source).replace('file://', ''));
    buildSync({ entryPoints: [source], bundle: true, minify: true, format: 'cjs', outfile: file });
    withoutInspector();
    checkAll(createRequire(file)(file) as Forms, 'plugin');
  });
});

describe('routes', () => {
  test('the option comes first', () => {
    const y = 2;
    expect(scopeOf((x: number) => x * y, { scope: { y: 3 } })).toMatchObject({ route: 'option' });
  });

  test('a variable that its script never assigns can be assigned through the scope', () => {
    const make = () => {
      // biome-ignore lint/style/useConst: it is assigned through the scope.
      let fixed = 4;
      return { read: () => fixed, again: () => [fixed] };
    };
    const { read, again } = make();
    const [scope, other] = [scopeOf(read), scopeOf(again)] as FunctionScope[];
    expect([scope!.get('fixed'), other!.get('fixed')]).toEqual([4, 4]);
    scope!.set('fixed', 6);
    expect([read(), scope!.get('fixed'), other!.get('fixed')]).toEqual([6, 6, 6]);
  });

  test('a snapshot serves where the entry would run something, if nothing can change', () => {
    const fixed = { key: 'k' };
    class F {
      constructor({ [fixed.key]: a = 1 }: Record<string, number>) {
        Object.assign(this, { a, fixed, Math });
      }
    }
    const scope = scopeOf(F) as FunctionScope;
    expect([scope.route, scope.get('fixed'), scope.isConstant('fixed')]).toEqual([
      'snapshot',
      fixed,
      true,
    ]);
    expect(scope.get('Math')).toBe(Math);
    let changing = 1;
    const g = ({ [fixed.key]: a = 1 }: Record<string, number>) => [a, changing];
    changing++;
    expect(scopeOf(g)).toMatchObject({ route: 'co-execution' });
  });

  test('what never changes is read where text may not be evaluated', () => {
    const api = join(folder, 'capture.mjs');
    if (!existsSync(api)) {
      const entry = join(import.meta.dirname, 'fixtures/with-inspector.ts');
      buildSync({
        entryPoints: [entry],
        bundle: true,
        format: 'esm',
        platform: 'node',
        outfile: api,
      });
    }
    const file = join(folder, 'strict.mjs');
    writeFileSync(
      file,
      `import { scopeOf } from './capture.mjs';
      const fixed = 4; let changing = 1; const bump = () => changing++;
      const one = scopeOf((x) => x * fixed), two = scopeOf((x) => x * changing);
      console.log(JSON.stringify([one.route, one.get('fixed'), two.route, two.names]));`,
    );
    const flags = ['--disallow-code-generation-from-strings', file];
    const printed = execFileSync(process.execPath, flags, { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual(['inspector', 4, 'co-execution', ['changing']]);
  });

  test('globals only, and then nothing: one warning names variables and remedy', () => {
    withoutInspector();
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const [scale, shift] = [tensor([2]), tensor([1])];
    expect(scopeOf((x: number) => Math.sqrt(x)).route).toBe('globals');
    const make = () => (x: typeof scale) => x.mul(scale).add(shift);
    const [f, g] = [toStatic(make()), toStatic(make())];
    for (const fn of [f, f, g]) expect([...fn(tensor([3])).dataSync()]).toEqual([7]);
    expect(warn).toHaveBeenCalledTimes(1);
    const [text] = warn.mock.calls[0] as [string];
    expect(text).toContain("can't be read: scale, shift");
    expect(text).toContain('scope: { scale, shift }');
    expect(text).toContain('tostatic.vite()');
    expect(() => toStatic(make(), { fallback: 'error' })(tensor([3]))).toThrow('scale, shift');
  });

  test('bound functions are looked into by the inspector alone', async () => {
    const { bound, plain } = await loadModule(forms);
    const captured = captureFunction(bound as AnyFunction);
    expect(captured).toMatchObject({ fn: plain, bound: { args: [1] } });
    withoutInspector();
    expect(scopeOf((plain as AnyFunction).bind(null))).toMatchObject({ route: 'co-execution' });
  });
});
