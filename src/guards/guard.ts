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

/** Null: any size from 2 on; `any`: 0 and 1 as well. */
export type GuardedSize = number | null | 'any';

/** Null: contiguous; 'any': not contiguous, which strides the entries of each set of sizes know. */
export type GuardedStrides = readonly number[] | 'any' | null;

/** The property that a name leads to. */
export interface InheritedProperty {
  readonly key: string | symbol;
  /** Undefined: not a getter. */
  readonly getter: unknown;
  /** The value of a property without a getter. */
  readonly value: unknown;
}

/** One fact about the inputs that a compiled entry relies on. */
export type Guard =
  | { readonly kind: 'gradMode'; readonly enabled: boolean }
  | { readonly kind: 'device'; readonly device: Device }
  /** The device that `deviceGuard` has ops computed on; null outside of one. */
  | { readonly kind: 'opDevice'; readonly device: Device | null }
  | ValueGuard<Source, Primitive | symbol>
  | NumberGuard<TracedNumber>
  /** A variable that was read is past its `let`, `const` or `class`. */
  | { readonly kind: 'initialized'; readonly source: Source }
  | { readonly kind: 'identity'; readonly source: Source; readonly value: object }
  | SameGuard<Source>
  /** Each of the sources leads to an object of its own, which is none of the others. */
  | {
      readonly kind: 'distinct';
      readonly sources: readonly Source[];
      readonly others: readonly Source[];
    }
  /** A backward ends at the tensor, without a hook. */
  | { readonly kind: 'leaf'; readonly source: Source }
  /** A function that bytecode made: its code and names; its cells are read through it. */
  | {
      readonly kind: 'closure';
      readonly source: Source;
      readonly code: Code;
      readonly scope: Scope;
      readonly homeObject: object | undefined;
    }
  /** A function of the user's, not bound: its code; the variables around it are read through it. */
  | { readonly kind: 'code'; readonly source: Source; readonly code: Code }
  /** One of the built-in collections; `plain`: with nothing of the user's on it. */
  | {
      readonly kind: 'collection';
      readonly source: Source;
      readonly type: CollectionType;
      readonly plain: boolean;
    }
  /** The keys of a Map or Set, in order. */
  | { readonly kind: 'members'; readonly source: Source; readonly keys: readonly unknown[] }
  /** A change that the trace makes after the run: it runs none of the user's code, and is not rejected. */
  | {
      readonly kind: 'change';
      readonly source: Source;
      readonly key: string | symbol;
      readonly change: Change;
    }
  /** Properties that the trace has read without asking for their value: no getter stands there. */
  | { readonly kind: 'data'; readonly sources: readonly Source[] }
  /** Properties that a prototype has, or inherits: the same values, or the same getters. */
  | {
      readonly kind: 'prototype';
      readonly source: Source;
      readonly properties: readonly InheritedProperty[];
    }
  /** A tensor that has everything of these names from `Tensor.prototype`. */
  | { readonly kind: 'bare'; readonly source: Source; readonly keys: readonly PropertyKey[] }
  | KeysGuard<Source>
  /** An array of no subclass, iterated by the built-in iterator. */
  | { readonly kind: 'plainArray'; readonly source: Source }
  | (TensorGuard<Source, GuardedSize> & {
      readonly strides: GuardedStrides;
      readonly device: Device;
      readonly requiresGrad: boolean;
    });

/** Cheapest first: an entry that doesn't fit should be left after few reads. */
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

/** After this many hits, the checks are generated as code: the first calls of an entry don't pay for it. */
const hotAfter = 200;
/** Fewer guards are as fast one by one. */
const fewest = 3;

/** All guards of one entry as one function. A read that throws is a miss. */
export class GuardSet {
  readonly guards: readonly Guard[];
  readonly #checks: readonly Check[];
  readonly #reads = new PlainReads();
  readonly #sizes: readonly number[];
  /** How often all held. */
  #hits = 0;
  /** All checks as one function, once that pays. */
  #generated: Check | undefined;
  /** The checks of the same frozen objects as before, which spare those of what they hold. */
  #fixed: Check | undefined;

  /** `sizes`: those of results, which guards on numbers may ask for. */
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
      const generate = (guards: readonly Guard[]) => generateChecks(guards, this.#sizes);
      const fixed = withoutFixed(this.guards, frames);
      this.#fixed = fixed ? generate(fixed) : undefined;
      this.#generated = generate(this.guards);
    }
    return true;
  }

  /** For explanations and look-ups: the first guard that doesn't hold. */
  firstFailing(frames: readonly Frame[]): Guard | undefined {
    const checks = this.#checks;
    let i = 0;
    try {
      while (i < checks.length && checks[i]!(frames)) i++;
    } catch {
      // Reading through something that is no longer an object, or a getter: that guard failed.
    } finally {
      this.#reads.forget();
    }
    return this.guards[i];
  }
}
