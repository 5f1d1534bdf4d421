import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { currentDevice } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { assertNever } from '../../runtime/errors/invariant.ts';
import type { DType } from '../../runtime/tensor/dtype.ts';
import { formatSpec } from '../../runtime/tensor/meta.ts';
import { type Shape, sameShape } from '../../runtime/tensor/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Primitive } from '../bytecode/instructions.ts';
import { compileReader, printSource, type Source, type SourceNames } from './source.ts';

/** One fact about the inputs that a compiled entry relies on. */
export type Guard =
  | { readonly kind: 'gradMode'; readonly enabled: boolean }
  | { readonly kind: 'device'; readonly device: Device }
  | { readonly kind: 'value'; readonly source: Source; readonly value: Primitive }
  /** Only whether the value counts as true decided something. */
  | { readonly kind: 'truthy'; readonly source: Source; readonly truthy: boolean }
  | { readonly kind: 'defined'; readonly source: Source }
  | { readonly kind: 'typeof'; readonly source: Source; readonly type: string }
  | { readonly kind: 'identity'; readonly source: Source; readonly value: object }
  /** The own enumerable keys, in order, of a plain object. */
  | { readonly kind: 'keys'; readonly source: Source; readonly keys: readonly string[] }
  | { readonly kind: 'array'; readonly source: Source }
  | {
      readonly kind: 'tensor';
      readonly source: Source;
      readonly dtype: DType;
      readonly shape: Shape;
      readonly device: Device;
      readonly requiresGrad: boolean;
    };

/** Cheapest first: an entry that doesn't fit should be left after few reads. */
const cost: { readonly [K in Guard['kind']]: number } = {
  gradMode: 0,
  device: 1,
  truthy: 2,
  defined: 2,
  typeof: 2,
  value: 3,
  identity: 4,
  array: 5,
  tensor: 6,
  keys: 7,
};

type Check = (frames: readonly Frame[]) => boolean;

function compileCheck(guard: Guard): Check {
  switch (guard.kind) {
    case 'gradMode':
      return () => gradEnabled() === guard.enabled;
    case 'device':
      return () => currentDevice() === guard.device;
    default: {
      const read = compileReader(guard.source);
      const test = compileTest(guard);
      return (frames) => test(read(frames));
    }
  }
}

function compileTest(
  guard: Exclude<Guard, { kind: 'gradMode' | 'device' }>,
): (value: unknown) => boolean {
  switch (guard.kind) {
    case 'value':
      return (value) => Object.is(value, guard.value);
    case 'truthy':
      return (value) => !!value === guard.truthy;
    case 'defined':
      return (value) => value !== undefined && value !== null;
    case 'typeof':
      // biome-ignore lint/suspicious/useValidTypeof: the type was read by typeof.
      return (value) => typeof value === guard.type;
    case 'identity':
      return (value) => value === guard.value;
    case 'array':
      return (value) => Array.isArray(value);
    case 'keys':
      return (value) => hasKeys(value, guard.keys);
    case 'tensor': {
      const { dtype, shape, device, requiresGrad } = guard;
      return (value) =>
        value instanceof Tensor &&
        value.dtype === dtype &&
        value.device === device &&
        value.requiresGrad === requiresGrad &&
        sameShape(value.shape, shape) &&
        // A disposed tensor must raise its error where eager execution raises it.
        value.holder !== null;
    }
    default:
      return assertNever(guard, 'guard');
  }
}

function hasKeys(value: unknown, keys: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const own = Object.keys(value);
  return own.length === keys.length && own.every((key, i) => key === keys[i]);
}

/** All guards of one entry as one function. A read that throws is a miss. */
export class GuardSet {
  readonly guards: readonly Guard[];
  readonly #checks: readonly Check[];

  constructor(guards: readonly Guard[]) {
    this.guards = [...guards].sort((a, b) => cost[a.kind] - cost[b.kind]);
    this.#checks = this.guards.map(compileCheck);
  }

  holds(frames: readonly Frame[]): boolean {
    return this.firstFailing(frames) === undefined;
  }

  /** For explanations and look-up alike: the first guard that doesn't hold. */
  firstFailing(frames: readonly Frame[]): Guard | undefined {
    const checks = this.#checks;
    let i = 0;
    try {
      while (i < checks.length && checks[i]!(frames)) i++;
    } catch {
      // Reading through something that is no longer an object: that guard failed.
    }
    return this.guards[i];
  }
}

export function printGuard(guard: Guard, names: SourceNames): string {
  switch (guard.kind) {
    case 'gradMode':
      return `gradients are ${guard.enabled ? 'recorded' : 'not recorded'}`;
    case 'device':
      return `the current device is ${guard.device.name}`;
    case 'value':
      return `${printSource(guard.source, names)} === ${printPrimitive(guard.value)}`;
    case 'truthy':
      return `${guard.truthy ? '' : '!'}${printSource(guard.source, names)}`;
    case 'defined':
      return `${printSource(guard.source, names)} != null`;
    case 'typeof':
      return `typeof ${printSource(guard.source, names)} === '${guard.type}'`;
    case 'identity':
      return `${printSource(guard.source, names)} is the same ${typeof guard.value}`;
    case 'array':
      return `Array.isArray(${printSource(guard.source, names)})`;
    case 'keys':
      return `Object.keys(${printSource(guard.source, names)}) is [${guard.keys.join(', ')}]`;
    case 'tensor': {
      const gradient = guard.requiresGrad ? ' with gradient' : '';
      const source = printSource(guard.source, names);
      return `${source}: ${formatSpec(guard)} on ${guard.device.name}${gradient}`;
    }
    default:
      return assertNever(guard, 'guard');
  }
}

function printPrimitive(value: Primitive): string {
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
