import { AutogradError } from '../errors/errors.ts';
import type { Tensor } from './tensor.ts';

/** Where a gradient goes: output number `index` of the op whose gradients `node` computes. */
export interface GradEdge {
  readonly node: GradNode;
  readonly index: number;
}

/** For each forward input: the node that produced it, the leaf that it is, or null if it needs no gradient. */
export type Target = GradEdge | { readonly leaf: Tensor } | null;

/**
 * Gets the complete gradient of a tensor, and may return another one to continue with. What it computes is
 * disposed when it returns, as in `tidy`: `keep(gradient.clone())` keeps a gradient.
 */
export type GradHook = (gradient: Tensor) => Tensor | null | undefined;

export interface HookEntry {
  readonly run: GradHook;
}

/** A result whose `.grad` is wanted. Weak: the node must not keep it from the garbage collector. */
export interface RetainedResult {
  readonly index: number;
  readonly handle: WeakRef<Tensor>;
}

export type TakeSum = (target: number) => Tensor | null;

/** Takes over a complete gradient of output `index`, and returns the one to continue with. */
export type PassOutput = (index: number, gradient: Tensor) => Tensor;

/** The gradients of a node that are requested. */
export interface Wanted {
  /** Whether the gradient of each target is requested. */
  readonly targets: readonly boolean[];
  /** Numbers of outputs. */
  readonly outputs: ReadonlySet<number>;
}

let sequence = 0;

/**
 * One recorded operation. Counted by its owners (tensor handles that it made, nodes that lead to it),
 * so that what it saved for backward is freed as soon as it can no longer run.
 */
export abstract class GradNode {
  /** Grows with every node: an op's node is younger than those of its inputs. */
  readonly sequence: number = sequence++;
  abstract readonly name: string;
  readonly targets: readonly Target[];
  /** The hooks of each output. */
  hooks: HookEntry[][] | null = null;
  retained: RetainedResult[] | null = null;
  #consumed = false;
  #owners: number;

  /** `owners`: number of output handles that will point here. Takes a reference on each target node. */
  constructor(targets: readonly Target[], owners: number) {
    this.targets = targets;
    this.#owners = owners;
    for (const target of targets) if (target && 'node' in target) target.node.retain();
  }

  /**
   * Gradients of the inputs (null where not needed), as handles that the caller owns. May dispose
   * `gradOutputs` early. Without `retainGraph` saved values may be freed meanwhile. `wanted` says
   * which gradients are requested; computing another one is only wasted work. While gradients are
   * recorded (`createGraph`), the results must carry their graph. `takeSum` hands over what other nodes
   * have brought to a target so far, or null: the result is the sum of that and the node's own parts then.
   * `passInner` wants to see the gradients of `innerOutputs`; null if nothing does. `only`: as `wanted`, with the
   * outputs; null if all leaves are.
   */
  abstract apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    wanted: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
    only: Wanted | null,
  ): (Tensor | null)[];

  /**
   * Before `apply` in a backward that may wait: reads what the node needs of a device that can only be read
   * asynchronously. Null: there is nothing to wait for. Resolves to what `apply` would return where the node has run
   * meanwhile, or to null where `apply` is still to be called.
   */
  awaits?(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    takeSum: TakeSum,
    only: Wanted | null,
  ): Promise<readonly (Tensor | null)[] | null> | null;

  /** Outputs that others of the same node depend on: their gradients are complete only inside of `apply`. */
  get innerOutputs(): ReadonlySet<number> | null {
    return null;
  }

  /** Outputs in the order in which their hooks run; null: as they are numbered. */
  get hookOrder(): readonly number[] | null {
    return null;
  }

  /** Targets in the order in which their gradients are complete, for gradients of these outputs; null: as they are numbered. */
  targetOrder?(gradOutputs: readonly (Tensor | null | undefined)[]): readonly number[] | null;

  /**
   * Returns for each target whether gradients of these outputs come to it. Null: to all. Without this method: to every
   * target, whatever outputs they are of. Null: to all. Without it: whatever outputs they are of. Called before any
   * node runs: throws AutogradError where an earlier backward has freed what leads there.
   */
  leadsTo?(outputs: ReadonlySet<number>, wanted: Wanted | null): readonly boolean[] | null;

  /** The outputs that lead to what is requested. Without it: all of them, to each target. */
  leadingOutputs?(wanted: Wanted): ReadonlySet<number>;

  /** Frees everything kept for backward. */
  protected abstract releaseSaved(): void;

  /** True after a backward that didn't retain the graph. */
  get consumed(): boolean {
    return this.#consumed;
  }

  /** The error of a backward that comes to output `index` when the node is consumed. */
  refusedTwice(_index: number): AutogradError {
    return secondBackward(this.name);
  }

  consume(): void {
    if (this.#consumed) return;
    this.#consumed = true;
    this.releaseSaved();
  }

  /** Whether a backward needs values that the node has saved: without them it may run again. */
  get readsSaved(): boolean {
    return true;
  }

  /** A backward that doesn't retain the graph has run the node. */
  finish(): void {
    if (this.readsSaved) this.consume();
  }

  retain(): void {
    this.#owners++;
  }

  /** Iterative: chains of thousands of nodes are common. */
  release(): void {
    const pending: GradNode[] = [this];
    for (let node = pending.pop(); node; node = pending.pop()) {
      if (--node.#owners > 0) continue;
      node.consume();
      for (const target of node.targets) if (target && 'node' in target) pending.push(target.node);
    }
  }
}

/** The target for a forward input. */
export function targetOf(tensor: Tensor): Target {
  if (!tensor.requiresGrad) return null;
  return tensor.gradEdge ?? { leaf: tensor.leaf };
}

/** Gives a new handle its place in the graph. */
export function attach(tensor: Tensor, target: Target): Tensor {
  if (!target) return tensor;
  if ('leaf' in target) {
    tensor.standFor(target.leaf);
    return tensor;
  }
  target.node.retain();
  tensor.setGradEdge(target);
  return tensor;
}

/** Tells the node that made the tensor. Again after a write in place, whose gradient another node computes. */
export function retainAt(tensor: Tensor): void {
  const { node, index } = tensor.gradEdge!;
  node.retained ??= [];
  node.retained.push({ index, handle: new WeakRef(tensor) });
}

/** An earlier backward, which didn't retain the graph, has freed what `op` saved. */
export function secondBackward(op: string): AutogradError {
  return new AutogradError({
    what: `backward through ${op} a second time`,
    given: 'a graph whose saved values an earlier backward freed',
    expected: 'a graph that was not yet differentiated',
    remedy: 'pass { retainGraph: true } to the first backward, or run the forward pass again',
  });
}
