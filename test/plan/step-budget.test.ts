/** The memory budget of a function with graph breaks: what its subgraphs keep for backward adds up, and is shared out. */

import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  type MockInstance,
  vi,
} from 'vitest';
import { workload as cswin } from '../../examples/workloads/cswin.ts';
import {
  appliedTo,
  breakGraph,
  deviceGuard,
  memory,
  refcounted,
  type StaticFunction,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

let warn: MockInstance<typeof console.warn>;
/** What this process does when it exits, as far as the tests of this file have asked for something. */
const once = vi.spyOn(process, 'once');
const exit = () => {
  for (const [event, listener] of once.mock.calls) if (event === 'exit') listener(0);
};
afterAll(() => once.mockRestore());
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => warn.mockRestore());

const shape = [32, 32];

/** Four parts, each with values that are cheap to make again. */
function deep(x: Tensor, w: Tensor): Tensor {
  let y = x;
  for (let i = 0; i < 4; i++) {
    y = y.matmul(w).sigmoid().exp().tanh();
    breakGraph();
  }
  return y.sum();
}

type Loss = (x: Tensor, w: Tensor) => Tensor;

/** The most bytes of each step beside what was there before it, and its loss and gradient. */
function steps(run: Loss, of = shape) {
  return [0, 1, 2, 3].map((call) => {
    const [x, w] = [values(of, call), values(shape, 7).requiresGrad_()];
    const before = memory.stats('cpu').allocated;
    memory.reset('cpu');
    const loss = run(x, w);
    loss.backward();
    const peak = memory.stats('cpu').peakAllocated - before;
    const bits = [loss.itemSync(), ...w.grad!.dataSync()];
    for (const each of [loss, w.grad!, w, x]) each.dispose();
    return { peak, bits };
  });
}

const peaksOf = (run: Loss, of = shape) => steps(run, of).map(({ peak }) => peak);
const again = (f: StaticFunction<Loss>) =>
  f.programs().reduce((sum, part) => sum + (appliedTo(part)?.recompute ?? 0), 0);

