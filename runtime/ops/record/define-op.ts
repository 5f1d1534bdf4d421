import {
  type Attrs,
  type Kernel,
  type KernelOp,
  type OperandUse,
  userName,
} from '../../device/kernel-op.ts';
import type { TensorMeta, TensorSpec } from '../../device/tensor-meta.ts';
import { invariant } from '../../errors/invariant.ts';
import { isTensor } from '../../options/is-tensor.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { nodesOf } from '../expr/expr-nodes.ts';
import type { AttrRules } from './attr-rules.ts';
import { noTensor } from './expect-tensors.ts';
import { type DTypeRule, expectOperandDTypes } from './operand-dtypes.ts';
import { expectNumber } from './positional.ts';
import type { RowRule } from './row-cuts.ts';

/** The part of a forward value kept for backward: its data, or only dtype, shape and device. */
export type SaveKind = 'value' | 'shape';

/** The gradient for one operand; computed, and its values saved, only if the operand needs one. */
export interface Gradient<Names extends string = string> {
  readonly saves: { readonly [N in Names]?: SaveKind };
  /** `index` is the input that the gradient is for; each input of a variadic op has its own. */
  readonly rule: (
    saved: Readonly<Record<string, Tensor>>,
    gradOutput: Tensor,
    attrs: Attrs,
    index: number,
  ) => Tensor;
}

type SavedValues<S extends Readonly<Record<string, SaveKind>>> = {
  readonly [N in keyof S]: S[N] extends 'value' ? Tensor : TensorMeta;
};

/**
 * Declares what backward needs, then the rule. Rules are composed of ops, so that the same rule serves eager
 * backward and backward programs. For a value saved as `shape`, the rule only sees the meta.
 */
export function saving<const S extends Readonly<Record<string, SaveKind>>>(
  saves: S,
  rule: (saved: SavedValues<S>, gradOutput: Tensor, attrs: Attrs, index: number) => Tensor,
): Gradient<keyof S & string> {
  return { saves, rule: rule as unknown as Gradient['rule'] };
}

/** Names of outputs in `saves`. */
export type OutputName = 'out' | 'out1';

/** All facts about an op; they are defined nowhere else. */
export interface OpRecord extends KernelOp {
  /** One gradient per differentiable operand (always of output 0). */
  readonly vjp: Readonly<Record<string, Gradient>> | undefined;
  /** Piecewise constant: has no `vjp` because its gradient is 0 wherever it exists. */
  readonly flat?: boolean;
  /** Whether running it has an observable effect, so that it runs even if its results are unused. */
  readonly effect?: boolean;
  /** Whether its kernel throws for some operand values, even if its results are unused. */
  readonly mayRefuse?: boolean;
  /** Whether its result is an optional gradient: it may be missing at run time although no operand is. */
  readonly optional?: boolean;
  /** The approximate number of arithmetic operations. By default one per element read or written. */
  readonly work?: Work;
  /** Rules for the attributes that a shape, a kernel or a view depends on. */
  readonly attrs?: AttrRules;
  /**
   * Returns true if the kernel accesses only its operands, else its expectation. Checks what functions that call the op
   * ensure and `infer` doesn't, but programs from files may violate.
   */
  readonly fits?: Fits;
  /** How it can be cut into rows. By default rows may depend on each other; pointwise ops follow their kernel. */
  readonly rows?: RowRule;
  /** An op that computes the same output 0 with less work, given output 1 as its second operand. */
  readonly givenOut1?: string;
}

export type Fits = (inputs: readonly TensorMeta[], attrs: Attrs) => true | string;

/** `inputs` and `outputs` are a program's. */
export type Work = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => number;

