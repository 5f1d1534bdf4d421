/** What relies on more than another process has is not left to it, for a reason that `stats()` tells. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  breakGraph,
  customFunction,
  ones,
  relu,
  type Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../src/node/index.ts';
import { describeValues } from '../trace/snapshot.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

type Make = () => (x: Tensor) => unknown;

const doubled = customFunction({
  forward: (_context, x: Tensor) => x.mul(2),
  backward: (_context, gradient: Tensor) => gradient.mul(2),
});

const cases: Readonly<Record<string, readonly [why: RegExp, make: Make, ToStaticOptions?]>> = {
  'gradient rules of its own': [/gradient rules/, () => (x) => doubled(x)],
  'a function among its results': [/makes a function/, () => (x) => ({ y: x.mul(2), f: () => x })],
  'a function made before a break': [
    /function that captured code has made/,
    () => (x) => {
      const scale = (y: Tensor) => y.mul(2).add(x);
      breakGraph();
      return scale(x);
    },
  ],
  'a bound function': [
    /whose code is not known/,
    () => {
      const bound = ((by: number, x: Tensor) => x.mul(by)).bind(null, 3);
      return (x) => bound(x);
    },
  ],
  'a branch of the program': [
    /branch, a loop or a check/,
    () => (x) => (x.sum().itemSync() > 0 ? relu(x) : x.mul(3)),
    { fullGraph: true },
  ],
  'a typed array among its results': [
    /makes a typed array/,
    () => (x) => [x.mul(2), new Float32Array([1, 2])],
  ],
  'a symbol of its own': [
    /symbol of its own/,
    () => {
      const key = Symbol('weight');
      const held = { [key]: ones([2]) };
      return (x) => x.mul(held[key]!);
    },
  ],
};

describe('process-cache/refused', () => {
  it.each(Object.entries(cases))('%s', (_name, [why, make, options = {}]) => {
    const x = ones([2, 2]);
    const expected = describeValues([make()(x)]);
    for (const _process of [1, 2]) {
      const captured = toStatic(make(), { strict: true, ...options });
      expect(describeValues([captured(x)])).toEqual(expected);
      const { translations, unkeptTraces } = captured.stats();
      expect(translations).toBeGreaterThan(0);
      expect(unkeptTraces?.join()).toMatch(why);
    }
  });

  it('without the variable nothing is written, and nothing is said', () => {
    vi.stubEnv('TOSTATIC_CACHE', '');
    const captured = toStatic((x: Tensor) => x.mul(2));
    captured(ones([2]));
    expect(captured.stats()).not.toHaveProperty('unkeptTraces');
    expect(captured.stats()).not.toHaveProperty('knownTraces');
    expect(readdirSync(folder)).toEqual([]);
  });
});
