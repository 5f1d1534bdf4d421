import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { ToStaticOptions } from '../../dispatch/captured-function.ts';
import type { Setting } from './own-process.ts';

/** Options of `toStatic` to vary, with comma-separated values each. */
export interface SweepOptions {
  readonly fallback?: string;
  readonly dynamic?: string;
  readonly minGraphSize?: string;
  readonly budget?: string;
}

/** Parses a value of each option from the command line. */
const parsers = {
  fallback: (text: string): ToStaticOptions => ({
    fallback: oneOf('fallback', text, ['eager', 'error']),
  }),
  dynamic: (text: string): ToStaticOptions => {
    const value = oneOf('dynamic', text, ['auto', 'true', 'false']);
    return { dynamic: value === 'auto' ? value : value === 'true' };
  },
  minGraphSize: (text: string): ToStaticOptions => ({ minGraphSize: opCount(text) }),
  budget: (text: string): ToStaticOptions => ({ memory: { budget: byteCount(text) } }),
} as const satisfies Record<keyof SweepOptions, (text: string) => ToStaticOptions>;

/** Every combination of the given values; none if no option is varied. */
export function settingsOf(options: SweepOptions): Setting[] {
  let settings: Setting[] = [];
  for (const name of Object.keys(parsers) as (keyof typeof parsers)[]) {
    const texts = options[name]?.split(',');
    if (!texts) continue;
    const bases = settings.length > 0 ? settings : [{ title: '', options: {} }];
    settings = bases.flatMap((base) =>
      texts.map((text) => ({
        title: `${base.title}${base.title && ' '}${name}=${text}`,
        options: { ...base.options, ...parsers[name](text) },
      })),
    );
  }
  return settings;
}

/** One point of a curve of budgets. */
export function budgetSetting(budget: number | null): Setting {
  return { title: `budget=${budget ?? 'none'}`, options: { memory: { budget } } };
}

function opCount(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= 0) return value;
  throw new ArgumentError({
    what: 'compare: a value of --min-graph-size is not a count',
    given: `--min-graph-size ${text}`,
    expected: 'numbers of ops, integers from 0',
    remedy: 'list values separated by commas, such as 0,5,20',
  });
}

const units: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function byteCount(text: string): number | null {
  if (text.trim() === 'none') return null;
  const [, digits = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*(|[KMG]iB)\s*$/.exec(text) ?? [];
  if (digits !== '') return Number(digits) * units[unit]!;
  throw new ArgumentError({
    what: 'compare: a value of --budget is not a size',
    given: `--budget ${text}`,
    expected: 'bytes, as 200000, 64KiB, 1.5MiB or 4GiB, or none',
    remedy: 'list values separated by commas, such as none,4GiB,2GiB',
  });
}

function oneOf<const T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text.trim());
  if (found !== undefined) return found;
  throw new ArgumentError({
    what: `compare: no such value of --${name}`,
    given: `--${name} ${text}`,
    expected: allowed.join(', '),
    remedy: 'list values separated by commas',
  });
}
