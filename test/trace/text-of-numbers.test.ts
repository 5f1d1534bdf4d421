/** Text of numbers that change from call to call, as training loops print it: no trace for each number. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

interface Counter {
  step: number;
  rate: number;
}

type Step = (x: Tensor, epoch: number) => unknown;

const cases: Readonly<Record<string, (counter: Counter) => Step>> = {
  'a template with a value of the program': (counter) => (x) => {
    counter.step += 1;
    console.log(`step ${counter.step}: ${x.sum().itemSync().toFixed(3)}`);
    return x.mul(2);
  },
  'a template of numbers alone': (counter) => (x, epoch) => {
    counter.step += 1;
    console.log(`epoch ${epoch}, step ${counter.step}`);
    return x.mul(2);
  },
  'a sum with text': (counter) => (x) => {
    counter.step += 1;
    // biome-ignore lint/style/useTemplate: the operator is what is tested.
    console.log('step ' + counter.step);
    return x.mul(2);
  },
  'an argument of console.log': (counter) => (x) => {
    counter.rate *= 0.5;
    console.log('rate', counter.rate, counter.rate > 0);
    return x.mul(counter.rate);
  },
  'text that is returned': (counter) => (x) => {
    counter.step += 1;
    return { y: x.mul(2), name: `step ${counter.step} of ${x.sum().itemSync()}` };
  },
  'methods of numbers and of their text': (counter) => (x, epoch) => {
    counter.step += 1;
    console.log([counter.step, epoch / 7].join(' of '), String(epoch).padStart(4));
    return [x.mul(2), (epoch / 7).toFixed(2), `${-epoch}`.slice(-2), epoch.toString(36)];
  },
  'text in branches and loops': (counter) => (x, epoch) => {
    counter.step += 1;
    let y = x;
    while (y.sum().itemSync() < 30) {
      console.log(`${counter.step}: grows`);
      y = y.add(4);
    }
    const name = y.sum().itemSync() > 40 ? `far ${epoch}` : `near ${epoch}`;
    return { y, name };
  },
  'the message of an error': (counter) => (x) => {
    counter.step += 1;
    if (x.sum().itemSync() > 46)
      throw new RangeError(`step ${counter.step}: ${x.sum().itemSync()}`);
    return x.mul(2);
  },
};

const calls = 20;
/** What the steps print, return and throw. */
function outcomes(step: Step, counter: Counter): unknown[] {
  const out: unknown[] = [];
  const { log } = console;
  // Native, as the real one is.
  console.log = out.push.bind(out);
  try {
    for (let i = 0; i < calls; i++) {
      tidy(() => {
        try {
          out.push(JSON.stringify(step(tensor([i, i * 1.5]), i * 3)));
        } catch (error) {
          out.push(String(error));
        }
      });
    }
  } finally {
    console.log = log;
  }
  return [...out, { ...counter }];
}

describe('trace/text of numbers', () => {
  for (const [name, make] of Object.entries(cases)) {
    it(name, () => {
      const counters = Array.from({ length: 4 }, (): Counter => ({ step: 0, rate: 1 }));
      const expected = outcomes(make(counters[3]!), counters[3]!);
      const options = [{}, { capture: 'auto' }, { fullGraph: true }] as const;
      for (const [i, option] of options.entries()) {
        const step = toStatic(make(counters[i]!), { ...option, strict: true });
        expect(outcomes(step, counters[i]!)).toEqual(expected);
        const { translations, breaks, fallbacks } = step.stats();
        expect(fallbacks).toEqual([]);
        // Text that only JavaScript makes is guarded by its numbers for a while, and made natively then.
        if (!('fullGraph' in option)) {
          expect(translations).toBeLessThanOrEqual(6 * (1 + breaks.length));
        } else expect(translations).toBeLessThanOrEqual(2);
      }
    });
  }

  it('text of a number that the code reads has a trace for each number, also in a full graph', () => {
    const named = (x: Tensor, epoch: number) => {
      const name = `epoch ${epoch}`;
      const byName = { [name]: x.mul(2) };
      return [byName[name]!, name.length, name === 'epoch 3', name.split(' ')];
    };
    const step = toStatic(named, { fullGraph: true });
    for (let i = 0; i < 5; i++) {
      const x = tensor([i, 1]);
      expect(JSON.stringify(step(x, i))).toBe(JSON.stringify(named(x, i)));
    }
    expect(step.stats().translations).toBe(5);
  });

  it('text of sizes is a key, known while tracing', () => {
    const masks = new Map<string, Tensor>();
    const step = toStatic((x: Tensor) => {
      const key = `${x.shape[0]}x${x.shape[1]}`;
      const mask = masks.get(key) ?? x.gt(0).float();
      masks.set(key, mask);
      return x.mul(mask);
    });
    for (const shape of [
      [1, 2],
      [2, 3],
      [3, 2],
      [1, 2],
      [2, 3],
    ] as const) {
      step(tensor(Array.from({ length: shape[0] }, () => Array(shape[1]).fill(1))));
    }
    expect([...masks.keys()]).toEqual(['1x2', '2x3', '3x2']);
    expect(step.stats().breaks).toEqual([]);
  });
});
