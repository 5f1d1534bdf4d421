import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { instrument } from '../../plugin/load-module.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

declare const outerFlag: unknown;

let calls = 0;
let last: Tensor | null = null;

const bumpCalls = () => {
  calls += 1;
};

describe('variables around a function', () => {
  it('are assigned after the graph, and counting makes no further entry', () => {
    const observed = expectSameAsEager(
      () => {
        calls = 0;
        last = null;
        return {
          fn: (x: Tensor) => {
            calls++;
            last = x.mul(2);
            return last.add(1);
          },
          args: (call) => [values([3], call)],
        };
      },
      { calls: 12 },
    );
    expect([observed.breaks, observed.graphs, observed.translations.at(-1)]).toEqual([0, 1, 1]);
    expect(calls).toBe(24); // twelve times eagerly, twelve times captured
    expect(last).not.toBeNull();
  });

  it('written by one function are seen by another', () => {
    const seen = expectSameAsEager(() => {
      let scale = 2;
      const read = () => scale;
      const write = (value: number) => {
        scale = value;
      };
      return {
        fn: (x: Tensor) => {
          const before = read();
          write(before + 1);
          scale += 10;
          return x.mul(before).add(x.mul(read()));
        },
        args: () => [values([2])],
        state: () => scale,
      };
    });
    expect(seen.breaks).toBe(0);
  });

  it('of closures of one place are told apart', () => {
    const make = () => {
      let n = 0;
      return { bump: () => ++n, read: () => n };
    };
    const seen = expectSameAsEager(() => {
      const [a, b] = [make(), make()];
      return {
        fn: (x: Tensor) => {
          a.bump();
          b.bump();
          a.bump();
          return [x.mul(a.read()), x.mul(b.read())];
        },
        args: () => [values([2])],
        state: () => [a.read(), b.read()],
      };
    });
    expect(seen.breaks).toBe(0);
  });

  it('are read again behind a break', () => {
    expectSameAsEager(() => {
      let n = 1;
      const native = [() => n];
      return {
        fn: (x: Tensor) => {
          n = 5;
          const seen = Reflect.apply(native[0]!, undefined, []);
          n = seen + 1;
          return x.mul(n);
        },
        args: () => [values([2])],
        state: () => n,
      };
    });
  });

  it('throw where they can not be assigned', () => {
    expectSameAsEager(() => {
      const fixed = 1 as number;
      const assign = () => {
        // @ts-expect-error: that it is refused is the point
        // biome-ignore lint/correctness/noConstAssign: likewise
        fixed = 2;
      };
      const early = (x: Tensor) => {
        late = x.mul(fixed);
        return late;
      };
      const world = {
        fn: (x: Tensor) => {
          try {
            assign();
          } catch (error) {
            return [(error as Error).message, early(x)];
          }
          return null;
        },
        args: () => [values([2])],
      };
      let late: Tensor;
      return world;
    });
    bumpCalls();
  });
});

