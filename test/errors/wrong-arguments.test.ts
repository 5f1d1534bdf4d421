/**
 * Any value in the place of any argument of anything exported: the call is valid, or an error of the library says what is
 * wrong; no error is the engine's own, no wrong kind becomes NaN, and nothing is left behind.
 */

import { describe, expect, it } from 'vitest';
import * as distributions from '../../runtime/distributions/index.ts';
import { absentMethods } from '../../runtime/errors/absent-names.ts';
import * as library from '../../src/index.ts';
import { data, nn, optim, Tensor, TostaticError, tidy, toStatic } from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';
import { shareOfDay } from '../share-of-day.ts';
import { type Call, calls, changed, wrongValues } from './calls/calls.ts';
import { functions, methods } from './calls/functions.ts';
import { methodsOfObjects, modules, others } from './calls/modules.ts';
import { argumentsOf } from './calls/world.ts';

/** Exported, but not in the tables: each with its reason. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'reads files, devices or the process': ['init', 'shutdown', 'load', 'loadProgram', 'save'],
  'gets what only the compiler makes': ['printProgram', 'registerBackend', 'gpuKernel'],
  'is a class, tried by its function': [
    'OptionalSpec',
    'TensorSpec',
    'Summary',
    'Progress',
    'Tensor',
  ],
  'writes down every later call': ['traceLog'],
};

/** Methods of tensors that are for the library itself, or only say what to write instead. */
const notCalled =
  /^(constructor|joinFamily|setGradEdge|representLeaf|holderFor|leaveToCollector|trackIn|donate|hideBase|disposeAfterViews)$/;

/** Methods that only the library calls, and `forward`, which stands in the tables of modules. */
const internal = new Set([
  ...['constructor', 'forward', 'stateName', 'shorten', 'newCell', 'forwardAlone', 'project'],
  ...['withExtra', 'heads', 'weights', 'attendMemory', 'factors', 'update', 'check', 'spread'],
  ...['rate', 'height', 'between', 'variance', 'add', 'stepOne', 'newState', 'extendState'],
  ...['average', 'part', 'expectOneGroup', 'valueAfter', 'minimize', 'nextDirection', 'search'],
  ...['move', 'draw', 'extended', 'expanded', 'divergenceTo', 'drawnClasses', 'classDivergence'],
  ...['standard', 'moment', 'vectors', 'logProbOf', 'turned', 'invert', 'forwardShape'],
  ...['inverseShape', 'classEntropy', 'estimated', 'mapped', 'runPacked', 'addAttention'],
  ...['ofTargets'],
]);

/** Methods that find entries as those of arrays and Maps do. */
const lookups = new Set(['at', 'get', 'has', 'delete']);

const functionsOf = (object: object): string[] =>
  Object.entries(object).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));

const named = (table: Readonly<Record<string, string>>): string[] =>
  Object.values(table).flatMap((names) => names.split(' '));

