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

/** The part of a forward value that backward keeps: its data, or only dtype, shape and device. */
export type SaveKind = 'value' | 'shape';

/** The gradient for one operand; evaluated, and its values saved, only when that operand needs one. */
export interface Gradient<Names extends string = string> {
  readonly saves: { readonly [N in Names]?: SaveKind };
  /** `index`: which input it is for; of a variadic op, each has its own. */
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
 * States what backward needs, then the rule. Rules are written with ops, so the same rule serves eager
 * backward and the backward program. Of a value saved as `shape` a rule sees only the meta.
 */
export function saving<const S extends Readonly<Record<string, SaveKind>>>(
  saves: S,
  rule: (saved: SavedValues<S>, gradOutput: Tensor, attrs: Attrs, index: number) => Tensor,
): Gradient<keyof S & string> {
  return { saves, rule: rule as unknown as Gradient['rule'] };
}

/** Names of outputs in `saves`. */
export type OutputName = 'out' | 'out1';

/** Everything there is to know about an op. Nothing about it is written anywhere else. */
export interface OpRecord extends KernelOp {
  /** One gradient per differentiable operand (always of output 0). */
  readonly vjp: Readonly<Record<string, Gradient>> | undefined;
  /** Constant in pieces: without `vjp` because its gradient is 0 wherever there is one. */
  readonly flat?: boolean;
  /** Running it has an observable effect: it runs even if its results are unused. */
  readonly effect?: boolean;
  /** Its kernel throws for some values of its operands, whether or not its results are used. */
  readonly mayRefuse?: boolean;
  /** Arithmetic operations, roughly. When omitted: one per element that is read or written. */
  readonly work?: Work;
  /** Rules for the attributes that a shape, a kernel or a view depends on. */
  readonly attrs?: AttrRules;
  /**
   * True where the kernel stays inside of its operands, else what it expects: what `infer` needn't look at, since the
   * functions that call the op have, and a program from a file must show.
   */
  readonly fits?: Fits;
  /** How it falls into rows; omitted: a row may depend on another one. Of pointwise ops known by their kernel. */
  readonly rows?: RowRule;
  /** The op that computes output 0, bit for bit, from output 1, which it reads after operand 0: with less work. */
  readonly givenOut1?: string;
}

export type Fits = (inputs: readonly TensorMeta[], attrs: Attrs) => true | string;

/** `inputs` and `outputs` as they are in a program. */
export type Work = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => number;

interface OpDefinition<O extends Readonly<Record<string, OperandUse>>> {
  readonly name: string;
  readonly operands: O;
  /** Rules of a named kernel's operands; operands without one share one dtype. */
  readonly dtypes?: { readonly [N in keyof O]?: DTypeRule };
  /** Rules of its attributes; a pointwise op's are the numbers that its expression reads. */
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
 * Records by name, in the order of definition. Bundlers leave out ops that nothing refers to: `modules` are those
 * whose ops will be looked up.
 */
export function opsIn(...modules: readonly object[]): ReadonlyMap<string, OpRecord> {
  invariant(modules.length > 0, 'ops of no module');
  return table;
}

/** The op of this name; undefined where nothing has loaded it. */
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
    // Few programs verify attributes; to look for them in all kernels would be a part of loading.
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

/** Those that a scalar function reads. A flag counts as 1 or 0. */
function attrsRead(kernel: Kernel): AttrRules {
  if (kernel.kind !== 'pointwise') return {};
  const names = nodesOf(kernel.expr).flatMap((node) => (node.kind === 'attr' ? [node.name] : []));
  return Object.fromEntries(names.map((name) => [name, 'numeric'] as const));
}

/** Throws ArgumentError for an attribute that no kernel can read: an object given for a number. */
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

/** For operands that come from plain JavaScript, where types are not checked. */
export function expectTensor(op: OpRecord, operand: Tensor): void {
  if (!isTensor(operand)) throw noTensor(userName(op), operand);
}
