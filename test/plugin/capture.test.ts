import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type AnyFunction,
  type CapturedFunction,
  captureFunction,
  isRefusal,
  printRefusal,
  withCaptureSession,
} from '../../src/1-capture/capture.ts';
import { isLowerRefusal, lowerFunction } from '../../src/2-lower/lower.ts';
import { printCode } from '../../src/vm/bytecode/print.ts';
import { captured, refused } from '../capture/captured.ts';
import { instrument, type Loaded, loadModule, withoutInspector } from './load-module.ts';
import { programs } from './programs.ts';

afterEach(() => void vi.restoreAllMocks());

/** Everything that two captures of one function have in common, as text. */
function describeCapture({ fn, syntax, source, scope, ...rest }: CapturedFunction) {
  const { node } = syntax();
  const { kind, strict, freeNames, thisValue, homeObject } = rest;
  const code = lowerFunction(node, source, kind, strict, fn.name);
  return {
    text: source.text.slice(node.start, node.end),
    bytecode: isLowerRefusal(code) ? code.reason : printCode(code).replace(/ *#.*$/gm, ''),
    kind,
    strict,
    names: freeNames.map((name) => [name, scope.isConstant(name), scope.has(name)]),
    values: freeNames.map((name) => typeof scope.get(name)),
    hasThis: thisValue && typeof thisValue.value,
    hasHome: homeObject !== undefined,
  };
}

const functionsOf = (module: Loaded): [string, AnyFunction][] =>
  Object.entries(module).filter((entry): entry is [string, AnyFunction] => {
    return typeof entry[1] === 'function';
  });

describe('through the marker as through the inspector', () => {
  for (const [name, code] of Object.entries(programs)) {
    test(name, async () => {
      const plain = await loadModule(code);
      const expected = functionsOf(plain).map(([key, fn]) => [key, describeCapture(captured(fn))]);
      const probed = await loadModule(instrument(code));
      withoutInspector();
      const found = functionsOf(probed).map(([key, fn]) => [key, describeCapture(captured(fn))]);
      expect(found).toEqual(expected);
      expect(found.length).toBeGreaterThan(0);
    });
  }
});

test('through the marker as through the inspector: every method of a parser', async () => {
  const code = readFileSync(fileURLToPath(import.meta.resolve('acorn')), 'utf8');
  const methodsOf = ({ Parser }: Loaded): AnyFunction[] =>
    Object.values((Parser as { prototype: object }).prototype).filter(
      (value): value is AnyFunction => typeof value === 'function',
    );
  const plain = methodsOf(await loadModule(code));
  const expected = withCaptureSession(() => plain.map((fn) => describeCapture(captured(fn))));
  const probed = methodsOf(await loadModule(instrument(code)));
  withoutInspector();
  expect(probed.map((fn) => describeCapture(captured(fn)))).toEqual(expected);
  expect(probed.length).toBeGreaterThan(150);
});

async function marked(code: string): Promise<Record<string, AnyFunction>> {
  const module = await loadModule(instrument(code));
  withoutInspector();
  return Object.fromEntries(functionsOf(module));
}

describe('the scope behind a marker', () => {
  test('is live, in both directions', async () => {
    const { f, read, bump } = await marked(`
      let x = 1; export const f = () => x++, read = () => x, bump = () => { x = 10 };`);
    const { scope } = captured(f!);
    const reader = scope.reader('x');
    bump!();
    expect([scope.get('x'), reader()]).toEqual([10, 10]);
    scope.set('x', 42);
    expect([read!(), reader(), scope.isConstant('x')]).toEqual([42, 42, false]);
    expect(() => scope.set('nowhere', 1)).toThrow(ReferenceError);
  });

  test('throws what the code would throw before an initialisation', async () => {
    const { f, make } = await marked(`
      export function make(capture) {
        const f = () => late;
        const before = capture(f);
        const late = 3;
        return before;
      }
      export const f = () => make;`);
    captured(f!);
    const tried: unknown[] = [];
    const { scope } = make!((inner: AnyFunction) => {
      const capture = captured(inner);
      try {
        capture.scope.get('late');
      } catch (error) {
        tried.push(error, capture.scope.isConstant('late'), capture.scope.has('late'));
      }
      return capture;
    }) as CapturedFunction;
    const message = "Cannot access 'late' before initialization";
    expect(tried).toEqual([new ReferenceError(message), false, true]);
    expect([scope.get('late'), scope.isConstant('late')]).toEqual([3, true]);
  });

  test('constants can not be written', async () => {
    const { f } = await marked('const c = 1; export const f = () => c;');
    expect(() => captured(f!).scope.set('c', 2)).toThrow(TypeError);
  });

  test('closures of one place share the node and not the scope', async () => {
    const { make } = await marked('export const make = (v) => () => v;');
    const [one, two] = [captured(make!(1)), captured(make!(2))];
    expect(one.syntax().node).toBe(two.syntax().node);
    expect(one.source).toBe(two.source);
    expect([one.scope.get('v'), two.scope.get('v')]).toEqual([1, 2]);
  });

  test('globals that only some places have', async () => {
    const { f } = await marked('export const f = () => [process, nowhere];');
    const { scope } = captured(f!);
    expect(scope.get('process')).toBe(process);
    expect(scope.has('nowhere')).toBe(false);
    expect(() => scope.get('nowhere')).toThrow(new ReferenceError('nowhere is not defined'));
  });
});

test('private names, with the rights of the function', async () => {
  const { read, make } = await marked(`
    class Secret {
      #value = 1;
      #twice() { return this.#value * 2 }
      get #half() { return this.#value / 2 }
      read() { class Inner { #own = 1; m(o) { return o.#own } } return [this.#value, this.#twice(), this.#half] }
    }
    export const make = () => new Secret();
    export const read = Secret.prototype.read;`);
  const secret = make!() as object;
  const { privateName } = captured(read!);
  const [value, twice, half] = ['value', 'twice', 'half'].map((name) => privateName!(name));
  value!.set(secret, 8);
  expect([value!.get(secret), value!.has(secret), value!.has({})]).toEqual([8, true, false]);
  expect((twice!.get(secret) as () => number).call(secret)).toBe(16);
  expect(half!.get(secret)).toBe(4);
  expect(() => value!.get({})).toThrow(TypeError);
  expect(() => twice!.set(secret, 1)).toThrow(TypeError);
  expect(() => privateName!('own')).toThrow(SyntaxError);
});

describe('nothing of a function runs', () => {
  test('with awkward parameters', async () => {
    const module = await loadModule(
      instrument(`
      let n = 0; const e = () => { n++ };
      export const all = [
        function (a = e(), { b = e(), ...c }, [d = e(), [f] = [e()], ...g]) { n++ },
        (...[a = e(), { b = e() } = {}]) => n++, async (a = e()) => { n++ }, async () => n++,
        function* (a = e()) { n++ }, async function* (a = e()) { n++ },
        { m(a = e()) { n++ } }.m, class { constructor(a = e()) { n++ } },
        class extends (class { constructor() { n++ } }) { f = n++; constructor(a = e()) { n++; super() } },
        class extends (class {}) { f; constructor() { super(n++) } },
        () => () => n++,
      ];
      export const count = () => n;`),
    );
    withoutInspector();
    for (const fn of module['all'] as AnyFunction[]) captured(fn);
    expect((module['count'] as () => number)()).toBe(0);
  });

  test('when a marker stands further inside', () => {
    let ran = 0;
    const p = { $tostatic: false, hit: () => ({}) };
    const inside = () => {
      ran++;
      if (p.$tostatic) return p.hit();
      return ran;
    };
    withoutInspector();
    expect(refused(inside).reason).toBe('no-scope');
    expect(ran).toBe(0);
  });
});

test('refusals name the variables, the plugin and the option', async () => {
  const { f } = await loadModule(`const a = 1, b = 2; export const f = () => a + b;`);
  withoutInspector();
  const refusal = captureFunction(f as AnyFunction);
  if (!isRefusal(refusal)) throw new Error('captured');
  expect(refusal).toMatchObject({ reason: 'no-scope', names: ['a', 'b'] });
  const text = printRefusal(refusal);
  for (const part of ['a, b', "'tostatic/plugin'", 'scope: {']) expect(text).toContain(part);
});

test('an explicit scope comes before the marker, and its source is the original', async () => {
  const { f } = await marked('let x = 1; export const f = (y) => x + y;');
  const { scope, source, syntax } = captured(f!, { scope: { x: 7 } });
  const { node } = syntax();
  expect(scope.get('x')).toBe(7);
  expect(source.text.slice(node.start, node.end)).toBe('(y) => x + y');
});

test('code that another step puts before the probe is named, not the missing plugin', async () => {
  const probed = instrument('let scale = 2;\nexport const f = (x) => { return x * scale };');
  const counted = probed.replace('=> {', '=> { globalThis.met++;');
  expect(counted).not.toBe(probed);
  const { f } = await loadModule(counted);
  withoutInspector();
  const text = printRefusal(refused(f as AnyFunction));
  expect(text).toMatch(/code before the probe/);
  expect(text).not.toMatch(/Add `tostatic/);
});
