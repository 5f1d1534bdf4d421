import { describe, expect, it } from 'vitest';
import { Dispatch } from '../../src/guards/dispatch.ts';
import { type Guard, GuardSet } from '../../src/guards/guard.ts';
import { randn, type Tensor, toStatic } from '../../src/index.ts';
import type { Frame } from '../../src/vm/bytecode/frame.ts';
import { expectSameAsEager, values } from '../trace/same-as-eager.ts';

const argument = { kind: 'argument', frame: 0, index: 0 } as const;
const valueGuard = (value: number): Guard => ({ kind: 'value', source: argument, value });
const framesOf = (...args: unknown[]) => [{ args } as unknown as Frame];
const guarded = (...guards: Guard[]) => ({ guards: new GuardSet(guards) });

describe('guards/dispatch', () => {
  it('one read leaves one of many entries', () => {
    const entries = Array.from({ length: 20 }, (_, i) => guarded(valueGuard(i)));
    const dispatch = new Dispatch(entries);
    for (const i of [0, 7, 19]) expect(dispatch.candidates(framesOf(i))).toEqual([entries[i]]);
    expect(dispatch.candidates(framesOf('7'))).toEqual([]);
  });

  it('sizes of tensors tell entries apart, and what says nothing of the fact is always tried', () => {
    const specs = [2, 3, 4].map((n) => ({
      kind: 'tensor' as const,
      source: argument,
      dtype: 'float32' as const,
      shape: [n, 8],
      strides: null,
      device: randn([1]).device,
      requiresGrad: false,
    }));
    const general = guarded({ kind: 'gradMode', enabled: true });
    const entries = [...specs.map((spec) => guarded(spec)), general];
    const dispatch = new Dispatch(entries);
    expect(dispatch.candidates(framesOf(randn([3, 8])))).toEqual([entries[1], general]);
    expect(dispatch.candidates(framesOf(randn([9, 8])))).toEqual([general]);
    // Reading the size of nothing throws: no entry that relies on it fits.
    expect(dispatch.candidates(framesOf(undefined))).toEqual([general]);
  });

  it('entries that no fact tells apart are all candidates', () => {
    const entries = [guarded(valueGuard(1)), guarded(valueGuard(1))];
    expect(new Dispatch(entries).candidates(framesOf(1))).toEqual(entries);
  });

  it('0 and −0 share a bucket, and the guards tell them apart', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (x: Tensor, n: number) => [x.add(1), `${1 / n}`],
        args: (call) => [values([2]), [0, -0, 1, 0, -0][call]],
      }),
      { calls: 10, dynamic: false },
    );
    expect(stats.fallbacks).toEqual([]);
  });

  it('8 entries in turn are all hits', () => {
    const f = toStatic(
      (x: Tensor, mode: string) => (mode === 'a' ? x.add(1) : x.mul(mode.length)),
      { dynamic: false },
    );
    const modes = ['a', 'b', 'cc', 'ddd', 'e!', 'ffff', 'g', 'h'];
    for (let turn = 0; turn < 3; turn++) for (const mode of modes) f(randn([2]), mode).dispose();
    expect(f.stats()).toMatchObject({ translations: 8, graphRuns: 24, fallbacks: [] });
  });
});
