import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { pairAttr } from '../core/kernel.ts';

/** All sizes of one convolution, shared with its two gradients. */
export interface ConvShape {
  readonly batch: number;
  readonly groups: number;
  /** Channels per group. */
  readonly inChannels: number;
  readonly outChannels: number;
  readonly inSize: readonly [number, number];
  readonly outSize: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
}

export function convShape(x: TensorMeta, w: TensorMeta, y: TensorMeta, attrs: Attrs): ConvShape {
  const groups = attrs.groups as number;
  return {
    batch: x.shape[0]!,
    groups,
    inChannels: w.shape[1]!,
    outChannels: w.shape[0]! / groups,
    inSize: [x.shape[2]!, x.shape[3]!],
    outSize: [y.shape[2]!, y.shape[3]!],
    kernel: [w.shape[2]!, w.shape[3]!],
    stride: pairAttr(attrs, 'stride'),
    padding: pairAttr(attrs, 'padding'),
    dilation: pairAttr(attrs, 'dilation'),
  };
}

/** Whether every sum has no terms, so that all results are zeros. */
export function hasNoTerms({ batch, inChannels, outChannels, kernel }: ConvShape): boolean {
  return batch * inChannels * outChannels * kernel[0] * kernel[1] === 0;
}