interface OpDefinition<O extends Readonly<Record<string, OperandUse>>> {
  readonly name: string;
  readonly operands: O;
  /** Rules for a named kernel's operand dtypes; operands without a rule share one dtype. */
  readonly dtypes?: { readonly [N in keyof O]?: DTypeRule };
  /** Rules for its attributes; for a pointwise op, by default the numbers that its expression reads. */
  readonly attrs?: AttrRules;
  readonly fits?: Fits;
  readonly rows?: RowRule;
  readonly givenOut1?: string;
  readonly variadic?: boolean;
  readonly infer: (
    inputs: readonly TensorMeta[],
    attrs: Attrs,
  ) => TensorSpec | readonly TensorSpec[];
  readonly kernel: Kernel;
  readonly layout?: 'any' | 'contiguous';
  readonly inPlace?: boolean;
  readonly overwrites?: readonly (keyof O & string)[];
  readonly vjp?: { readonly [N in keyof O]?: Gradient<(keyof O & string) | OutputName> };
  readonly flat?: boolean;
  readonly mayRefuse?: boolean;
  readonly work?: Work;
  readonly numbers?: readonly string[];
}

const table = new Map<string, OpRecord>();

/**
 * Returns records by name, in the order of definition. Bundlers remove unreferenced ops: `modules` are those whose
 * ops will be looked up.
 */
export function opsIn(...modules: readonly object[]): ReadonlyMap<string, OpRecord> {
  invariant(modules.length > 0, 'ops of no module');
  return table;
}

/** Returns the op of this name; undefined if no loaded module defines it. */
export const definedOp = (name: string): OpRecord | undefined => table.get(name);

export function defineOp<const O extends Readonly<Record<string, OperandUse>>>(
  definition: OpDefinition<O>,
): OpRecord {
  const { name, operands, infer, kernel } = definition;
  invariant(!table.has(name), `op ${name} is defined twice`);
  const names = Object.keys(operands);
  let { attrs } = definition;
  const record: OpRecord = {
    name,
    operands: Object.entries(operands).map(([operand, use]) => ({ name: operand, use })),
    variadic: definition.variadic ?? false,
    infer: (inputs, attrs) => {
      expectPlainAttrs(record, attrs);
      const specs = infer(inputs, attrs);
      if (kernel.kind === 'named') expectOperandDTypes(name, inputs, names, definition.dtypes);
      return Array.isArray(specs) ? (specs as readonly TensorSpec[]) : [specs as TensorSpec];
    },
    kernel,
    layout: definition.layout ?? (kernel.kind === 'pointwise' ? 'any' : 'contiguous'),
    inPlace: definition.inPlace ?? false,
    overwrites: definition.overwrites ?? [],
    vjp: definition.vjp as OpRecord['vjp'],
    flat: definition.flat ?? false,
    mayRefuse: definition.mayRefuse ?? false,
    ...(definition.work && { work: definition.work }),
    numbers: definition.numbers ?? [],
    // Computed on demand: few programs verify attributes, and searching all kernels for them would slow down
    // loading.
    get attrs() {
      attrs ??= attrsRead(kernel);
      return attrs;
    },
    ...(definition.fits && { fits: definition.fits }),
    ...(definition.rows && { rows: definition.rows }),
    ...(definition.givenOut1 && { givenOut1: definition.givenOut1 }),
  };
  table.set(name, record);
  return record;
}

/** Returns rules for the attributes that a scalar function reads. A flag counts as 1 or 0. */
function attrsRead(kernel: Kernel): AttrRules {
  if (kernel.kind !== 'pointwise') return {};
  const names = nodesOf(kernel.expr).flatMap((node) => (node.kind === 'attr' ? [node.name] : []));
  return Object.fromEntries(names.map((name) => [name, 'numeric'] as const));
}

/** Throws ArgumentError for an attribute that no kernel can read, such as an object given for a number. */
function expectPlainAttrs(op: OpRecord, attrs: Attrs): void {
  for (const name in attrs) {
    const value: unknown = attrs[name];
    if (typeof value !== 'object' || Array.isArray(value) || !Object.hasOwn(attrs, name)) continue;
    expectNumber(userName(op), name, value);
  }
  if (op.kernel.kind !== 'pointwise') return;
  for (const node of nodesOf(op.kernel.expr)) {
    if (node.kind !== 'attr' || typeof attrs[node.name] === 'boolean') continue;
    expectNumber(userName(op), node.name, attrs[node.name]);
  }
}

/** Checks operands passed from untyped JavaScript. */
export function expectTensor(op: OpRecord, operand: Tensor): void {
  if (!isTensor(operand)) throw noTensor(userName(op), operand);
}
