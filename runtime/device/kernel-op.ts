import type { Expr } from '../ops/expr/expr.ts';
import { type FusedBody, writtenByFused } from '../ops/expr/fused-body.ts';
import type { SymbolicNumber } from '../ops/numbers/symbolic-number.ts';
import type { Device, Launch } from './device.ts';
import type { KernelName } from './kernel-names.ts';
import type { ListBody } from './list-body.ts';
import type { StagedBody } from './staged-body.ts';
import type { TensorMeta, TensorSpec } from './tensor-meta.ts';
import type { TiledBody } from './tiled-body.ts';
import type { UserKernel } from './user-kernel.ts';

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
  | NamedKernel
  /** Several pointwise ops in one launch. Only the optimizer makes it (see program/fused/). */
  | BodyKernel<'fused', FusedBody>
  /** Several pointwise ops on operands of their own, in one launch. Only the optimizer makes it. */
  | BodyKernel<'list', ListBody>
  /** Several ops block by block, a few rows at a time. Only the optimizer makes it (see program/fused/). */
  | BodyKernel<'staged', StagedBody>
  /** Attention or its gradient, tile by tile. Only the optimizer makes it (see program/fused/). */
  | { readonly kind: 'tiled'; readonly body: TiledBody }
  /** A function of the user's per element (see user-kernels/). */
  | { readonly kind: 'user'; readonly kernel: UserKernel }
  /** The CPU's kernel of another op, whatever the device of the operands: what `deviceGuard` asks for. */
  | { readonly kind: 'onCpu'; readonly op: KernelOp }
  /** Copies operand 0 to the op's `target`: read from the operand's device, then written to the other. */
  | { readonly kind: 'transfer' }
  /** No kernel: run_program runs the programs inside the op. */
  | { readonly kind: 'control'; readonly form: ControlForm };

/**
 * A kernel that each device writes by hand: the CPU's, which a page downloads with the op; other devices have
 * tables by name. It reads every operand in the dtype that the operand's rule promises (see operand-dtypes.ts)
 * and converts none.
 */
export interface NamedKernel<N extends KernelName = KernelName> {
  readonly kind: 'named';
  readonly name: N;
  readonly onCpu: KernelFactory;
}

/**
 * A kernel that devices write by hand (`kernel-names.ts` says what each does), with that of the CPU. Nothing refers to
 * all of them: a page downloads only those of its ops.
 */
export function named<N extends KernelName>(name: N, onCpu: KernelFactory): NamedKernel<N> {
  return { kind: 'named', name, onCpu };
}

/** Binds a kernel to its operands' metas. Cheap: it runs once per eager op. */
export type KernelFactory = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => Launch;

/** Several ops in one launch, as the optimizer joined them, and what launches them on the CPU. */
interface BodyKernel<K extends string, B> {
  readonly kind: K;
  readonly body: B;
  readonly onCpu: (
    body: B,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
    device: Device,
  ) => Launch;
}

/** Whether the kernel does several ops of a program; it takes no memory besides its operands and results. */
export function isFused({ kind }: Kernel): boolean {
  return kind === 'fused' || kind === 'staged' || kind === 'list';
}

/** Whether the kernel does several ops of a program. */
export function isComposite(kernel: Kernel): boolean {
  return isFused(kernel) || kernel.kind === 'tiled';
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

/** The part of an op's record that a device reads: how results are computed, and nothing about gradients. */
export interface KernelOp {
  readonly name: string;
  readonly operands: readonly { readonly name: string; readonly use: OperandUse }[];
  /** The last operand may repeat any number of times. */
  readonly variadic: boolean;
  /** Shapes and dtypes of the outputs; throws ShapeError or DTypeError naming the op. */
  readonly infer: (inputs: readonly TensorMeta[], attrs: Attrs) => readonly TensorSpec[];
  readonly kernel: Kernel;
  /** `contiguous`: strided data operands are copied before the kernel. */
  readonly layout: 'any' | 'contiguous';
  /** Writes its result over operand 0. */
  readonly inPlace: boolean;
  /**
   * Operands, by name, whose memory the result may take when they die with the op: before a kernel writes
   * an element, it has read all that it reads of the elements that share a sum with it. Only on devices
   * whose kernels keep that.
   */
  readonly overwrites?: readonly string[];
  /** The device of a transfer's result. Results of all other ops are where their operands are. */
  readonly target?: Device;
  /** Attributes that decide neither shape nor dtype: a program may compute them in each run. */
  readonly numbers?: readonly string[];
}

/** The op as the user called it: ops on a tensor and a number have records of their own. */
export function userName(op: KernelOp): string {
  return op.name.replace('Scalar', '');
}

/** How the kernel uses input number `index`. */
export function operandUse(op: KernelOp, index: number): OperandUse {
  return op.operands[Math.min(index, op.operands.length - 1)]!.use;
}

/** Whether result number `result` may take the memory of input number `index`, if that dies with the op. */
export function mayOverwrite(
  { kernel, operands, overwrites = [] }: KernelOp,
  index: number,
  device: { readonly overwritesOperands: boolean },
  result: number,
): boolean {
  if (kernel.kind === 'pointwise') return true;
  if (kernel.kind === 'fused') return !writtenByFused(kernel.body).includes(index);
  if (kernel.kind === 'staged') return kernel.body.overwrites[result]?.has(index) ?? false;
  // Another op of the list may read the operand after the result is written.
  if (kernel.kind === 'list' || kernel.kind === 'tiled') return false;
  const name = operands[index]?.name;
  return device.overwritesOperands && name !== undefined && overwrites.includes(name);
}
