/** A check that fails after a write in place: nothing of the run stays, and the copies it takes are predicted. */

import { describe, expect, it, vi } from 'vitest';
import { predictedPeak } from '../../src/explain/predicted-peak.ts';
import {
  type LoadedProgram,
  loadProgram,
  memory,
  save,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { measure } from '../run-program/memory-counter.ts';

const rows = 48;

/** Writes to an argument, to a part of it, and to state; then it checks. */
function make() {
  const state = zeros([rows, 2]);
  const fn = toStatic(
    (x: Tensor, limit: number) => {
      state.add_(x);
      const first = x.select(0, 0);
      first.mul_(2);
      const y = x.exp().add(state).tanh();
      if (y.sum().itemSync() > limit) throw new RangeError('too large');
      return y.sum(0);
    },
    { fullGraph: true },
  );
  return { state, fn };
}

const loop = () =>
  toStatic(
    (x: Tensor, limit: number) => {
      let turns = 0;
      while (x.sum().itemSync() < 200) {
        x.add_(1);
        turns++;
        if (x.max().itemSync() > limit) throw new RangeError('too large');
      }
      return x.mul(turns);
    },
    { fullGraph: true },
  );

const input = (value: number) => zeros([rows, 2]).add_(value);

describe('copies for checks', () => {
  it.each([
    ['in a row', () => make().fn, 2],
    ['in a loop', loop, 1],
  ] as const)('are part of the peak, to the byte: %s', (_name, build, copies) => {
    const fn = build();
    tidy(() => void fn(input(1), 1e9));
    tidy(() => {
      const x = input(0.5);
      const { peak } = measure(() => fn(x, 1e9), 'cpu');
      const [part] = fn.programs();
      const { predicted } = part!.stages!.planned.forward;
      expect(predicted.copiedBytes).toBe(copies * rows * 2 * 4);
      expect(peak).toBe(predictedPeak(part!.record));
      expect(part!.record.peakBytes).toBe(peak);
    });
  });

  it('are none where no check comes after a write', () => {
    const fn = toStatic(
      (x: Tensor) => {
        if (x.sum().itemSync() > 100) throw new RangeError('too large');
        return x.add_(1).sum();
      },
      { fullGraph: true },
    );
    tidy(() => void fn(input(0)));
    expect(fn.programs()[0]!.stages!.planned.forward.predicted.copiedBytes).toBe(0);
  });
});

describe('a loaded program whose check fails', () => {
  const failing = async (body: (program: LoadedProgram) => void) => {
    const { fn, state } = make();
    // A second number makes the place symbolic.
    for (const limit of [1e9, 2e9]) tidy(() => void fn(input(1), limit));
    const program = await loadProgram(await save(fn));
    body(program);
    program.dispose();
    state.dispose();
  };

  it('leaves arguments, state, versions and memory as they were', () =>
    failing((program) => {
      const [state] = Object.values(program.state());
      const x = input(1);
      tidy(() => void program(x, 1e9));
      const values = [[...x.dataSync()], [...state!.dataSync()]];
      const versions = [x.holder!.version, state!.holder!.version];
      const before = memory.stats('cpu').allocated;
      expect(() => tidy(() => program(x, -1e9))).toThrow(/check inside a program has failed/);
      expect([[...x.dataSync()], [...state!.dataSync()]]).toEqual(values);
      expect([x.holder!.version, state!.holder!.version]).toEqual(versions);
      expect(memory.stats('cpu').allocated).toBe(before);
      x.dispose();
    }));

  it('writes no line, and one behind a run that holds', async () => {
    const fn = toStatic(
      (x: Tensor) => {
        console.info('sum', x.sum().itemSync());
        if (x.sum().itemSync() > 5) throw new RangeError('large');
        return x.mul(2);
      },
      { fullGraph: true },
    );
    const info = vi.spyOn(console, 'info').mockImplementation(() => {});
    try {
      tidy(() => void fn(tensor([1, 2])));
      const program = await loadProgram(await save(fn));
      info.mockClear();
      expect(() => tidy(() => program(tensor([4, 2])))).toThrow(/has failed/);
      expect(info).not.toHaveBeenCalled();
      tidy(() => void program(tensor([1, 1])));
      expect(info.mock.calls).toEqual([['sum', 2]]);
    } finally {
      info.mockRestore();
    }
  });
});
