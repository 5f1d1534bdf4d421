/** Methods of strings and regular expressions that search known text. */

import { newObject, setOwnProperty } from '../heap/made-objects.ts';
import { orRaise } from '../state/exceptions.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, isUndefined } from '../state/value-guards.ts';
import { iteratorOver } from '../values/iterators.ts';
import {
  asRegExp,
  copyOf,
  lastIndexOf,
  newRegExp,
  type RegularExpression,
  withRegExp,
} from '../values/objects/regular-expressions.ts';
import {
  isCallable,
  isPrimitiveVariable,
  textOfPrimitive,
  textOfPrimitives,
  withPrimitive,
} from '../values/to-primitive.ts';
import { specialized } from '../variables/unions.ts';
import { known, newArray, undefinedVariable, type Variable } from '../variables/variable.ts';
import type { Builtin, BuiltinTable, HostFunction } from './builtin.ts';

type RegExpSearch = (
  t: Tracer,
  text: string,
  expression: RegularExpression,
  args: readonly Variable[],
) => Variable | undefined;

/** `text.method(expression, …)` */
function inText(body: RegExpSearch): Builtin {
  return (t, receiver, [pattern, ...args]) => {
    const expression = asRegExp(pattern);
    if (!expression || receiver.kind !== 'constant') return undefined;
    const text = constantOf(t, receiver);
    return typeof text === 'string' ? body(t, text, expression, args) : undefined;
  };
}

/** `expression.method(text)` */
function byExpression(body: RegExpSearch): Builtin {
  return (t, receiver, [argument = undefinedVariable]) => {
    const expression = asRegExp(receiver);
    if (!expression) return undefined;
    return withPrimitive(t, argument, 'string', (text) =>
      body(t, textOfPrimitive(t, text), expression, []),
    );
  };
}

/** Returns the result of `exec`: the match with its groups, or null. */
function matchVariable(t: Tracer, match: RegExpExecArray | null): Variable {
  if (!match) return known(null);
  const named = new Map<string, Variable>([
    ['index', known(match.index)],
    ['input', known(match.input)],
    ['groups', undefinedVariable],
  ]);
  if (match.groups) {
    const groups = newObject(t, null);
    for (const [key, value] of Object.entries(match.groups)) {
      setOwnProperty(t, groups, key, known(value));
    }
    named.set('groups', groups);
  }
  if (match.indices) named.set('indices', indicesVariable(t, match.indices));
  return { ...newArray(Array.from(match, (part) => known(part))), named };
}

/** Returns the start and end indices of the match and its groups. */
function indicesVariable(t: Tracer, indices: RegExpIndicesArray): Variable {
  const places = (place: readonly number[] | undefined): Variable =>
    place ? newArray(place.map((each) => known(each))) : undefinedVariable;
  const named = new Map<string, Variable>([['groups', undefinedVariable]]);
  if (indices.groups) {
    const groups = newObject(t, null);
    for (const [key, place] of Object.entries(indices.groups)) {
      setOwnProperty(t, groups, key, places(place));
    }
    named.set('groups', groups);
  }
  return { ...newArray(Array.from(indices, places)), named };
}

const match: RegExpSearch = (t, text, expression) =>
  withRegExp(t, expression, (regexp) => {
    const found = text.match(regexp);
    if (!regexp.global || !found) return matchVariable(t, found as RegExpExecArray | null);
    return newArray(found.map((part) => known(part)));
  });

const matchAll: RegExpSearch = (t, text, expression) => {
  const regexp = copyOf(t, expression);
  regexp.lastIndex = lastIndexOf(t, expression);
  return allMatches(t, () => text.matchAll(regexp));
};

/** `expression[Symbol.matchAll](text)`, which doesn't require the flag g. */
const matchAllBySymbol: RegExpSearch = (t, text, expression) => {
  const regexp = copyOf(t, expression);
  regexp.lastIndex = lastIndexOf(t, expression);
  return allMatches(t, () => regexp[Symbol.matchAll](text));
};

function allMatches(t: Tracer, search: () => Iterable<RegExpExecArray>): Variable {
  const found = orRaise(t, () => [...search()]);
  return iteratorOver(t, newArray(found.map((each) => matchVariable(t, each))), 'values');
}

/** `text.replace(pattern, replacement)`. A replacement function is called for each match, in order. */
function replaced(method: 'replace' | 'replaceAll'): Builtin {
  return (t, receiver, [pattern = undefinedVariable, argument = undefinedVariable]) => {
    const text = receiver.kind === 'constant' ? constantOf(t, receiver) : undefined;
    if (typeof text !== 'string') return undefined;
    const replacement = specialized(argument);
    const replace = (by: string | Replacer, search: string | RegExp): string =>
      orRaise(t, () => text[method](search, by as string));
    const body = (search: string | RegExp): Variable => {
      if (isCallable(replacement))
        return replacedByCalls(t, text, replacement, (by) => replace(by, search));
      return withPrimitive(t, replacement, 'string', (by) =>
        known(replace(textOfPrimitive(t, by), search)),
      );
    };
    const expression = asRegExp(specialized(pattern));
    if (expression) return withRegExp(t, expression, body);
    const search = specialized(pattern);
    return isPrimitiveVariable(search) ? body(textOfPrimitive(t, search)) : undefined;
  };
}

