/** Every function and class that takes options rejects names and values that it doesn't know. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nearestName } from '../../runtime/options/nearest-name.ts';
import { passNames } from '../../src/5-optimize/passes.ts';
import { ArgumentError, nn, optim, seed, Tensor, toStatic } from '../../src/index.ts';
import { memoryPresets, memorySwitches } from '../../src/programs/memory-options.ts';
import { takers, weights } from './option-takers.ts';

/** None of them is a value of any option, except where an option takes such things. */
const wrong: readonly unknown[] = [{}, 'sideways', Number.NaN, Symbol('option'), () => {}];

/** Options that take any value of a type. */
const taken: Readonly<Record<string, readonly string[]>> = {
  activation: ['function'],
  scaleFn: ['function'],
  names: ['function', 'object'],
  ...Object.fromEntries(
    ['title', 'label', 'externalData', 'folder', 'include', 'exclude', 'root', 'probe'].map(
      (name) => [name, ['string']],
    ),
  ),
  ...Object.fromEntries(['scope', 'metadata', 'session'].map((name) => [name, ['object']])),
};

/** What rejects the call; null if nothing does. */
async function rejectionOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return null;
  } catch (error) {
    return error;
  }
}

/** What the call returns or throws: data of tensors, fields of objects. */
async function outcomeOf(call: (options: never) => unknown, options: object): Promise<unknown> {
  seed(1);
  try {
    return described(await call(options as never));
  } catch (error) {
    return [(error as Error).name, (error as ArgumentError).given];
  }
}

function described(value: unknown, depth = 3): unknown {
  if (value instanceof Tensor) return value.toArraySync();
  if (value instanceof nn.Module || value instanceof Promise) return '';
  if (typeof value === 'function') return '';
  // Times differ.
  if (typeof value === 'string') return value.replaceAll(/[0-9.]+/g, '0');
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0 || ArrayBuffer.isView(value)) return '';
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  return fields.map(([name, each]) => [name, described(each, depth - 1)]);
}

describe.each(Object.entries(takers))('%s', (_, { options, call }) => {
  it('takes all of its options, and options that are undefined', async () => {
    expect(await rejectionOf(() => call(options as never))).toBeNull();
    const extra = { ...options, [Object.keys(options).at(-1)!]: undefined };
    expect(await rejectionOf(() => call(extra as never))).toBeNull();
  });

  it('does the same where an option is undefined as where it is not given', async () => {
    for (const name of Object.keys(options)) {
      const { [name]: _, ...others } = options;
      const omitted = await outcomeOf(call, others);
      expect(await outcomeOf(call, { ...others, [name]: undefined }), name).toEqual(omitted);
    }
  });

  it('rejects a misspelt name and says which it may be', async () => {
    for (const name of Object.keys(options)) {
      const misspelt = `${name}${name.at(-1)}`;
      const error = await rejectionOf(() =>
        call({ ...options, [misspelt]: options[name] } as never),
      );
      expect(error).toBeInstanceOf(ArgumentError);
      expect((error as ArgumentError).given).toBe(misspelt);
      expect((error as ArgumentError).remedy).toBe(`did you mean '${name}'?`);
    }
  });

  it('rejects values of another type', async () => {
    for (const name of Object.keys(options)) {
      for (const value of wrong) {
        if (taken[name]?.includes(typeof value)) continue;
        const error = await rejectionOf(() => call({ ...options, [name]: value } as never));
        expect(error, `${name} = ${String(value)}`).toBeInstanceOf(ArgumentError);
      }
    }
  });

  it('rejects what is not an object', async () => {
    for (const value of [5, 'none', null]) {
      expect(await rejectionOf(() => call(value as never))).toBeInstanceOf(ArgumentError);
    }
  });
});

/** Options of ops, read by functions that they share, and of the library's own functions. */
const elsewhere = [
  'BodyOptions',
  'CheckOptions',
  'CodeOptions',
  'CompareOptions',
  'CompileOptions',
  'CopyOptions',
  'CountOptions',
  'CutOptions',
  'DifferentiateOptions',
  'EnteringOptions',
  'ExecutableOptions',
  'FeedOptions',
  'GpuDeviceOptions',
  'GpuOptions',
  'GraphOptions',
  'GroupOptions',
  'LikeOptions',
  'MeasureOptions',
  'OpenDeviceOptions',
  'OpenOptions',
  'OrderOptions',
  'PlanOptions',
  'PoolOptions',
  'ProfileOptions',
  'RegionOptions',
  'SliceOptions',
  'SweepOptions',
  'TeamOptions',
  'TraceOptions',
  'VarianceOptions',
  'WebGpuOptions',
  'WindowOptions',
  'WorkloadOptions',
];

it('no public option object goes unchecked', () => {
  const sources = ['src', 'runtime'].flatMap((folder) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );
  const names = sources.flatMap((source) =>
    [...source.matchAll(/^(?:export )?interface (\w+Options)\b/gm)].map(([, name]) => name!),
  );
  expect(names.length).toBeGreaterThan(60);
  const checking = sources.filter((source) =>
    /\b(expectOptions|expectNames|lossOf|unknownOption|unknownChoice)\b/.test(source),
  );
  const isNamed = (name: string) =>
    checking.some((source) => new RegExp(`\\b${name}\\b`).test(source));
  expect([...new Set(names.filter((name) => !isNamed(name)))].sort()).toEqual(elsewhere);
});

describe('options', () => {
  it('say where the user passed them', () => {
    const attempt = () => new optim.SGD(weights(), { lr: 0.1, momentumm: 0.9 } as never);
    expect(attempt).toThrow(/option-objects\.test\.ts:\d+/);
  });

  it('that hold the kernel size are rejected in the same cases', () => {
    const attempt = () => new nn.Conv2d(2, 2, { kernelSize: 3, paddingg: 1 } as never);
    expect(attempt).toThrow("did you mean 'padding'?");
  });

  it('of parameter groups are those of the optimizer', () => {
    const group = { parameters: weights(), momentumm: 0.9 };
    expect(() => new optim.SGD([group] as never, { lr: 0.1 })).toThrow("did you mean 'momentum'?");
    const typed = { parameters: weights(), momentum: '0.9' };
    expect(() => new optim.SGD([typed] as never, { lr: 0.1 })).toThrow(ArgumentError);
  });

  it('of memory and passes say which name a misspelt one may be', () => {
    const misspelt = (name: string) => name + name.at(-1);
    const f = (x: Tensor) => x;
    const rejects = (options: object, name: string) =>
      expect(() => toStatic(f, options), name).toThrow(`did you mean '${name}'?`);
    for (const name of [...memorySwitches, 'prefer', 'budget', 'savedDtype', 'offload']) {
      rejects({ memory: { [misspelt(name)]: true } }, name);
    }
    for (const name of Object.keys(memoryPresets)) rejects({ memory: misspelt(name) }, name);
    for (const name of passNames) rejects({ passes: { [misspelt(name)]: false } }, name);
  });

  it.each(['-1', -1, 1.5, Number.NaN])('dropout rejects %s', (p) => {
    expect(() => new nn.Dropout(p as number)).toThrow(ArgumentError);
    expect(() => new nn.AlphaDropout(p as number)).toThrow(ArgumentError);
  });
});

describe('the nearest name', () => {
  it.each([
    ['momentumm', 'momentum'],
    ['weight_decay', 'weightDecay'],
    ['LR', 'lr'],
    ['wieghtDecay', 'weightDecay'],
    ['something', undefined],
  ])('of %s is %s', (given, expected) => {
    expect(nearestName(given, ['lr', 'momentum', 'weightDecay'])).toBe(expected);
  });
});
