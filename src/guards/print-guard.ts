import { assertNever } from '../../runtime/errors/invariant.ts';
import { plural } from '../../runtime/errors/plural.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import type { Primitive } from '../vm/bytecode/instructions.ts';
import type { Guard } from './guard.ts';
import { printNumber } from './number-expr.ts';
import type { Change } from './plain.ts';
import { printSource, type Source, type SourceNames } from './source.ts';

/** Prints the guard as a line of JavaScript, or of English if there is none. */
export function printGuard(guard: Guard, names: SourceNames): string {
  switch (guard.kind) {
    case 'gradMode':
      return `gradients are ${guard.enabled ? 'recorded' : 'not recorded'}`;
    case 'device':
      return `the current device is ${guard.device.name}`;
    case 'opDevice':
      return guard.device
        ? `deviceGuard has ops computed on ${guard.device.name}`
        : 'no deviceGuard is around the call';
    case 'number':
      return printNumberGuard(guard, names);
    case 'distinct':
      return printDistinct(guard, names);
    case 'data': {
      const places = guard.sources.map((source) => printSource(source, names));
      return `${places.join(', ')}: no getter`;
    }
    default:
      return printAbout(guard, printSource(guard.source, names), names);
  }
}

function printNumberGuard({ expr, value }: Guard & { kind: 'number' }, names: SourceNames): string {
  const text = printNumber(expr, names);
  if (typeof value === 'number') return `${text} === ${printPrimitive(value)}`;
  return value ? text : `!(${text})`;
}

function printDistinct(
  { sources, others }: Guard & { kind: 'distinct' },
  names: SourceNames,
): string {
  const list = (each: readonly Source[]) => each.map((source) => printSource(source, names));
  const none = others.length > 0 ? `none of ${list(others).join(', ')}` : '';
  if (sources.length === 1) return `${list(sources)[0]} is ${none}`;
  return `${list(sources).join(', ')} are different objects${none && `, ${none}`}`;
}

function printAbout(
  guard: Exclude<
    Guard,
    { kind: 'gradMode' | 'device' | 'opDevice' | 'number' | 'distinct' | 'data' }
  >,
  source: string,
  names: SourceNames,
): string {
  switch (guard.kind) {
    case 'value':
      return `${source} === ${printPrimitive(guard.value)}`;
    case 'truthy':
      return `${guard.truthy ? '' : '!'}${source}`;
    case 'defined':
      return `${source} != null`;
    case 'typeof':
      return `typeof ${source} === '${guard.type}'`;
    case 'initialized':
      return `${source} is initialised`;
    case 'identity':
      return `${source} is the same ${typeof guard.value}`;
    case 'same':
      return `${source} ${guard.same ? '===' : '!=='} ${printSource(guard.other, names)}`;
    case 'code':
    case 'closure':
      return `${source} is made by ${guard.code.name || 'the same function expression'}`;
    case 'bound':
      return `${source} is bound, with ${plural(guard.args, 'argument')}`;
    case 'leaf':
      return `${source} is a leaf without hooks`;
    case 'isArray':
      return `${guard.isArray ? '' : '!'}Array.isArray(${source})`;
    case 'plainArray':
      return `Array.isArray(${source})`;
    case 'collection':
      return `${source} is a ${guard.type}`;
    case 'members':
      return `${source} has the same ${guard.keys.length} keys`;
    case 'change':
      return `${source}${changes[guard.change](String(guard.key))}`;
    case 'keys':
      return `Object.keys(${source}) is [${guard.keys.join(', ')}]`;
    case 'prototype': {
      const names = guard.properties.map(({ key }) => printKey(key));
      return `${source} has the same ${names.join(', ')}`;
    }
    case 'bare':
      return `${source} has no ${guard.keys.map(printKey).join(', ')} of its own`;
    case 'tensor': {
      const { strides } = guard;
      const which = strides === 'any' ? 'of its own' : `[${strides?.join(',')}]`;
      const layout = strides ? ` with strides ${which}` : '';
      const gradient = guard.requiresGrad ? ' with gradient' : '';
      const shape = guard.shape.map((size) => (typeof size === 'number' ? size : '?'));
      return `${source}: ${dtypes[guard.dtype].short}[${shape.join(',')}]${layout} on ${guard.device.name}${gradient}`;
    }
    default:
      return assertNever(guard, 'guard');
  }
}

const printKey = (key: PropertyKey): string =>
  typeof key === 'symbol' ? `[${key.description}]` : String(key);

const changes: { readonly [C in Change]: (key: string) => string } = {
  write: (key) => `.${key} can be assigned without a setter`,
  writeBelow: (key) => ` has no setter of ${key} for what inherits from it`,
  delete: (key) => `.${key} can be deleted`,
  resize: () => ' can grow and shrink',
};

function printPrimitive(value: Primitive | symbol): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