type Replacer = (...match: unknown[]) => string;

function replacedByCalls(
  t: Tracer,
  text: string,
  replacement: Variable,
  replace: (by: Replacer) => unknown,
): Variable {
  const pieces: Variable[] = [];
  let end = 0;
  replace((...args) => {
    const at = args.findIndex((arg, i) => i > 0 && typeof arg === 'number');
    const [found, start] = [args[0] as string, args[at] as number];
    const operands = args.map((arg) => operandOf(t, arg));
    const result = t.execution.callInside(replacement, undefinedVariable, operands);
    pieces.push(known(text.slice(end, start)));
    pieces.push(withPrimitive(t, result, 'string', (piece) => piece));
    end = start + found.length;
    return '';
  });
  return textOfPrimitives(t, [...pieces, known(text.slice(end))]);
}

/** Returns an argument of the replacement function: part of a match, an index, the text, or the named groups. */
function operandOf(t: Tracer, value: unknown): Variable {
  if (typeof value !== 'object' || value === null) return known(value as string | number);
  const groups = newObject(t, null);
  for (const [key, part] of Object.entries(value))
    setOwnProperty(t, groups, key, known(part as string));
  return groups;
}

const split: RegExpSearch = (t, text, expression, [limit]) => {
  const most = !limit || isUndefined(t, limit) ? undefined : Number(constantOf(t, limit));
  return newArray(text.split(copyOf(t, expression), most).map((part) => known(part)));
};

const execute: RegExpSearch = (t, text, expression) =>
  withRegExp(t, expression, (regexp) => matchVariable(t, regexp.exec(text)));

const fields = [
  'source',
  'flags',
  'global',
  'ignoreCase',
  'multiline',
  'dotAll',
  'unicode',
  'sticky',
  'hasIndices',
  'unicodeSets',
] as const;

const getters = fields.flatMap((field): (readonly [HostFunction, Builtin])[] => {
  const get = Object.getOwnPropertyDescriptor(RegExp.prototype, field)?.get;
  if (!get) return [];
  return [
    [
      get as HostFunction,
      (t, receiver) => {
        const expression = asRegExp(receiver);
        return expression && known(Reflect.apply(get, copyOf(t, expression), []) as string);
      },
    ],
  ];
});

/** `expression[Symbol.match](text, …)`, which equals `text.match(expression, …)`. */
function bySymbol(symbol: symbol, builtin: Builtin): readonly [HostFunction, Builtin] {
  const fn = (RegExp.prototype as unknown as Readonly<Record<symbol, HostFunction>>)[symbol]!;
  return [
    fn,
    (t, receiver, [argument = undefinedVariable, ...rest]) => {
      const text = specialized(argument);
      if (!asRegExp(receiver) || !isPrimitiveVariable(text)) return undefined;
      return builtin(t, known(textOfPrimitive(t, text)), [receiver, ...rest]);
    },
  ];
}

const search: RegExpSearch = (t, text, expression) => known(text.search(copyOf(t, expression)));

export const regularExpressionBuiltins: BuiltinTable = [
  bySymbol(Symbol.match, inText(match)),
  bySymbol(Symbol.matchAll, inText(matchAllBySymbol)),
  bySymbol(Symbol.replace, replaced('replace')),
  bySymbol(Symbol.search, inText(search)),
  bySymbol(Symbol.split, inText(split)),
  [
    RegExp as unknown as HostFunction,
    (t, _receiver, args) => (asRegExp(args[0]) ? undefined : newRegExp(t, args)),
  ],
  [String.prototype.match, inText(match)],
  [String.prototype.matchAll, inText(matchAll)],
  [String.prototype.replace, replaced('replace')],
  [String.prototype.replaceAll, replaced('replaceAll')],
  [String.prototype.search, inText(search)],
  [String.prototype.split, inText(split)],
  [
    String.prototype[Symbol.iterator] as unknown as HostFunction,
    (t, receiver) => {
      const text = receiver.kind === 'constant' ? constantOf(t, receiver) : undefined;
      if (typeof text !== 'string') return undefined;
      return iteratorOver(t, newArray([...text].map((letter) => known(letter))), 'values');
    },
  ],
  [RegExp.prototype.exec, byExpression(execute)],
  [
    RegExp.prototype.test,
    byExpression((t, text, expression) =>
      withRegExp(t, expression, (regexp) => known(regexp.test(text))),
    ),
  ],
  [
    RegExp.prototype.toString,
    (t, receiver) => {
      const expression = asRegExp(receiver);
      return expression && known(String(copyOf(t, expression)));
    },
  ],
  ...getters,
];
