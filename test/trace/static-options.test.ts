/** Options of toStatic are verified before anything runs, also where no type checker has looked. */

import { describe, expect, it } from 'vitest';
import { passNames } from '../../src/5-optimize/passes.ts';
import {
  ArgumentError,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { choices } from '../../src/options/capture-settings.ts';
import { settingsOf } from '../../src/options/static-options.ts';

const fn = (x: Tensor) => x.mul(2);

const wrong: readonly (readonly [options: Readonly<Record<string, unknown>>, says: RegExp])[] = [
  [{ fullgraph: true }, /no such option.*fullgraph.*did you mean 'fullGraph'/s],
  [{ memory: { budgett: 1 } }, /no such memory option.*'budgett'/s],
  [{ memory: 'cleanedd' }, /cleanedd/s],
  [{ passes: { slice: false } }, /slice/s],
  [{ capture: 'always' }, /capture has no such value.*'always'.*'break' or 'auto'/s],
  [{ fallback: 'native' }, /fallback has no such value.*'eager' or 'error'/s],
  [{ dynamic: 'yes' }, /dynamic has no such value.*'auto' or true or false/s],
  [{ fullGraph: 'auto' }, /fullGraph has no such value.*true or false/s],
  [{ strict: 1 }, /strict has no such value/s],
  [{ backend: 'cuda' }, /cuda/s],
  [{ unrollLimit: -1 }, /unrollLimit/s],
  [{ pathLimit: 0 }, /pathLimit/s],
  [{ traceLimit: Number.NaN }, /traceLimit/s],
  [{ minGraphSize: -1 }, /minGraphSize/s],
  [{ check: -1 }, /check/s],
];

describe('options of toStatic', () => {
  it.each(wrong)('%o is rejected', (options, says) => {
    const attempt = () => toStatic(fn, options as ToStaticOptions);
    expect(attempt).toThrow(ArgumentError);
    expect(attempt).toThrow(says);
  });

  it('are those that are not given where they are undefined', () => {
    const omitted = settingsOf({});
    const given = (name: string) => settingsOf({ [name]: undefined } as ToStaticOptions);
    for (const name of Object.keys(choices)) expect(given(name), name).toEqual(omitted);
    const all = Object.fromEntries(Object.keys(choices).map((name) => [name, undefined]));
    expect(toStatic(fn, all as never)(tensor([1])).toArraySync()).toEqual([2]);
  });

  it('are those that are not given where one of memory or passes is undefined', () => {
    const { memory, compile } = settingsOf({});
    for (const name of Object.keys(memory)) {
      const options = { memory: { [name]: undefined } } as ToStaticOptions;
      expect(settingsOf(options).memory, name).toEqual(memory);
    }
    for (const name of passNames) {
      const options = { passes: { [name]: undefined } } as ToStaticOptions;
      expect(settingsOf(options).compile.without, name).toEqual(compile.without);
    }
  });
});
