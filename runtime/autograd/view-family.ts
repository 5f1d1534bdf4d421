import { isContiguousMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { invariant } from '../errors/invariant.ts';
import { minus } from '../ops/numbers/number-arithmetic.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import { retainAt, targetOf } from '../tensor/grad-node.ts';
import type { FamilyLease, Tensor, ViewFamily } from '../tensor/tensor.ts';
import { gradEnabled } from './grad-mode.ts';
import { OpNode } from './op-node.ts';

/** A view's elements within its base. */
export interface Region {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Ops of the nodes that lead from a view to its base; injected, because the ops import this folder. */
interface ViewOps {
  readonly asStrided: OpRecord;
  /** Repeats the entries of attr `dims`. */
  readonly repeat: OpRecord;
}

let ops: ViewOps | null = null;

export function provideViewOps(own: ViewOps): void {
  ops = own;
}

/**
 * A tensor and its views. A recorded write through any of them gives the base a new place in the graph. A view updates
 * its place on request, as a view of the new base.
 */
class Family implements ViewFamily {
  readonly base: Tensor;
  readonly lease: FamilyLease = { live: 0, edge: null, orphan: null };
  version = 0;

  constructor(base: Tensor) {
    this.base = base;
  }

  refresh(view: Tensor): void {
    const { base } = this;
    const target = this.lease.edge ?? targetOf(base);
    if (!target) return;
    invariant(ops, 'ops that show regions are loaded');
    const region = regionOf(view, base);
    // Expanded dimensions are reduced to size 1 first.
    const once = region.shape.map((size, d) =>
      region.strides[d] === 0 ? Math.min(size, 1) : size,
    );
    const attrs = { shape: once, strides: region.strides, offset: region.offset };
    let node = new OpNode(ops.asStrided, attrs, [target], [base], [view]);
    const dims = once.flatMap((size, d) => (size === region.shape[d] ? [] : [d]));
    if (dims.length > 0) {
      const before = node;
      node = new OpNode(ops.repeat, { dims }, [{ node: before, index: 0 }], [view], [view]);
      // Only the second node refers to the first; no handle does.
      before.release();
    }
    view.setGradEdge({ node, index: 0 });
    if (view.retainsGrad) retainAt(view);
  }
}

/** Makes two tensors views of each other: each sees recorded writes through the other. */
export function joinViews(x: Tensor, view: Tensor): void {
  if (!gradEnabled()) {
    view.hideBase();
    return;
  }
  let { family } = x;
  if (family === null || family.base.disposed) {
    if (family !== null && family.lease.live > 1) x.hideBase();
    family = new Family(x);
    x.joinFamily(family);
  }
  view.joinFamily(family);
}

/** Makes every view update its place from the base. */
export function noteWrite(family: ViewFamily): void {
  invariant(family instanceof Family, 'a family made elsewhere');
  family.version++;
}

/** Returns the elements of the base that the view covers. */
export function regionOf(view: TensorMeta, base: TensorMeta): Region {
  return { shape: view.shape, strides: view.strides, offset: minus(view.offset, base.offset) };
}

/** Returns the dimension with the smallest stride if elements of a region overlap; else undefined. */
export function overlappingDim(
  shape: readonly number[],
  strides: readonly number[],
): number | undefined {
  if (shape.includes(0)) return undefined;
  const order = shape.map((_, d) => d).filter((d) => shape[d]! > 1);
  // Windows one element apart have two dimensions of equal stride; the later one, within a window, comes first.
  order.sort((a, b) => strides[a]! - strides[b]! || b - a);
  let reach = 0;
  for (const d of order) {
    if (strides[d]! <= reach) return order[0];
    reach += (shape[d]! - 1) * strides[d]!;
  }
  return undefined;
}

/** Whether gradients can be written to the view's region of its base. */
export function isWritable(view: Tensor, base: Tensor): boolean {
  return isContiguousMeta(base) && overlappingDim(view.shape, view.strides) === undefined;
}
