import type { Device } from '../../device/device.ts';
import { invariant } from '../../errors/invariant.ts';
import type { TensorMeta, TensorSpec } from '../../tensor/meta.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { Expr } from '../expr/expr.ts';
import { nodesOf } from '../expr/expr-nodes.ts';
import { type FusedBody, writtenByFused } from '../expr/fused-body.ts';
import type { ListBody } from '../list-body.ts';
import type { SymbolicNumber } from '../numbers/symbolic-number.ts';
import type { RowRule } from '../row-cuts.ts';
import type { StagedBody } from '../staged-body.ts';
import type { UserKernel } from '../user-kernel.ts';
import type { AttrRules } from './attr-rules.ts';
import { isTensor, noTensor } from './expect-tensors.ts';
import type { KernelName } from './kernel-names.ts';
import { type DTypeRule, expectOperandDTypes } from './operand-dtypes.ts';
import { expectNumber } from './positional.ts';

/** A symbolic number is known only when the program runs. */
export type AttrValue = number | boolean | string | readonly number[] | SymbolicNumber;
export type Attrs = Readonly<Record<string, AttrValue>>;

/**
 * The part of an operand that a kernel reads. `shape` is the no-need-buffer fact: the operand may be a tensor whose
 * holder was moved out, and nothing is kept alive for it.
 */
export type OperandUse = 'data' | 'shape';

export type Kernel =
  /** One scalar function per element; operands broadcast to the output's shape, any strides. */
  | { readonly kind: 'pointwise'; readonly expr: Expr }
  /** No kernel: the output is another view of operand 0's holder; other operands give shapes. */
  | {
      readonly kind: 'view';
      readonly view: (inputs: readonly TensorMeta[], attrs: Attrs) => TensorMeta;
    }
  /**
   * A kernel that each device writes by hand, found in its table by name. It reads every operand in the
   * dtype that the operand's rule promises (see operand-dtypes.ts) and converts none.
   */
  | { readonly kind: 'named'; readonly name: KernelName }
  /** Several pointwise ops in one launch. Only the optimizer makes it (see program/fused/). */
  | { readonly kind: 'fused'; readonly body: FusedBody }
  /** Several pointwise ops on operands of their own, in one launch. Only the optimizer makes it. */
  | { readonly kind: 'list'; readonly body: ListBody }
  /** Several ops block by block, a few rows at a time. Only the optimizer makes it (see program/fused/). */
  | { readonly kind: 'staged'; readonly body: StagedBody }
  /** A function of the user's per element (see user-kernels/). */
  | { readonly kind: 'user'; readonly kernel: UserKernel }
  /** The CPU's kernel of another op, whatever the device of the operands: what `deviceGuard` asks for. */
  | { readonly kind: 'onCpu'; readonly op: OpRecord }
  /** Copies operand 0 to the op's `target`: read from the operand's device, then written to the other. */
  | { readonly kind: 'transfer' }
  /** No kernel: run_program runs the programs inside the op. */
  | { readonly kind: 'control'; readonly form: ControlForm };

/** Whether the kernel does several ops of a program; it takes no memory beside its operands and results. */
export function isFused({ kind }: Kernel): boolean {
  return kind === 'fused' || kind === 'staged' || kind === 'list';
}

