/** `tostatic/deferred`: calls before the compiler is loaded run eagerly; nothing else differs. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as compiler from '../../src/deferred/compiler.ts';
import { deferredToStatic } from '../../src/deferred/deferred-to-static.ts';
import { type Compiler, LateCompiler } from '../../src/deferred/late-compiler.ts';
import {
  ArgumentError,
  breakGraph,
  CaptureError,
  FullGraphError,
  nn,
  save,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic as toStaticAtOnce,
} from '../../src/index.ts';
import { expectSameAsEager } from '../trace/same-as-eager.ts';
import { trainingWorld } from './training-world.ts';

/** Downloads, each of which waits until the test answers it. */
let downloads: { arrive: () => void; fail: (error: Error) => void }[] = [];
let late: LateCompiler;
let toStatic: ReturnType<typeof deferredToStatic>;

beforeEach(() => {
  downloads = [];
  late = new LateCompiler(
    () =>
      new Promise<Compiler>((resolve, fail) => {
        downloads.push({ arrive: () => resolve(compiler), fail });
      }),
  );
  toStatic = deferredToStatic(late);
});
afterEach(() => vi.restoreAllMocks());

const twice = (x: Tensor) => x.mul(2).sum();

async function arrive(): Promise<void> {
  downloads.at(-1)!.arrive();
  await late.load();
}

describe('as eager, whenever the compiler arrives', () => {
  it.each([0, 1, 3, 99])('before call %d: training with random numbers', (arrival) => {
    const { stats } = expectSameAsEager(() => trainingWorld(2), {
      wrap: toStatic,
      calls: 5,
      around: (body, call) => {
        if (call === arrival) late.now = compiler;
        seed(call);
        return body();
      },
    });
    const early = Math.min(arrival, 5);
    expect(stats.calls).toBe(5);
    expect(stats.coldCalls ?? 0).toBe(early);
    expect(stats.translations > 0).toBe(early < 5);
  });

  it('while generators and async functions are under way', async () => {
    const log: string[] = [];
    const parts = toStatic(function* (x: Tensor) {
      for (const factor of [2, 3]) {
        log.push(`times ${factor}`);
        yield x.mul(factor).itemSync();
      }
    });
    const later = toStatic(async (x: Tensor) => {
      log.push('before');
      await late.load();
      log.push('after');
      return x.add(1);
    });
    const begun = parts(tensor(1));
    const result = later(tensor(1));
    expect(begun.next().value).toBe(2);
    await arrive();
    expect([...begun, ...parts(tensor(1))]).toEqual([3, 2, 3]);
    expect((await result).itemSync()).toBe(2);
    expect((await later(tensor(1))).itemSync()).toBe(2);
    expect([parts, later].map((f) => f.stats().coldCalls)).toEqual([1, 1]);
    const times = ['times 2', 'times 3'];
    expect(log).toEqual(['before', 'times 2', 'after', 'times 3', ...times, 'before', 'after']);
  });
});

it('the compiler is requested by the first call, once, and by ready()', async () => {
  const [f, g] = [toStatic(twice), toStatic(twice)];
  expect(downloads).toHaveLength(0);
  const x = tensor([1, 2]);
  f(x);
  f(x);
  expect(downloads).toHaveLength(1);
  const isReady = g.ready();
  expect(downloads).toHaveLength(1);
  await arrive();
  await isReady;
  f(x);
  g(x);
  expect(f.stats()).toMatchObject({ calls: 3, coldCalls: 2, translations: 1, graphs: 1 });
  expect(g.stats()).toMatchObject({ calls: 1, translations: 1 });
  expect(g.stats().coldCalls).toBeUndefined();
});

it("with compile: 'hot' it is not requested before compiling pays", async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 600;
    return now;
  });
  const f = toStatic(twice, { compile: 'hot' });
  const x = tensor([1, 2]);
  f(x);
  expect(downloads).toHaveLength(0);
  f(x);
  expect(downloads).toHaveLength(1);
  await arrive();
  f(x);
  expect(f.stats()).toMatchObject({ calls: 3, coldCalls: 2, translations: 1 });
});

it('tells before the compiler is there what it will tell afterwards', async () => {
  expect(() => toStatic(twice, { fallbacks: 'error' } as object)).toThrow(ArgumentError);
  expect(() => toStatic(twice, { memory: { budget: -1 } })).toThrow(ArgumentError);
  expect(() => toStatic(class {} as never)).toThrow(ArgumentError);
  expect(() => toStatic(3 as never)).toThrow(ArgumentError);
  const f = toStatic(twice, { inputSpec: [tensorSpec([2])] });
  expect(() => f(tensor([1, 2, 3]))).toThrow('argument 0');
  expect(f.programs()).toEqual([]);
  await f.checked();
  expect(f.explain()).toContain('the compiler is not loaded yet');
  f(tensor([1, 2]));
  await expect(save(f)).rejects.toThrow('await ready()');
  await arrive();
  f(tensor([1, 2]));
  expect(() => f(tensor([1, 2, 3]))).toThrow('argument 0');
  expect(f.programs()).toHaveLength(1);
  expect(f.explain()).toContain('1 call before it was compiled');
  expect((await save(f)).length).toBeGreaterThan(0);
});

