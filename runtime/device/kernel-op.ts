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

/** The value of an attribute; a symbolic number is known only at run time. */
export type AttrValue = number | boolean | string | readonly number[] | SymbolicNumber;
export type Attrs = Readonly<Record<string, AttrValue>>;

/**
 * The part of an operand that a kernel reads. `shape` means that the op needs no buffer: the operand's memory may have
 * been freed.
 */
export type OperandUse = 'data' | 'shape';

export type Kernel =
  /** A scalar function per element; operands broadcast to the output's shape, with any strides. */
  | { readonly kind: 'pointwise'; readonly expr: Expr }
  /** No kernel: the output is a view of operand 0's holder; of other operands, only the shapes matter. */
  | {
      readonly kind: 'view';
      readonly view: (inputs: readonly TensorMeta[], attrs: Attrs) => TensorMeta;
    }
  | NamedKernel
  /** Several pointwise ops in one launch. Only the optimizer emits it (see program/fused/). */
  | BodyKernel<'fused', FusedBody>
  /** Several pointwise ops on separate operands, in one launch. Only the optimizer emits it. */
  | BodyKernel<'list', ListBody>
  /** Several ops block by block, a few rows at a time. Only the optimizer emits it (see program/fused/). */
  | BodyKernel<'staged', StagedBody>
  /** Attention or its gradient, tile by tile. Only the optimizer emits it (see program/fused/). */
  | { readonly kind: 'tiled'; readonly body: TiledBody }
  /** A user-defined function per element (see user-kernels/). */
  | { readonly kind: 'user'; readonly kernel: UserKernel }
  /** The CPU kernel of another op, regardless of the operands' device, as `deviceGuard` requires. */
  | { readonly kind: 'onCpu'; readonly op: KernelOp }
  /** Copies operand 0 to the op's `target`: read from the operand's device, then written to the target. */
  | { readonly kind: 'transfer' }
  /** No kernel: run_program runs the op's regions. */
  | { readonly kind: 'control'; readonly form: ControlForm };

/**
 * A kernel that each device implements by hand. The op contains the CPU's, so that pages download both; other devices
 * have tables by name. It reads every operand in the dtype that the operand's rule guarantees (see operand-dtypes.ts),
 * without conversion.
 */
export interface NamedKernel<N extends KernelName = KernelName> {
  readonly kind: 'named';
  readonly name: N;
  readonly onCpu: KernelFactory;
  /** Returns the bytes that a launch on the CPU allocates and frees; none by default. */
  readonly scratchOnCpu?: ScratchBytes | undefined;
}

/** The bytes that a launch allocates besides its results, given the operands that the kernel receives. */
export type ScratchBytes = (inputs: readonly TensorMeta[], attrs: Attrs) => number;

/**
 * Returns a kernel implemented by hand (`kernel-names.ts` describes each), with its CPU implementation. No module
 * refers to all kernels, so a page downloads only those of its ops.
 */
export function named<N extends KernelName>(
  name: N,
  onCpu: KernelFactory,
  scratchOnCpu?: ScratchBytes,
): NamedKernel<N> {
  return { kind: 'named', name, onCpu, scratchOnCpu };
}

/** Binds a kernel to its operands' metas. Must be cheap, because it runs once per eager op. */
export type KernelFactory = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => Launch;

/** Several ops joined by the optimizer, with the function that launches them on the CPU. */
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

/** Whether the kernel computes several ops of a program without memory other than its operands and results. */
export function isFused({ kind }: Kernel): boolean {
  return kind === 'fused' || kind === 'staged' || kind === 'list';
}

/** Whether the kernel computes several ops of a program. */
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

/** The part of an op's record that a device reads: how results are computed, without gradients. */
export interface KernelOp {
  readonly name: string;
  readonly operands: readonly { readonly name: string; readonly use: OperandUse }[];
  /** Whether the last operand may repeat any number of times. */
  readonly variadic: boolean;
  /** Returns shapes and dtypes of the outputs; throws ShapeError or DTypeError naming the op. */
  readonly infer: (inputs: readonly TensorMeta[], attrs: Attrs) => readonly TensorSpec[];
  readonly kernel: Kernel;
  /** With `contiguous`, strided data operands are copied before the kernel runs. */
  readonly layout: 'any' | 'contiguous';
  /** Whether the result overwrites operand 0. */
  readonly inPlace: boolean;
  /**
   * Operands, by name, whose memory the result may reuse if they die with the op, because a kernel reads all elements
   * that a result depends on before it writes that result. Only on devices whose kernels guarantee this.
   */
  readonly overwrites?: readonly string[];
  /** The device of a transfer's result. Results of all other ops are on their operands' device. */
  readonly target?: Device;
  /** Attributes that affect neither shape nor dtype: a program may compute them per run. */
  readonly numbers?: readonly string[];
}

/** Returns the op's name in user code; ops on a tensor and a number have records with other names. */
export function userName(op: KernelOp): string {
  return op.name.replace('Scalar', '');
}

/** Returns how the kernel uses input `index`. */
export function operandUse(op: KernelOp, index: number): OperandUse {
  return op.operands[Math.min(index, op.operands.length - 1)]!.use;
}

/** Whether result `result` may reuse the memory of input `index`, if that dies with the op. */
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
