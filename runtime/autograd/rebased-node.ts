import { invariant } from '../errors/invariant.ts';
import { GradNode, type Target } from '../tensor/grad-node.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { OpNode } from './op-node.ts';
import type { Region } from './view-family.ts';

/** Ops that read and write regions of gradients; injected, because the ops import this folder. */
interface Regions {
  readonly part: (x: Tensor, region: Region) => Tensor;
  /** Returns the tensor with a region replaced, or zeroed for null. */
  readonly replaced: (x: Tensor, part: Tensor | null, region: Region) => Tensor;
}

let regions: Regions | null = null;

export function provideRegions(own: Regions): void {
  regions = own;
}

/**
 * The backward node of a write to a region of a tensor: the region's gradient flows through the op that wrote it,
 * the rest to the tensor before the write. Targets: the tensor before the write, then the op's other operands.
 */
export class RebasedNode extends GradNode {
  readonly name: string;
  readonly #write: OpNode;
  readonly #region: Region;

  /** Takes over the only reference to `write`. */
  constructor(base: Target, write: OpNode, region: Region) {
    super([base, ...write.targets.slice(1)], 1);
    this.name = write.name;
    this.#write = write;
    this.#region = region;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    requested: readonly boolean[],
  ): (Tensor | null)[] {
    const gradOutput = gradOutputs[0];
    if (!gradOutput) return this.targets.map(() => null);
    invariant(regions, 'ops that read and write regions are loaded');
    const { part, replaced } = regions;
    return tidy(() => {
      const partGradient = part(gradOutput, this.#region);
      const toView = requested[0]! && this.#write.targets[0] !== null;
      const [before, ...others] = this.#write.apply([partGradient], retainGraph, [
        toView,
        ...requested.slice(1),
      ]);
      const base = requested[0] ? replaced(gradOutput, before ?? null, this.#region) : null;
      return [base, ...others];
    });
  }

  protected override releaseSaved(): void {
    this.#write.release();
  }
}
