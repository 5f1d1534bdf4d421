/** Dates, URLs and formatters in captured code: aliases, changes between calls, the time zone, branches. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../../src/index.ts';

type Step = (x: Tensor, a: Date, b: Date) => unknown;

/** The results and the arguments of calls with the same and with different dates. */
function runDates(fn: Step): unknown[] {
  const a = new Date(1e12);
  const b = new Date(2e12);
  const pairs = [
    [a, b],
    [a, b],
    [b, a],
    [a, a],
    [new Date(Number.NaN), b],
    [a, b],
  ] as const;
  return pairs.map(([first, second], i) => {
    let result: unknown;
    try {
      result = fn(tensor([1, -1 + i]), first, second);
    } catch (error) {
      result = `${error}`;
    }
    return JSON.stringify([result, a.getTime(), b.getTime(), second.getTime()]);
  });
}

const steps: Readonly<Record<string, Step>> = {
  'a change is seen through the other name': (_x, a, b) => {
    a.setUTCHours(3);
    return [b.getTime(), a.getTime()];
  },
  'a read comes before a change': (_x, a, b) => {
    const before = a.getTime();
    b.setTime(before + 1);
    return [before, a.getTime(), b.toISOString()];
  },
  'a change on one path': (x, a) => {
    if (x.sum().itemSync() > 0) a.setTime(5);
    return a.getTime();
  },
  'a date made inside and changed on one path': (x) => {
    const date = new Date(7);
    if (x.sum().itemSync() > 0) date.setTime(5);
    return date.getTime();
  },
  'an exception takes nothing back': (x, a) => {
    try {
      a.setTime(9);
      return [x.mul(2).shape[0], new Date(Number.NaN).toISOString()];
    } catch (error) {
      return [(error as Error).message, a.getTime()];
    }
  },
  'dates are compared and subtracted': (_x, a, b) => [a < b, +b - +a, a.getTime() === b.getTime()],
  'an address is changed': (x) => {
    const url = new URL('https://host/a?b=1');
    url.pathname = `/${x.shape[0]}`;
    url.hash = 'z';
    return [url.href, String(url), `${url}`, JSON.stringify({ url })];
  },
  'formatters are made and passed on': (x, a) => {
    const format = new Intl.NumberFormat('en', { minimumFractionDigits: 2 });
    return [[1, 2.5].map(format.format), format.format(a.getTime()), x.shape[0]];
  },
  'what is not known is left to the host': (_x, a) => {
    const format = new Intl.DateTimeFormat('en', { dateStyle: 'short', timeZone: 'UTC' });
    return [format.format(a), typeof format.format()];
  },
};

it.each(Object.entries(steps))('%s', (_name, step) => {
  const expected = runDates(step);
  for (const options of [{}, { capture: 'auto' }] as const) {
    expect(runDates(toStatic(step, options) as Step)).toEqual(expected);
  }
});

it('the time zone of a later call is another one', () => {
  const zone = process.env.TZ;
  const step = (x: Tensor, date: Date) => {
    const made = new Date(2020, 5, 1, 12);
    return [x.mul(2), date.getHours(), `${date}`, made.getTime(), made.getHours()] as const;
  };
  const captured = toStatic(step);
  const date = new Date(1.6e12);
  try {
    for (const name of ['UTC', 'Asia/Tokyo', 'America/New_York', 'UTC']) {
      process.env.TZ = name;
      for (let call = 0; call < 2; call++) {
        const [expected, actual] = [step(tensor([1]), date), captured(tensor([1]), date)];
        expect(actual.slice(1)).toEqual(expected.slice(1));
      }
    }
    expect(captured.stats().breaks).toEqual([]);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

it('typed arrays that share memory inside share it outside, in each call another one', () => {
  const captured = toStatic((x: Tensor) => {
    const numbers = new Float32Array([1, 2, 3]);
    return { y: x.mul(2), numbers, rest: numbers.subarray(1), view: new DataView(numbers.buffer) };
  });
  const [first, second] = [captured(tensor([1])), captured(tensor([1]))];
  expect(captured.stats().breaks).toEqual([]);
  for (const { numbers, rest, view } of [first, second]) {
    expect(rest.buffer).toBe(numbers.buffer);
    expect(view.buffer).toBe(numbers.buffer);
    rest[0] = 5;
    expect([...numbers]).toEqual([1, 5, 3]);
  }
  expect(second.numbers.buffer).not.toBe(first.numbers.buffer);
});

it('each call makes its own objects', () => {
  const captured = toStatic((x: Tensor) => [x.mul(2), new Date(5), new URL('https://h/')] as const);
  const [first, second] = [captured(tensor([1])), captured(tensor([1]))];
  expect(first[1]).not.toBe(second[1]);
  expect(first[1]).toEqual(second[1]);
  expect(first[2]).not.toBe(second[2]);
  expect(captured.stats().breaks).toEqual([]);
});