describe('the tables have', () => {
  it('every exported function', () => {
    const listed = new Set([...named(functions), ...Object.values(elsewhere).flat()]);
    const missing = functionsOf(library).filter(
      (name) => !/Error$/.test(name) && !listed.has(name),
    );
    expect(missing).toEqual([]);
  });

  it('every method of tensors', () => {
    const listed = new Set([...named(functions), ...named(methods)]);
    const own = Object.entries(Object.getOwnPropertyDescriptors(Tensor.prototype));
    const missing = own.filter(
      ([name, { value }]) =>
        typeof value === 'function' && !listed.has(name) && !absentMethods.has(value),
    );
    expect(missing.map(([name]) => name).filter((name) => !notCalled.test(name))).toEqual([]);
  });

  it('every module, optimizer, schedule, sampler, initializer and tool', () => {
    const spaces = { nn, optim, data, distributions, 'nn.init': nn.init, 'nn.utils': nn.utils };
    const missing = Object.entries(spaces).flatMap(([space, object]) =>
      functionsOf(object)
        .map((name) => `${space}.${name}`)
        .filter((name) => others[name] === undefined && modules[name.slice(3)] === undefined),
    );
    // Bases, of which there are no instances.
    expect(missing).toEqual([
      ...['nn.Module', 'optim.LRScheduler', 'optim.Optimizer'],
      ...['distributions.Distribution', 'distributions.Transform'],
    ]);
  });

  it('every method with parameters of modules, optimizers, schedules and data sets', () => {
    const listed = new Set(Object.keys(methodsOfObjects).map((name) => name.split('.')[1]!));
    const classes = Object.entries({
      ...nn,
      ...optim,
      ...data,
      ...distributions,
    } as unknown as Readonly<Record<string, { prototype?: object }>>);
    const missing = classes.flatMap(([space, { prototype = {} }]) =>
      Object.entries(Object.getOwnPropertyDescriptors(prototype))
        .filter(([, { value }]) => typeof value === 'function' && value.length > 0)
        .map(([name]) => name)
        .filter((name) => !listed.has(name) && !internal.has(name) && !lookups.has(name))
        .map((name) => `${space}.${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('valid calls', async () => {
    const rejected: string[] = [];
    for (const { name, text, run } of Object.values(calls).flat()) {
      const error = await errorOf(() => run(argumentsOf(text)));
      if (error !== null) rejected.push(`${name}: ${error}`);
    }
    expect(rejected).toEqual([]);
  });
});

/** Inside of `tidy`, which gives back no promise. */
async function awaited(body: () => unknown): Promise<unknown> {
  let pending: unknown = null;
  const result = tidy(() => {
    const found = body();
    if (!(found instanceof Promise)) return found;
    pending = found;
    return null;
  });
  await pending;
  return result;
}

async function errorOf(body: () => unknown): Promise<unknown> {
  try {
    await awaited(() => {
      const result = body();
      return result instanceof Promise ? result : null;
    });
    return null;
  } catch (error) {
    return error;
  }
}

/** Take any value, or are looked at where they are used. */
const takesAnything = new Set([
  ...['isTensor 0', 'keepLoop 0', 'optionalSpec 0', 'checkpoint 1', 'scan 1', '.toString 0'],
  ...['nn.Identity.forward 0', 'slice 0', 'slice 1', 'slice 2', 'tensorSpec 0', 'tensorSpec 1'],
  ...['tensorSpec 2', 'ignoreModule 0', 'Transform.logAbsDetJacobian 2'],
  // Without training they return what they get.
  ...['Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'AlphaDropout', 'FeatureAlphaDropout'].map(
    (name) => `nn.${name}.forward 0`,
  ),
]);

const hasNaN = (value: unknown): boolean => {
  if (typeof value === 'number') return Number.isNaN(value);
  if (Array.isArray(value)) return value.some(hasNaN);
  return value instanceof Tensor && !value.disposed && [...value.dataSync()].some(Number.isNaN);
};

/** What is wrong with the call: null if it is valid, or an error of the library rejects it. */
async function problemOf(call: Call, at: number, kind: string): Promise<string | null> {
  const value = wrongValues[kind]!();
  let before = 0;
  try {
    const result = await awaited(() => {
      const args = changed(call.text, at, value);
      before = allocated();
      const found = call.run(args);
      return found instanceof Promise ? found : hasNaN(found) ? 'NaN' : null;
    });
    if (takesAnything.has(`${call.name} ${at}`)) return null;
    const isSilent = result === 'NaN' && typeof value !== 'number' && !Array.isArray(value);
    if (isSilent && !hasNaN(tidy(() => call.run(argumentsOf(call.text))))) return 'NaN';
    if (typeof value !== 'symbol' && typeof value !== 'function') return null;
    const given = tidy(() => typeof argumentsOf(call.text)[at]);
    return given !== 'undefined' && given !== 'function' ? 'no error' : null;
  } catch (error) {
    if (!(error instanceof TostaticError)) return String(error);
    if (/undefined|\[object/.test(error.message.split('\n')[0]!)) return error.message;
    return allocated() > before ? `${allocated() - before} bytes are left` : null;
  }
}

describe.each(shareOfDay(Object.entries(calls)))('%s with a wrong argument', (_, own) => {
  it('are rejected by an error of the library', { timeout: 240_000 }, async () => {
    const problems: string[] = [];
    let tried = 0;
    for (const call of own) {
      const count = tidy(() => argumentsOf(call.text).length);
      // Arguments that the tables leave out, too.
      for (let at = call.from; at < count + 2; at++) {
        for (const kind of Object.keys(wrongValues)) {
          tried++;
          const problem = await problemOf(call, at, kind);
          if (problem) problems.push(`${call.name}, argument ${at}, ${kind}: ${problem}`);
        }
      }
    }
    expect(problems).toEqual([]);
    expect(tried).toBeGreaterThan(own.length * 30);
  });
});

/** Take functions that may wait: they return what the function does, or call it later. */
const mayWait = new Set([
  ...['toStatic', 'refcounted', 'scopeOf', 'notToStatic', 'cond', 'Module.apply'],
  ...['profiler.profile', 'profiler.span'],
  ...['Module.registerForwardPreHook', 'Module.registerForwardHook', '.registerHook'],
  ...['Module.registerBackwardHook', 'Module.registerFullBackwardHook'],
]);

it('an async function is rejected wherever its work must be done when it returns', () => {
  const accepted: string[] = [];
  let tried = 0;
  for (const call of Object.values(calls).flat()) {
    const kinds = tidy(() => argumentsOf(call.text).map((value) => typeof value));
    if (!kinds.includes('function') || mayWait.has(call.name)) continue;
    tried++;
    const args = argumentsOf(call.text).map((value) =>
      typeof value === 'function' ? async () => value : value,
    );
    try {
      call.run(args);
      accepted.push(call.name);
    } catch (error) {
      if (!(error instanceof TostaticError)) accepted.push(`${call.name}: ${error}`);
    }
  }
  expect(accepted).toEqual([]);
  expect(tried).toBeGreaterThan(15);
});

/** Not called by captured code, or with results that are not compared. */
const notCaptured =
  /^(toStatic|refcounted|scopeOf|notToStatic|ignoreModule|backwardAsync|withMetaReads|progress|tick|appliedTo|profiler\.span)$/;

const captured = calls;

/** Code of its own for each call: of code that many calls share, entries are compiled for a few of them only. */
const ofItsOwn = new Function('run', 'return eval("(args) => run(args)")') as (
  run: Call['run'],
) => Call['run'];

describe.each(shareOfDay(Object.entries(captured)))('captured %s', (_, own) => {
  it('throw the same errors', { timeout: 240_000 }, () => {
    const problems: string[] = [];
    const kinds = Object.keys(wrongValues);
    let [thrown, traced] = [0, 0];
    own.forEach((call, number) => {
      if (notCaptured.test(call.name)) return;
      const count = tidy(() => argumentsOf(call.text).length);
      const captured = toStatic(ofItsOwn(call.run));
      for (let at = 0; at < count; at++) {
        const value = wrongValues[kinds[(number + at) % kinds.length]!]!();
        const message = (run: Call['run']): string => {
          try {
            tidy(() => {
              const result = run(changed(call.text, at, value));
              // Only what is thrown at once is compared.
              if (result instanceof Promise) result.catch(() => {});
            });
            return 'no error';
          } catch (error) {
            return `${(error as Error).name}: ${(error as Error).message.split('\n')[0]}`;
          }
        };
        const expected = message(call.run);
        if (expected !== 'no error') thrown++;
        const actual = message(captured);
        if (actual !== expected) problems.push(`${call.name} ${at}: ${actual}, not ${expected}`);
      }
      if (captured.stats().translations > 0) traced++;
    });
    expect(problems).toEqual([]);
    expect(thrown).toBeGreaterThan(own.length / 2);
    expect(traced).toBeGreaterThan(own.length * 0.9);
  });
});