it('what cannot be compiled is told when it would be', async () => {
  const broken = toStatic(
    (x: Tensor) => {
      breakGraph();
      return x.neg();
    },
    { fullGraph: true },
  );
  const noPass = toStatic(twice, { passes: { none: false } as object });
  expect(broken(tensor(1)).itemSync()).toBe(-1);
  noPass(tensor([1]));
  await arrive();
  expect(() => broken(tensor(1))).toThrow(FullGraphError);
  expect(() => noPass(tensor([1]))).toThrow(ArgumentError);
});

it.each([
  { memory: { budget: 1e6 }, fallback: 'error' },
  { memory: { budget: 1e6 }, fullGraph: true },
  { memory: { budget: 1e6 }, fallback: 'error', compile: 'hot' },
] as const)('no call misses a budget that must be kept: %o', async (options) => {
  const f = toStatic(twice, options);
  expect(() => f(tensor([1, 2]))).toThrow(CaptureError);
  expect(downloads).toHaveLength(1);
  await arrive();
  expect(f(tensor([1, 2])).itemSync()).toBe(6);
  expect(f.stats()).toMatchObject({ calls: 2, translations: 1 });
  expect(f.stats().coldCalls).toBeUndefined();
  const atOnce = toStaticAtOnce(twice, options);
  atOnce(tensor([1, 2]));
  expect(atOnce.stats().translations).toBe(1);
});

it('a compiler that cannot be loaded is told once, counted, and requested again by ready()', async () => {
  const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const f = toStatic(twice);
  const strict = toStatic(twice, { fallback: 'error' });
  const x = tensor([1, 2]);
  expect([f(x), strict(x)].map((y) => y.itemSync())).toEqual([6, 6]);
  downloads[0]!.fail(new TypeError('offline'));
  await expect(late.load()).rejects.toThrow('offline');
  expect(f(x).itemSync()).toBe(6);
  expect(() => strict(x)).toThrow('offline');
  expect(f.stats().fallbacks).toHaveLength(1);
  expect(f.explain()).toContain('offline');
  expect(downloads).toHaveLength(1);
  expect(warnings).toHaveBeenCalledTimes(1);
  const isReady = toStatic.ready();
  expect(downloads).toHaveLength(2);
  await arrive();
  await isReady;
  f(x);
  expect(f.stats()).toMatchObject({ calls: 3, coldCalls: 2, translations: 1 });
});

it.each<[name: string, request: () => unknown]>([
  ['f()', () => toStatic(twice)(tensor([1]))],
  ['f.ready()', () => toStatic(twice).ready()],
  ['toStatic.ready()', () => toStatic.ready()],
  ['toStatic.warmup(f)', () => toStatic.warmup(toStatic(twice), tensor([1]))],
])('whatever has requested it, a failure is warned about: %s', async (name, request) => {
  const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const requested = Promise.resolve(request()).catch(() => {});
  downloads[0]!.fail(new TypeError(`offline: ${name}`));
  await requested;
  await new Promise((settled) => setTimeout(settled));
  expect(warnings.mock.calls.flat().join()).toContain(`offline: ${name}`);
});

it('takes modules and methods, and becomes part of other graphs', async () => {
  class Scale extends nn.Module {
    readonly inner = toStatic((x: Tensor) => x.mul(2));
    override forward(x: Tensor): Tensor {
      return this.inner(x).add(1);
    }
    halve(x: Tensor): Tensor {
      return x.div(2);
    }
  }
  const { prototype } = Scale;
  const method = Object.getOwnPropertyDescriptor(prototype, 'halve')!;
  Object.defineProperty(prototype, 'halve', toStatic(prototype, 'halve', method));
  const scale = toStatic(new Scale());
  const results = () =>
    [scale.forward(tensor([1])), scale.halve(tensor([1]))].map((y) => y.itemSync());
  expect(results()).toEqual([3, 0.5]);
  const warm = toStatic.warmup(scale, tensor([1]));
  await arrive();
  await warm;
  expect(scale.stats()).toMatchObject({ calls: 1, graphs: 1, ops: 2 });
  expect(results()).toEqual([3, 0.5]);
  expect(scale.stats()).toMatchObject({ calls: 2, translations: 1, breaks: [] });
  // Also by the compiler of another entry, before this one is loaded.
  const other = deferredToStatic(new LateCompiler(() => new Promise(() => {})))(twice);
  const outer = toStaticAtOnce((x: Tensor) => other(x).add(1));
  expect(outer(tensor([1, 2])).itemSync()).toBe(7);
  expect(outer.stats()).toMatchObject({ graphs: 1, breaks: [] });
});