describe('plan/step-budget', () => {
  it.each([0.9, 0.8, 0.7])(
    'holds from the second step on, with the same bits: %f of the peak',
    (share) => {
      const most = peaksOf(toStatic(deep)).at(-1)!;
      const budget = Math.floor(most * share);
      const f = toStatic(deep, { memory: { budget }, fallback: 'error' });
      const within = steps(f);
      const eager = steps(refcounted(deep));
      expect(within.map(({ bits }) => bits)).toEqual(eager.map(({ bits }) => bits));
      for (const { peak } of within.slice(1)) expect(peak).toBeLessThanOrEqual(budget);
      expect(again(f)).toBeGreaterThan(0);
      expect(warn.mock.calls.flat().join()).toContain('later steps share the budget');
      expect(f.explain()).toContain('for all subgraphs of a step');
    },
  );

  it('steps of another shape have shares of their own', () => {
    const small = [8, 32];
    const wide = peaksOf(toStatic(deep)).at(-1)!;
    const narrow = peaksOf(toStatic(deep), small).at(-1)!;
    // Only the first step may miss the budget: another one would be an error.
    const f = toStatic(deep, { memory: { budget: Math.floor(wide * 0.7) }, fallback: 'error' });
    for (let round = 0; round < 2; round++) {
      const peaks = peaksOf(f).slice(round === 0 ? 1 : 0);
      for (const peak of peaks) expect(peak).toBeLessThanOrEqual(wide * 0.7);
      // The first one has the shares of wide steps; then it is known that it needs none.
      expect(peaksOf(f, small).slice(1)).toEqual([narrow, narrow, narrow]);
    }
  });

  it('a budget that is large enough changes nothing', () => {
    const peaks = peaksOf(toStatic(deep));
    const f = toStatic(deep, { memory: { budget: Math.max(...peaks) } });
    expect(peaksOf(f)).toEqual(peaks);
    expect(again(f)).toBe(0);
    expect(warn).not.toHaveBeenCalled();
  });

  it("one that can't be held warns, and is an error with fallback: 'error'", () => {
    const budget = 4096;
    steps(toStatic(deep, { memory: { budget } }));
    expect(warn.mock.calls.flat().join('\n')).toMatch(
      /a step of deep needed \d+ bytes beside its inputs, \d+ more than its memory budget$/m,
    );
    const strict = toStatic(deep, { memory: { budget }, fallback: 'error' });
    expect(() => steps(strict)).toThrow('a step exceeds its memory budget');
  });

  it('steps that miss it warn ever more rarely, whatever other functions have said', () => {
    for (const f of [1, 2].map(() => toStatic(deep, { memory: { budget: 4096 } }))) {
      warn.mockClear();
      // The last step ends with the next call, which is none.
      for (let round = 0; round < 3; round++) steps(f);
      const told = warn.mock.calls.flat().map(String);
      const later = told.filter((text) => !text.includes('later steps share the budget'));
      expect(later).toHaveLength(3);
      expect(later[0]).toMatch(/more than its memory budget$/);
      expect(later[1]).toMatch(/as 4 steps have so far$/);
      expect(later[2]).toMatch(/as 8 steps have so far$/);
    }
  });

  it('the miss of a last step is told when the process exits, and by explain() before', () => {
    const tells = (f: StaticFunction<Loss>) =>
      f.explain().match(/last step needed (\d+) bytes/)?.[1];
    const f = toStatic(deep, { memory: { budget: 4096 } });
    expect(tells(f)).toBeUndefined();
    exit();
    warn.mockClear();
    const [x, w] = [values(shape), values(shape, 7).requiresGrad_()];
    const [first, second] = [1, 2].map(() => {
      memory.reset('cpu');
      const before = memory.stats('cpu').allocated;
      const loss = f(x, w);
      loss.backward();
      const needed = memory.stats('cpu').peakAllocated - before;
      expect(tells(f)).toBe(String(needed));
      expect(f.stats().stepBytes).toBe(needed);
      for (const each of [loss, w.grad!]) each.dispose();
      w.grad = null;
      return needed;
    });
    expect(warn.mock.calls.flat().join()).not.toContain(`needed ${second} bytes`);
    exit();
    expect(warn.mock.calls.flat().join()).toMatch(
      new RegExp(`needed ${second} bytes .* it was the last one`),
    );
    expect(tells(f)).toBe(String(second));
    expect(first).toBeGreaterThan(4096);
    // A budget that every step holds, and a function without breaks, have nothing to tell.
    warn.mockClear();
    exit();
    expect(warn).not.toHaveBeenCalled();
    for (const each of [x, w]) each.dispose();
  });

  it("with fallback: 'error' no other function throws for a step, and the exit tells what nothing has thrown", () => {
    const strict = toStatic(deep, { memory: { budget: 4096 }, fallback: 'error' });
    const other = toStatic(deep, { memory: { budget: 2 ** 30 } });
    const [x, w] = [values(shape), values(shape, 7)];
    const run = (f: typeof strict) => {
      const at = w.clone().requiresGrad_();
      const loss = f(x, at);
      loss.backward();
      for (const each of [loss, at.grad!, at]) each.dispose();
    };
    exit();
    warn.mockClear();
    run(strict);
    run(strict);
    run(other);
    exit();
    const message = 'a step exceeds its memory budget';
    expect(warn.mock.calls.flat().join()).toContain(message);
    expect(() => run(strict)).toThrow(message);
    run(strict);
    warn.mockClear();
    exit();
    expect(warn.mock.calls.flat().join()).toContain('it was the last one');
    for (const each of [x, w]) each.dispose();
  });

  it('plans a subgraph without a backward once, whatever the step lacks', () => {
    const f = toStatic(deep, { memory: { budget: 0 } });
    const plans = [0, 1, 2].map(() => {
      const [x, w] = [values(shape), values(shape, 7)];
      for (const each of [f(x, w), x, w]) each.dispose();
      return f.stats().plans;
    });
    expect(warn.mock.calls.flat().join()).toContain('later steps share the budget');
    expect(plans).toEqual([plans[0], plans[0], plans[0]]);
  });

  it('functions that take turns have steps of their own', () => {
    const most = peaksOf(toStatic(deep)).at(-1)!;
    const budget = Math.floor(most * 0.8);
    const [f, g] = [toStatic(deep, { memory: { budget } }), toStatic(deep, { memory: { budget } })];
    const peaks = [1, 2, 3].flatMap(() => [...peaksOf(f).slice(-1), ...peaksOf(g).slice(-1)]);
    for (const peak of peaks) expect(peak).toBeLessThanOrEqual(budget);
  });

  it('CSWin with forced breaks', () => {
    deviceGuard('meta', () => {
      const built = cswin.build({ device: 'meta', size: 'reduced', breaks: true, batch: 64 });
      const batch = built.inputs(0);
      const stepsOf = (loss: typeof built.loss) =>
        [1, 2, 3].map(() => {
          const before = memory.stats('meta').allocated;
          memory.reset('meta');
          const value = loss(...batch);
          value.backward();
          built.optimizer.step();
          built.optimizer.zeroGrad();
          value.dispose();
          return memory.stats('meta').peakAllocated - before;
        });
      const most = stepsOf(toStatic(built.loss)).at(-1)!;
      const budget = Math.floor(most * 0.75);
      const f = toStatic(built.loss, { memory: { budget }, fallback: 'error' });
      const [, ...later] = stepsOf(f);
      for (const peak of later) expect(peak).toBeLessThanOrEqual(budget);
      for (const each of [...batch, built]) each.dispose();
    });
  });
});
