import { noGrad } from '../../autograd/grad-mode.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { copy_ } from '../../ops/in-place/in-place.ts';
import { expectOptions, type OptionKinds, shown } from '../../options/expect-options.ts';
import { flag, that } from '../../options/option-kinds.ts';
import { sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** Tensors by path, such as `layers.0.weight`. The caller may replace, add and delete entries of the record. */
export type StateDict = Record<string, Tensor>;

export interface LoadOptions {
  /** Requires identical names; true by default. */
  readonly strict?: boolean;
  /** Maps the module's tensor names to the given state's: a function, or a record of differing names. */
  readonly names?: StateNames;
}

export const loadKinds: OptionKinds<LoadOptions> = {
  strict: flag,
  names: that(
    'a function of a name, or an object of names',
    (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
  ),
};

/** Maps the module's own names to the names in a state created elsewhere. */
export type StateNames = ((name: string) => string) | Readonly<Record<string, string>>;

/** Returns the state's name for one of the module's own names. */
function nameIn(name: string, names: StateNames | undefined): string {
  if (names === undefined) return name;
  if (typeof names === 'function') return names(name);
  return Object.hasOwn(names, name) ? names[name]! : name;
}

/** Returns other names that a state may have for one of the module's own names; the module that makes them adds it. */
type OtherNames = (name: string) => readonly string[];

export const otherNames: OtherNames[] = [];

/** Returns the name under which a state `has` the tensor, or would have it. */
export function nameAmong(
  name: string,
  names: StateNames | undefined,
  has: (there: string) => boolean,
): string {
  const there = nameIn(name, names);
  if (has(there)) return there;
  const others = otherNames.flatMap((of) => of(name));
  return others.map((other) => nameIn(other, names)).find(has) ?? there;
}

/** Names that only one side has. */
export interface LoadResult {
  /** Names of the module that the state lacks. */
  readonly missing: readonly string[];
  /** Names of the state that the module lacks. */
  readonly unexpected: readonly string[];
}

/** Copies values by name. If any entry doesn't fit, copies nothing. */
export function loadInto(current: StateDict, state: StateDict, options: LoadOptions): LoadResult {
  if (typeof state !== 'object' || state === null || state instanceof Promise) {
    throw new ArgumentError({
      what: 'loadStateDict: not a state',
      given: shown(state),
      expected: 'an object with a tensor for each name',
      remedy: 'pass what stateDict() of a module returned',
    });
  }
  expectOptions('loadStateDict', options, loadKinds);
  const has = (name: string) => Object.hasOwn(state, name);
  const there = new Map(
    Object.keys(current).map((name) => [name, nameAmong(name, options.names, has)]),
  );
  const missing = Object.keys(current).filter((name) => !Object.hasOwn(state, there.get(name)!));
  const expected = new Set(there.values());
  const unexpected = Object.keys(state).filter((name) => !expected.has(name));
  if ((options.strict ?? true) && missing.length + unexpected.length > 0) {
    throw new ArgumentError({
      what: "loadStateDict: the names don't fit",
      given: [listed('missing', missing), listed('unexpected', unexpected)].join('; '),
      expected: `the module's ${Object.keys(current).length} names`,
      remedy:
        'map names with { names }, leave out entries, or pass { strict: false } to load what fits',
    });
  }
  const names = Object.keys(current).filter((name) => Object.hasOwn(state, there.get(name)!));
  const loaded = Object.fromEntries(names.map((name) => [name, state[there.get(name)!]!]));
  const wrong = names.filter((name) => !sameShape(current[name]!.shape, loaded[name]!.shape));
  if (wrong.length > 0) {
    throw new ShapeError({
      what: 'loadStateDict: the shapes differ',
      given: wrong.map((name) => `${name} ${formatSpec(loaded[name]!)}`).join(', '),
      expected: wrong.map((name) => `${name} ${formatSpec(current[name]!)}`).join(', '),
      remedy: 'build the module with the sizes that the state was saved with',
    });
  }
  noGrad(() => {
    for (const name of names) tidy(() => void copyInto(current[name]!, loaded[name]!));
  });
  return { missing, unexpected };
}

function copyInto(target: Tensor, source: Tensor): void {
  copy_(target, source.device === target.device ? source : source.to(target.device));
}

function listed(what: string, names: readonly string[]): string {
  return `${what}: ${names.length > 0 ? names.join(', ') : 'none'}`;
}
