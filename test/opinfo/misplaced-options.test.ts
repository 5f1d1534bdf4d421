/** Anything else where an operator takes a tensor, a number or a flag by position is an error of its own. */

import { describe, expect, it, vi } from 'vitest';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { adapters } from './adapters.ts';
import { callAdapter } from './arguments.ts';
import { opinfo } from './operators-doc.ts';
import { isRecordedTensor, readSamples, type Sample, toTensor } from './samples.ts';

/** A call of our function that an adapter made. */
interface Call {
  readonly name: string;
  readonly fn: (...args: unknown[]) => unknown;
  readonly args: readonly unknown[];
}

const { calls } = vi.hoisted(() => ({ calls: [] as Call[] }));

vi.mock('../../runtime/index.ts', async (original) => {
  const all = await original<Record<string, unknown>>();
  const recorded = (name: string, value: unknown): unknown => {
    if (typeof value !== 'function' || /^[A-Z]/.test(name)) return value;
    const fn = value as (...args: unknown[]) => unknown;
    return (...args: unknown[]) => {
      calls.push({ name, fn, args });
      return fn(...args);
    };
  };
  return Object.fromEntries(Object.entries(all).map(([name, own]) => [name, recorded(name, own)]));
});

const samples = readSamples(opinfo).filter(({ op }) => adapters[op]);

function built(value: unknown): unknown {
  if (isRecordedTensor(value)) return toTensor({ ...value, grad: false }, 'float32');
  if (Array.isArray(value)) return value.map(built);
  if (value === 'Infinity' || value === '-Infinity' || value === 'NaN') return Number(value);
  return value;
}

function callsOf({ op, input, args, kwargs }: Sample): Call[] {
  calls.length = 0;
  const keywords = Object.entries(kwargs).map(([name, own]) => [name, built(own)]);
  callAdapter(adapters[op]!, [input, ...args].map(built), Object.fromEntries(keywords));
  return calls.splice(0);
}

/** What a call does instead of throwing an error of the library; null if it throws one. */
function failureOf({ fn, args }: Call): string | null {
  try {
    fn(...args);
    return 'no error';
  } catch (error) {
    return error instanceof TostaticError ? null : String(error);
  }
}

const misplaced: readonly unknown[] = [{ eps: 1 }, { dim: 0 }, 'two'];

/** Where reductions and sorts take their dimensions, by keyword as well. */
const dimensionsAt = new Map<string, readonly number[]>([
  ...['all', 'amax', 'amin', 'any', 'countNonzero', 'mean', 'nanmean', 'nansum'].map(first),
  ...['std', 'stdMean', 'sum', 'variance', 'varMean'].map(first),
  ['cosineSimilarity', [2]],
  ['norm', [2]],
  ['sort', [1, 2]],
  ['argsort', [1, 2]],
  ['topk', [2, 3]],
]);

function first(name: string): readonly [string, readonly number[]] {
  return [name, [1]];
}

