import type { Device } from '../../runtime/device/device.ts';
import type {
  KeysGuard,
  NumberGuard,
  SameGuard,
  TensorGuard,
  ValueGuard,
} from '../../runtime/entry/guard.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame, Scope } from '../vm/bytecode/frame.ts';
import type { Primitive } from '../vm/bytecode/instructions.ts';
import { mayGenerate } from '../vm/machine/may-generate.ts';
import { type Check, compileCheck } from './check-guard.ts';
import type { CollectionType } from './collection-slots.ts';
import { withoutFixed } from './fixed-guards.ts';
import { generateChecks } from './generate-checks.ts';
import type { TracedNumber } from './number-expr.ts';
import type { Change } from './plain.ts';
import { PlainReads } from './plain-reads.ts';
import type { Source } from './source.ts';

/** A guarded size; null for any from 2 on, `any` also for 0 and 1. */
export type GuardedSize = number | null | 'any';

/** Null for contiguous; 'any' for non-contiguous, with strides that the entries of each set of sizes know. */
export type GuardedStrides = readonly number[] | 'any' | null;

/** The property that a name resolves to. */
export interface InheritedProperty {
  readonly key: string | symbol;
  /** Undefined if the property is no getter. */
  readonly getter: unknown;
  /** The value of a property without a getter. */
  readonly value: unknown;
}

/** One fact about the inputs that a compiled entry relies on. */
export type Guard =
  | { readonly kind: 'gradMode'; readonly enabled: boolean }
  | { readonly kind: 'device'; readonly device: Device }
  /** The device selected by `deviceGuard`; null outside it. */
  | { readonly kind: 'opDevice'; readonly device: Device | null }
  | ValueGuard<Source, Primitive | symbol>
  | NumberGuard<TracedNumber>
  /** A variable was read after its `let`, `const` or `class` had run. */
  | { readonly kind: 'initialized'; readonly source: Source }
  | { readonly kind: 'identity'; readonly source: Source; readonly value: object }
  | SameGuard<Source>
  /** All sources lead to distinct objects. */
  | {
      readonly kind: 'distinct';
      readonly sources: readonly Source[];
      readonly others: readonly Source[];
    }
  /** The tensor is a leaf without a hook, where backward ends. */
  | { readonly kind: 'leaf'; readonly source: Source }
  /** A function created by bytecode: its code and names; its cells are read through it. */
  | {
      readonly kind: 'closure';
      readonly source: Source;
      readonly code: Code;
      readonly scope: Scope;
      readonly homeObject: object | undefined;
    }
  /** An unbound user function: its code; its free variables are read through it. */
  | { readonly kind: 'code'; readonly source: Source; readonly code: Code }
  /** A function created by `bind` with this number of arguments; its parts are read through it. */
  | { readonly kind: 'bound'; readonly source: Source; readonly args: number }
  /** A built-in collection; `plain`: without user properties. */
  | {
      readonly kind: 'collection';
      readonly source: Source;
      readonly type: CollectionType;
      readonly plain: boolean;
    }
  /** The keys of a Map or Set, in order. */
  | { readonly kind: 'members'; readonly source: Source; readonly keys: readonly unknown[] }
  /** A change that the trace makes after the run: it runs no user code and doesn't throw. */
  | {
      readonly kind: 'change';
      readonly source: Source;
      readonly key: string | symbol;
      readonly change: Change;
    }
  /** Properties that the trace enumerated without reading their values are no getters. */
  | { readonly kind: 'data'; readonly sources: readonly Source[] }
  /** Properties of a prototype, own or inherited, have the same values or getters. */
  | {
      readonly kind: 'prototype';
      readonly source: Source;
      readonly properties: readonly InheritedProperty[];
    }
  /** The tensor has all these properties from `Tensor.prototype`. */
  | { readonly kind: 'bare'; readonly source: Source; readonly keys: readonly PropertyKey[] }
  | KeysGuard<Source>
  /** An instance of Array itself, iterated by the built-in iterator. */
  | { readonly kind: 'plainArray'; readonly source: Source }
  | (TensorGuard<Source, GuardedSize> & {
      readonly strides: GuardedStrides;
      readonly device: Device;
      readonly requiresGrad: boolean;
    });

/** Cheapest first: an entry that doesn't fit should fail after few reads. */
const cost: { readonly [K in Guard['kind']]: number } = {
  gradMode: 0,
  device: 1,
  opDevice: 1,
  truthy: 2,
  defined: 2,
  typeof: 2,
  initialized: 2,
  value: 3,
  number: 3,
  identity: 4,
  same: 5,
  prototype: 5,
  isArray: 5,
  plainArray: 5,
  closure: 5,
  code: 5,
  bound: 5,
  collection: 5,
  tensor: 6,
  bare: 6,
  leaf: 6,
  distinct: 7,
  keys: 8,
  members: 8,
  change: 9,
  data: 9,
};

/** The number of hits after which the checks are compiled to code: an entry's first calls don't pay for that. */
const hotAfter = 200;
/** With fewer guards, generated code isn't faster. */
const fewest = 3;

/** All guards of one entry as one function. A read that throws is a miss. */
export class GuardSet {
  readonly guards: readonly Guard[];
  readonly #checks: readonly Check[];
  readonly #reads = new PlainReads();
  readonly #sizes: readonly number[];
  /** How often all guards held. */
  #hits = 0;
  /** All checks as one generated function, once that pays off. */
  #generated: Check | undefined;
  /** Checks specialized for the frozen objects seen last, which replace guards on their content. */
  #fixed: Check | undefined;

  /** `sizes`: sizes of results, which guards on numbers may read. */
  constructor(guards: readonly Guard[], sizes: readonly number[] = []) {
    this.#sizes = sizes;
    this.guards = [...guards].sort((a, b) => cost[a.kind] - cost[b.kind]);
    this.#checks = this.guards.map((guard) => compileCheck(guard, sizes, this.#reads));
  }

  holds(frames: readonly Frame[]): boolean {
    if (this.#fixed?.(frames)) return true;
    if (this.#generated) return this.#generated(frames);
    if (this.firstFailing(frames) !== undefined) return false;
    if (++this.#hits === hotAfter && this.guards.length >= fewest && mayGenerate()) {
      const fixed = withoutFixed(this.guards, frames);
      this.#fixed = fixed ? generateChecks(fixed, this.#sizes, frames) : undefined;
      this.#generated = generateChecks(this.guards, this.#sizes, frames);
    }
    return true;
  }

  /** Returns the guards that don't hold, except those whose location can't be read. */
  failing(frames: readonly Frame[]): Guard[] {
    try {
      return this.guards.filter((_, i) => {
        try {
          return !this.#checks[i]!(frames);
        } catch {
          return false;
        }
      });
    } finally {
      this.#reads.forget();
    }
  }

  /** Returns the first guard that doesn't hold, for explanations and lookups. */
  firstFailing(frames: readonly Frame[]): Guard | undefined {
    const checks = this.#checks;
    let i = 0;
    try {
      while (i < checks.length && checks[i]!(frames)) i++;
    } catch {
      // A read through something that is no longer an object, or through a getter, fails the guard.
    } finally {
      this.#reads.forget();
    }
    return this.guards[i];
  }
}