describe('variables of other modules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-modules-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  // The test runner rewrites `import()` wherever it sees it.
  writeFileSync(join(folder, 'import.cjs'), 'module.exports = (url) => import(url);');
  const load = createRequire(join(folder, 'import.cjs'))('./import.cjs') as (
    url: string,
  ) => Promise<Record<string, (...args: unknown[]) => unknown>>;

  const shared = `export let scale = 2;
    export let act = (x) => x.mul(3);
    export const setScale = (value) => { scale = value };
    export const setAct = (value) => { act = value };`;
  const user = `import { scale as s, act, setScale, setAct } from './shared.mjs';
    import * as all from './shared.mjs';
    export const read = (x) => act(x.mul(s));
    export const assign = (x) => { setScale(s + 1); return x.mul(s).add(all.scale) };
    export const change = (value, fn) => { setScale(value); if (fn) setAct(fn) };`;

  for (const marked of [false, true]) {
    it(`follow their assignments ${marked ? 'through markers' : 'through the inspector'}`, async () => {
      const home = mkdtempSync(join(folder, 'case-'));
      for (const [name, text] of Object.entries({ shared, user })) {
        const file = join(home, `${name}.mjs`);
        writeFileSync(file, marked ? instrument(text, file) : text);
      }
      const module = await load(pathToFileURL(join(home, 'user.mjs')).href);
      const x = tensor([1, 2]);
      const numbers = (result: unknown) => [...(result as Tensor).dataSync()];
      const read = toStatic(module['read']!);
      expect(numbers(read(x))).toEqual([6, 12]);
      module['change']!(5, undefined);
      expect(numbers(read(x))).toEqual([15, 30]);
      module['change']!(5, (y: Tensor) => y.neg());
      expect(numbers(read(x))).toEqual([-5, -10]);
      const assign = toStatic(module['assign']!);
      expect(numbers(assign(x))).toEqual([12, 18]);
      expect(numbers(assign(x))).toEqual([14, 21]);
      expect(numbers(module['assign']!(x))).toEqual([16, 24]);
      expect(assign.stats()).toMatchObject({ fallbacks: [], breaks: {} });
    });

    it(`are what namespaces show after an assignment ${marked ? 'through markers' : 'through the inspector'}`, async () => {
      const home = mkdtempSync(join(folder, 'case-'));
      const through = `export { scale as rate } from './shared.mjs'; export let other = 7;
        export const setOther = (value) => { other = value };`;
      const reader = `import { setScale } from './shared.mjs';
        import * as through from './through.mjs';
        let own = 1;
        export const step = (x) => {
          let local = 0;
          const count = () => { local++; own++; };
          const before = through.rate;
          count();
          if (x.sum().itemSync() > 3) setScale(through.rate + 1);
          return x.mul(through.rate).add(before).sub(through.other).add(own + local);
        };`;
      for (const [name, text] of Object.entries({ shared, through, reader })) {
        const file = join(home, `${name}.mjs`);
        writeFileSync(file, marked ? instrument(text, file) : text);
      }
      let loads = 0;
      const run = async (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor) => {
        const url = `${pathToFileURL(join(home, 'reader.mjs')).href}?${loads++}`;
        const { step } = await load(url);
        const other = await load(pathToFileURL(join(home, 'shared.mjs')).href);
        other['setScale']!(2);
        const fn = wrap(step as (x: Tensor) => Tensor);
        return [
          [1, 2],
          [3, 4],
          [0, 1],
          [5, 6],
        ].map((x) => [...fn(tensor(x)).dataSync()]);
      };
      const eagerly = await run((fn) => fn);
      expect(await run((fn) => toStatic(fn))).toEqual(eagerly);
      expect(await run((fn) => toStatic(fn, { fullGraph: true }))).toEqual(eagerly);
    });
  }
});

describe('a name that is a property of the global object, written by the property', () => {
  const page = globalThis as typeof globalThis & Record<string, unknown>;

  const forms: Record<string, (x: Tensor, call: number) => unknown> = {
    'is read': (_x, call) => {
      page.outerFlag = call;
      return outerFlag;
    },
    'is read by another function, after Object.assign': (_x, call) => {
      const read = () => outerFlag;
      Object.assign(page, { outerFlag: call * 2 });
      return read();
    },
    'is called': (x, call) => {
      page.outerFlag = (t: Tensor) => t.mul(call);
      return (outerFlag as (t: Tensor) => Tensor)(x);
    },
    'has another type': () => {
      page.outerFlag = 'text';
      return typeof outerFlag;
    },
    'has no type once it is deleted': () => {
      delete page.outerFlag;
      return typeof outerFlag;
    },
    'is missing once it is deleted': () => {
      delete page.outerFlag;
      try {
        return outerFlag;
      } catch (error) {
        return (error as Error).name;
      }
    },
  };
  for (const [name, form] of Object.entries(forms)) {
    for (const exists of [true, false]) {
      it(`${name}, where it ${exists ? 'existed' : "didn't exist"} before`, () => {
        const set = () => {
          if (exists) page.outerFlag = 0;
          else delete page.outerFlag;
        };
        try {
          expectSameAsEager(() => ({
            fn: (x: Tensor, call: number) => [x.add(1), form(x, call)],
            args: (call) => {
              set();
              return [values([2], call), call];
            },
            state: () => typeof page.outerFlag,
          }));
        } finally {
          delete page.outerFlag;
        }
      });
    }
  }
});
