/**
 * In processes that files share, each file starts where the first one did: nothing that an earlier file has set, replaced
 * or drawn decides what a later one sees. What takes a process of its own is listed in `projects.ts`.
 */

import { vi } from 'vitest';
import { currentDevice, deviceNames, setDevice } from '../runtime/device/current.ts';
import { seed } from '../runtime/random/seed.ts';
import { enableToStatic, toStaticEnabled } from '../src/traces/policy.ts';

/** Returns what sets a part of the process back to how it is now. */
type Keep = () => () => void;

const types = [Array, Object, Map, Set, Promise, Number, String, RegExp];
/** Objects of the language that programs under test change. */
const builtins: readonly object[] = [
  ...types,
  ...types.map(({ prototype }) => prototype as object),
  // The prototype of built-in iterators.
  Object.getPrototypeOf(Object.getPrototypeOf([].values())) as object,
  ...[Math, JSON, Reflect, Float32Array.prototype],
];

const keptBuiltin =
  (object: object): Keep =>
  () => {
    const before = Object.getOwnPropertyDescriptors(object) as Record<
      PropertyKey,
      PropertyDescriptor
    >;
    return () => {
      for (const key of Reflect.ownKeys(object)) {
        if (!Object.hasOwn(before, key)) Reflect.deleteProperty(object, key);
      }
      for (const key of Reflect.ownKeys(before)) {
        const [was, is] = [before[key]!, Object.getOwnPropertyDescriptor(object, key)];
        const isSame = is && is.value === was.value && is.get === was.get && is.set === was.set;
        if (!isSame) Object.defineProperty(object, key, was);
      }
    };
  };

/** The variables of the environment, without those that Vitest sets for each file. */
const environment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));

export const kept: Readonly<Record<string, Keep>> = {
  'spies and the clock': () => () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  },
  environment: () => {
    const before = environment();
    return () => {
      for (const name of Object.keys(environment())) {
        if (!Object.hasOwn(before, name)) delete process.env[name];
      }
      Object.assign(process.env, before);
    };
  },
  'working directory': () => {
    const before = process.cwd();
    return () => process.chdir(before);
  },
  'default device': () => {
    // Devices become known when a file imports the library.
    const before = deviceNames().length > 0 ? currentDevice().name : 'cpu';
    return () => {
      if (deviceNames().includes(before)) setDevice(before);
    };
  },
  'random numbers': () => () => seed(0),
  'whether functions are captured': () => {
    const before = toStaticEnabled;
    return () => enableToStatic(before);
  },
  builtins: () => {
    const all = builtins.map((object) => keptBuiltin(object)());
    return () => {
      for (const restore of all) restore();
    };
  },
};

const known = Symbol.for('tostatic.tests.between-files');
const shared = globalThis as { [known]?: readonly (() => void)[] };

shared[known] ??= Object.values(kept).map((keep) => keep());
for (const restore of shared[known]) restore();