describe('arguments by position', () => {
  it('are numbers and flags, or rejected', () => {
    const failures = new Set<string>();
    let tried = 0;
    const attempt = (call: Call, at: number): void => {
      for (const value of misplaced) {
        const takesDim = dimensionsAt.get(call.name)?.includes(at) ?? false;
        if (takesDim && Object.hasOwn(Object(value), 'dim')) continue;
        tried++;
        const failure = failureOf({ ...call, args: call.args.with(at, value) });
        if (failure) failures.add(`${call.name}, argument ${at}: ${failure}`);
      }
    };
    for (const sample of samples) {
      tidy(() => {
        for (const call of callsOf(sample)) {
          call.args.forEach((arg, i) => {
            if (typeof arg === 'number' || typeof arg === 'boolean') attempt(call, i);
          });
        }
        return null;
      });
    }
    expect([...failures]).toEqual([]);
    expect(tried).toBeGreaterThan(1000);
  });

  it('are tensors, or rejected', () => {
    const failures = new Set<string>();
    const known = new Set<string>();
    const attempt = (call: Call, at: number, kind: string, put: (value: unknown) => unknown) => {
      const place = `${call.name}, argument ${at}${kind}`;
      if (known.has(place)) return;
      known.add(place);
      for (const value of [undefined, null, 'x', {}, [1, 2], () => 1]) {
        const failure = failureOf({ ...call, args: call.args.with(at, put(value)) });
        // Operands may be left out where they are optional, and indices may be arrays.
        const isTaken = failure === 'no error' && (value == null || Array.isArray(value));
        if (failure && !isTaken) failures.add(`${place}: ${String(value)}: ${failure}`);
      }
    };
    for (const sample of samples) {
      tidy(() => {
        for (const call of callsOf(sample)) {
          call.args.forEach((arg, i) => {
            if (arg instanceof Tensor) attempt(call, i, '', (value) => value);
            if (!Array.isArray(arg) || !arg.some((each) => each instanceof Tensor)) return;
            attempt(call, i, ', a list', (value) => value);
            attempt(call, i, ', its last', (value) => arg.with(-1, value));
          });
        }
        return null;
      });
    }
    expect([...failures]).toEqual([]);
    expect(known.size).toBeGreaterThan(350);
  });

  it('of any kind are taken, or rejected by an error of the library', () => {
    const failures = new Set<string>();
    const known = new Set<string>();
    let rejected = 0;
    const attempt = (call: Call, at: number, put: (value: unknown) => unknown, where: string) => {
      for (const value of [null, undefined, '', {}, Number.NaN, [], 'two', true]) {
        const failure = failureOf({ ...call, args: call.args.with(at, put(value)) });
        if (!failure) rejected++;
        else if (failure !== 'no error') {
          failures.add(`${call.name}, argument ${where}, ${shown(value)}: ${failure}`);
        }
      }
    };
    for (const sample of samples) {
      tidy(() => {
        for (const call of callsOf(sample)) {
          const methods = call.args[0] instanceof Tensor ? [call, ...methodOf(call)] : [call];
          for (const each of methods) {
            each.args.forEach((arg, i) => {
              const place = `${each.name} ${each.args.length} ${i} ${kindOf(arg)}`;
              if (known.has(place)) return;
              known.add(place);
              attempt(each, i, (value) => value, String(i));
              if (Array.isArray(arg) && arg.length > 0) {
                attempt(each, i, (value) => arg.with(0, value), `${i}, its first`);
              }
            });
          }
        }
        return null;
      });
    }
    expect([...failures]).toEqual([]);
    expect(known.size).toBeGreaterThan(900);
    expect(rejected).toBeGreaterThan(5000);
  });

  it('in an options object are known by name', () => {
    const silent = new Set<string>();
    let tried = 0;
    for (const sample of samples) {
      tidy(() => {
        for (const call of callsOf(sample)) {
          const at = call.args.findLastIndex(isOptions);
          if (at < 0) continue;
          tried++;
          const args = call.args.with(at, { ...(call.args[at] as object), misspelt: 1 });
          if (failureOf({ ...call, args })) silent.add(call.name);
        }
      });
    }
    expect([...silent].sort()).toEqual([]);
    expect(tried).toBeGreaterThan(300);
  });
});

const shown = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : `${typeof value} ${String(value)}`;

const kindOf = (value: unknown): string =>
  value instanceof Tensor ? 'tensor' : Array.isArray(value) ? 'array' : typeof value;

/** The same call as a method. */
function methodOf({ name, args: [x, ...rest] }: Call): Call[] {
  const method: unknown = Reflect.get(Tensor.prototype, name);
  if (typeof method !== 'function') return [];
  return [
    { name: `tensor.${name}`, fn: (...given) => Reflect.apply(method, x, given), args: rest },
  ];
}

const isOptions = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
