/** The valid calls of the tables, and the same with another value in one place. */

import * as distributions from '../../../runtime/distributions/index.ts';
import * as library from '../../../src/index.ts';
import { nn, Tensor } from '../../../src/index.ts';
import { functions, methods } from './functions.ts';
import { methodsOfObjects, modules, others } from './modules.ts';
import { argumentsOf } from './world.ts';

export interface Call {
  /** `.name` of a method. */
  readonly name: string;
  readonly text: string;
  readonly run: (args: readonly unknown[]) => unknown;
  /** Arguments before this one belong to the receiver. */
  readonly from: number;
}

type AnyFunction = (...args: readonly unknown[]) => unknown;
type AnyClass = new (...args: readonly unknown[]) => nn.Module;

const exported = { ...library, distributions } as unknown as Readonly<Record<string, AnyFunction>>;
const layers = nn as unknown as Readonly<Record<string, AnyClass>>;

const rows = (table: Readonly<Record<string, string>>): [name: string, text: string][] =>
  Object.entries(table).flatMap(([text, names]) =>
    names.split(' ').map((name): [string, string] => [name, text]),
  );

const method = (name: string, text: string): Call => ({
  name: `.${name}`,
  text,
  run: ([x, ...rest]) => Reflect.apply(Reflect.get(x as Tensor, name) as AnyFunction, x, rest),
  from: 1,
});

const ofFunctions = rows(functions).map(
  ([name, text]): Call => ({ name, text, run: (args) => exported[name]!(...args), from: 0 }),
);

/** A function of the same name as a method that is another one stands in both tables. */
const ofMethods = Object.entries(Object.fromEntries([...rows(functions), ...rows(methods)]))
  .filter(([name, text]) => text !== '' && Object.hasOwn(Tensor.prototype, name))
  .map(([name, text]) => method(name, text));

/** Constructors are followed by a forward: some values are only looked at there. */
const ofModules = Object.entries(modules).flatMap(([name, [made, forward]]): Call[] => {
  const layer = (args: readonly unknown[]): nn.Module => new layers[name]!(...args);
  const run = (module: nn.Module, args: readonly unknown[]): unknown => {
    module.eval();
    try {
      return (module as unknown as { forward: AnyFunction }).forward(...args);
    } finally {
      module.dispose();
    }
  };
  const construct = (args: readonly unknown[]) => {
    const module = layer(args);
    return forward === '' ? module.dispose() : run(module, argumentsOf(forward));
  };
  return [
    { name: `nn.${name}`, text: made, run: construct, from: 0 },
    ...(forward === ''
      ? []
      : [
          {
            name: `nn.${name}.forward`,
            text: forward,
            run: (args: readonly unknown[]) => run(layer(argumentsOf(made)), args),
            from: 0,
          },
        ]),
  ];
});

const ofOthers = Object.entries(others).map(([name, text]): Call => {
  const path = name.split('.');
  const owner = path
    .slice(0, -1)
    .reduce((own, key) => own[key] as unknown as typeof exported, exported);
  const last = path.at(-1)!;
  const run = (args: readonly unknown[]): unknown =>
    /^[A-Z]/.test(last)
      ? new (owner[last] as unknown as AnyClass)(...args)
      : Reflect.apply(owner[last]!, owner, args);
  return { name, text, run, from: 0 };
});

const ofObjects = Object.entries(methodsOfObjects).map(
  ([name, text]): Call => ({ ...method(name.split('.')[1]!, text), name }),
);

export const calls = {
  functions: ofFunctions,
  methods: ofMethods,
  modules: ofModules,
  'optimizers, schedules, data, initializers and tools': ofOthers,
  'methods of objects': ofObjects,
} as const;

/** What plain JavaScript may pass for anything. */
export const wrongValues: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  undefined: () => undefined,
  'an empty text': () => '',
  'a text': () => 'x',
  'an object': () => ({}),
  NaN: () => Number.NaN,
  'an empty array': () => [],
  'an array of texts': () => ['x'],
  '-1': () => -1,
  '1.5': () => 1.5,
  true: () => true,
  'a symbol': () => Symbol('s'),
  'a function': () => () => 1,
};

/** The arguments, with another one in a place, or behind them. */
export function changed(text: string, at: number, value: unknown): unknown[] {
  const args = argumentsOf(text);
  while (args.length < at) args.push(undefined);
  args[at] = value;
  return args;
}