export type ControlForm =
  | 'cond'
  | 'while'
  | 'condBackward'
  | 'whileBackward'
  | 'assert'
  | 'print'
  | 'hostNumber'
  | 'draw'
  | 'list'
  | 'call'
  | 'callBackward'
  | 'dimension'
  | 'missing';

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
export interface OpRecord {
  readonly name: string;
  readonly operands: readonly { readonly name: string; readonly use: OperandUse }[];
  /** The last operand may repeat any number of times. */
  readonly variadic: boolean;
  /** Shapes and dtypes of the outputs; throws ShapeError or DTypeError naming the op. */
  readonly infer: (inputs: readonly TensorMeta[], attrs: Attrs) => readonly TensorSpec[];
  readonly kernel: Kernel;
  /** `contiguous`: strided data operands are copied before the kernel. */
  readonly layout: 'any' | 'contiguous';
  /**
   * Adds or multiplies elements along memory: in another order, with other last bits, where its operand has
   * other strides. A pass that rewrites a program gives such an op operands of the strides that they had.
   */
  readonly followsStrides?: boolean;
  /** Writes its result over operand 0. */
  readonly inPlace: boolean;
  /**
   * Operands, by name, whose memory the result may take when they die with the op: before a kernel writes
   * an element, it has read all that it reads of the elements that share a sum with it. Only on devices
   * whose kernels keep that.
   */
  readonly overwrites?: readonly string[];
  /** One gradient per differentiable operand (always of output 0). */
  readonly vjp: Readonly<Record<string, Gradient>> | undefined;
  /** Constant in pieces: without `vjp` because its gradient is 0 wherever there is one. */
  readonly flat?: boolean;
  /** Running it has an observable effect: it runs even if its results are unused. */
  readonly effect?: boolean;
  /** Its kernel throws for some values of its operands, whether or not its results are used. */
  readonly mayRefuse?: boolean;
  /** The device of a transfer's result. Results of all other ops are where their operands are. */
  readonly target?: Device;
  /** Arithmetic operations, roughly. When left out: one per element that is read or written. */
  readonly work?: Work;
  /** Attributes that decide neither shape nor dtype: a program may compute them in each run. */
  readonly numbers?: readonly string[];
  /** Rules for the attributes that a shape, a kernel or a view depends on. */
  readonly attrs?: AttrRules;
  /**
   * True where the kernel stays inside of its operands, else what it expects: what `infer` needn't look at, since the
   * functions that call the op have, and a program from a file must show.
   */
  readonly fits?: Fits;
  /** How it falls into rows; left out: a row may depend on another one. Of pointwise ops known by their kernel. */
  readonly rows?: RowRule;
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
  readonly variadic?: boolean;
  readonly infer: (
    inputs: readonly TensorMeta[],
    attrs: Attrs,
  ) => TensorSpec | readonly TensorSpec[];
  readonly kernel: Kernel;
  readonly layout?: 'any' | 'contiguous';
  readonly followsStrides?: boolean;
  readonly inPlace?: boolean;
  readonly overwrites?: readonly (keyof O & string)[];
  readonly vjp?: { readonly [N in keyof O]?: Gradient<(keyof O & string) | OutputName> };
  readonly flat?: boolean;
  readonly mayRefuse?: boolean;
  readonly work?: Work;
  readonly numbers?: readonly string[];
}

const table = new Map<string, OpRecord>();

/** The op table: every record by name, in the order of definition. */
export const opTable: ReadonlyMap<string, OpRecord> = table;

export function opNamed(name: string): OpRecord {
  const op = table.get(name);
  invariant(op !== undefined, `no op named ${name}`);
  return op;
}

export function defineOp<const O extends Readonly<Record<string, OperandUse>>>(
  definition: OpDefinition<O>,
): OpRecord {
  const { name, operands, infer, kernel } = definition;
  invariant(!table.has(name), `op ${name} is defined twice`);
  const names = Object.keys(operands);
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
    followsStrides: definition.followsStrides ?? false,
    inPlace: definition.inPlace ?? false,
    overwrites: definition.overwrites ?? [],
    vjp: definition.vjp as OpRecord['vjp'],
    flat: definition.flat ?? false,
    mayRefuse: definition.mayRefuse ?? false,
    ...(definition.work && { work: definition.work }),
    numbers: definition.numbers ?? [],
    attrs: definition.attrs ?? attrsRead(kernel),
    ...(definition.fits && { fits: definition.fits }),
    ...(definition.rows && { rows: definition.rows }),
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

/** The op as the user called it: ops on a tensor and a number have records of their own. */
export function userName(op: OpRecord): string {
  return op.name.replace('Scalar', '');
}

/** For operands that come from plain JavaScript, where types are not checked. */
export function expectTensor(op: OpRecord, operand: Tensor): void {
  if (!isTensor(operand)) throw noTensor(userName(op), operand);
}

/** How the kernel uses input number `index`. */
export function operandUse(op: OpRecord, index: number): OperandUse {
  return op.operands[Math.min(index, op.operands.length - 1)]!.use;
}

/** Whether result number `result` may take the memory of input number `index`, if that dies with the op. */
export function mayOverwrite(
  { kernel, operands, overwrites = [] }: OpRecord,
  index: number,
  device: { readonly overwritesOperands: boolean },
  result: number,
): boolean {
  if (kernel.kind === 'pointwise') return true;
  if (kernel.kind === 'fused') return !writtenByFused(kernel.body).includes(index);
  if (kernel.kind === 'staged') return kernel.body.overwrites[result]?.has(index) ?? false;
  // Another op of the list may read the operand after the result is written.
  if (kernel.kind === 'list') return false;
  const name = operands[index]?.name;
  return device.overwritesOperands && name !== undefined && overwrites.includes(name);
}
