import { readFile } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { captureRefusals, printRefusal } from '../../src/1-capture/capture.ts';
import { withoutInspector } from '../plugin/load-module.ts';
import { captured, refused } from './captured.ts';

let outer = 1;
const bump = () => outer++;

describe('refused are', () => {
  test('native functions', () => {
    for (const fn of [Math.max, Array.prototype.map, Map, readFile, Array]) {
      expect(refused(fn).reason).toBe('native');
    }
  });

  test('proxies', () => {
    expect(refused(new Proxy(() => outer, {})).reason).toBe('proxy');
    expect(refused(new Proxy(() => outer, {}), { scope: {} }).reason).toBe('proxy');
  });

  test('printed with explanation and remedy', () => {
    const text = printRefusal(refused(Math.max));
    expect(text).toContain('max');
    expect(text).toContain(captureRefusals.native.explanation);
    expect(text).toContain(captureRefusals.native.remedy);
  });
});

describe('the scope option', () => {
  test('gives the outer variables, live and written back', () => {
    const scope: Record<string, unknown> = { outer: 10 };
    const result = captured((x: number) => x + outer, { scope });
    expect(result.scope.get('outer')).toBe(10);
    scope['outer'] = 11;
    expect(result.scope.reader('outer')()).toBe(11);
    result.scope.set('outer', 12);
    expect(scope['outer']).toBe(12);
    expect(outer).toBe(1);
    expect(result.scope.isConstant('outer')).toBe(false);
    expect(result.scope.get('Math')).toBe(Math);
  });

  test('must name every outer variable', () => {
    const f = () => [outer, bump];
    expect(refused(f, { scope: { outer: 1 } })).toMatchObject({
      reason: 'no-scope',
      names: ['bump'],
    });
  });

  test('reads methods, accessors, classes and generators back from their print', () => {
    class A {
      static s(x = outer) {
        return x;
      }
      get g() {
        return outer;
      }
      async *['computed']() {
        yield outer;
      }
      constructor() {
        bump();
      }
    }
    const o = { m: () => outer, async n() {}, *gen() {} };
    const scope = { outer, bump };
    const getter = Object.getOwnPropertyDescriptor(A.prototype, 'g')?.get as () => unknown;
    expect(captured(A.s, { scope }).kind).toBe('method');
    expect(captured(getter, { scope }).kind).toBe('method');
    expect(captured(A.prototype.computed, { scope }).syntax().node.generator).toBe(true);
    expect(captured(A, { scope })).toMatchObject({ kind: 'constructor', strict: true });
    expect(captured(o.n, { scope }).syntax().node.async).toBe(true);
    expect(captured(o.gen, { scope }).kind).toBe('method');
    expect(captured(o.m, { scope }).kind).toBe('arrow');
  });

  test('cannot look into bound or native functions', () => {
    expect(refused(bump.bind(null), { scope: {} }).reason).toBe('bound');
    expect(refused(Math.max, { scope: {} }).reason).toBe('native');
  });
});

describe('without the inspector', () => {
  afterEach(() => void vi.restoreAllMocks());
  test('functions of standard globals and `this` are captured', () => {
    withoutInspector();
    function f(this: { k: number }, x: number) {
      return Math.sqrt(x) * this.k;
    }
    const { scope, syntax, source } = captured(f);
    const { node } = syntax();
    expect(scope.get('Math')).toBe(Math);
    expect(source.text.slice(node.start, node.end)).toBe(f.toString());
  });

  test('others are refused with the missing names', () => {
    withoutInspector();
    expect(refused(() => outer)).toMatchObject({ reason: 'no-scope', names: ['outer'] });
    // A page has a global `name`, but here it is far more likely a variable of the user.
    expect(refused(() => [typeof process, Math]).names).toEqual(['process']);
  });

  test('arrows that use `this` are refused', () => {
    withoutInspector();
    class A {
      arrow = () => this;
    }
    expect(refused(new A().arrow)).toMatchObject({ reason: 'no-scope', names: ['this'] });
  });
});
