import { AutogradError } from '../errors/errors.ts';
import type { Tensor } from './tensor.ts';

/** Where a gradient flows to: output `index` of the op whose backward is `node`. */
export interface GradEdge {
  readonly node: GradNode;
  readonly index: number;
}

/** Where an input's gradient flows to: an output of the producing node, a leaf, or null if no gradient is needed. */
export type Target = GradEdge | { readonly leaf: Tensor } | null;

/**
 * Receives the complete gradient of a tensor and may return a replacement. Tensors created in the hook are
 * disposed when it returns, as in `tidy`; `keep(gradient.clone())` keeps a gradient.
 */
export type GradHook = (gradient: Tensor) => Tensor | null | undefined;

export interface HookEntry {
  readonly run: GradHook;
}

/** A result whose `.grad` backward fills. Weak: the node must not keep the handle alive. */
export interface RetainedResult {
  readonly index: number;
  readonly handle: WeakRef<Tensor>;
}

export type TakeSum = (target: number) => Tensor | null;

/** Takes ownership of the complete gradient of output `index` and returns the gradient to continue with. */
export type PassOutput = (index: number, gradient: Tensor) => Tensor;

/** The gradients that a backward requests of a node. */
export interface RequestedGradients {
  /** Whether the gradient of each target is requested. */
  readonly targets: readonly boolean[];
  /** The indices of the requested outputs. */
  readonly outputs: ReadonlySet<number>;
}

let sequence = 0;

/**
 * One recorded operation. References to it are counted, from the handles of its outputs and from nodes that lead to it,
 * so that its saved values are freed as soon as it can no longer run.
 */
export abstract class GradNode {
  /** Creation order: an op's node has a higher number than the nodes of its inputs. */
  readonly sequence: number = sequence++;
  abstract readonly name: string;
  readonly targets: readonly Target[];
  /** The hooks of each output, by output index. */
  hooks: HookEntry[][] | null = null;
  retained: RetainedResult[] | null = null;
  #consumed = false;
  #owners: number;

  /** `owners` is the number of output handles that will point to this node. Retains each target node. */
  constructor(targets: readonly Target[], owners: number) {
    this.targets = targets;
    this.#owners = owners;
    for (const target of targets) if (target && 'node' in target) target.node.retain();
  }

  /**
   * Returns the gradients of the inputs as handles owned by the caller, null where none is needed.
   * - May dispose `gradOutputs` early; without `retainGraph` it may also free saved values.
   * - `requested` marks the requested gradients; others may be computed, but are unused.
   * - While gradients are recorded (`createGraph`), the results must carry their graph.
   * - `takeSum` transfers other nodes' sum of contributions to a target so far, or null. The returned gradient then
   *   includes it.
   * - `passInner` receives the gradients of `innerOutputs`; null if nothing observes them.
   * - `only` is `requested` with the outputs; null if all leaves are requested.
   */
  abstract apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    requested: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
    only: RequestedGradients | null,
  ): (Tensor | null)[];

  /**
   * Reads what the node needs from a device that can only be read asynchronously; called before `apply` in an
   * asynchronous backward. Returns null if there is nothing to wait for. Resolves to the result of `apply` if the
   * node has run meanwhile, or to null if `apply` is still to be called.
   */
  awaits?(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    takeSum: TakeSum,
    only: RequestedGradients | null,
  ): Promise<readonly (Tensor | null)[] | null> | null;

  /** Outputs that other outputs of the same node depend on: their gradients are complete only inside `apply`. */
  get innerOutputs(): ReadonlySet<number> | null {
    return null;
  }

  /** Outputs in the order in which their hooks run; null for index order. */
  get hookOrder(): readonly number[] | null {
    return null;
  }

  /** Targets in the order in which their gradients complete, given these output gradients; null for index order. */
  targetOrder?(gradOutputs: readonly (Tensor | null | undefined)[]): readonly number[] | null;

  /**
   * Returns for each target whether gradients of these outputs reach it; null if they reach all targets. Without this
   * method, gradients of any output reach every target. Called before any node runs; throws AutogradError if an earlier
   * backward has freed a value on the way.
   */
  leadsTo?(
    outputs: ReadonlySet<number>,
    requested: RequestedGradients | null,
  ): readonly boolean[] | null;

  /** Returns the outputs that lead to the requested targets. Without this method, each output leads to every target. */
  leadingOutputs?(requested: RequestedGradients): ReadonlySet<number>;

  /** Frees everything kept for backward. */
  protected abstract releaseSaved(): void;

  /** Whether a backward without `retainGraph` has run the node. */
  get consumed(): boolean {
    return this.#consumed;
  }

  /** Returns the error for a backward that reaches output `index` of a consumed node. */
  refusedTwice(_index: number): AutogradError {
    return secondBackward(this.name);
  }

  consume(): void {
    if (this.#consumed) return;
    this.#consumed = true;
    this.releaseSaved();
  }

  /** Whether backward reads values that the node saved. If not, the node can run again. */
  get readsSaved(): boolean {
    return true;
  }

  /** Called after a backward without `retainGraph` has run the node. */
  finish(): void {
    if (this.readsSaved) this.consume();
  }

  retain(): void {
    this.#owners++;
  }

  /** Iterative, because chains of thousands of nodes are common. */
  release(): void {
    const pending: GradNode[] = [this];
    for (let node = pending.pop(); node; node = pending.pop()) {
      if (--node.#owners > 0) continue;
      node.consume();
      for (const target of node.targets) if (target && 'node' in target) pending.push(target.node);
    }
  }
}

/** Returns the gradient target for a forward input. */
export function targetOf(tensor: Tensor): Target {
  if (!tensor.requiresGrad) return null;
  return tensor.gradEdge ?? { leaf: tensor.leaf };
}

/** Whether a hook observes the completion of a leaf's gradient. */
export function hasHooks(targets: readonly Target[]): boolean {
  for (const target of targets) {
    if (target && 'leaf' in target && target.leaf.hooks?.length) return true;
  }
  return false;
}

/** Attaches a new handle to the graph at `target`. */
export function attach(tensor: Tensor, target: Target): Tensor {
  if (!target) return tensor;
  if ('leaf' in target) {
    tensor.representLeaf(target.leaf);
    return tensor;
  }
  target.node.retain();
  tensor.setGradEdge(target);
  return tensor;
}

/**
 * Registers the tensor with its node, so that backward fills `.grad`. Called again after an in-place write, which gives
 * the tensor a new node.
 */
export function retainAt(tensor: Tensor): void {
  const { node, index } = tensor.gradEdge!;
  node.retained ??= [];
  node.retained.push({ index, handle: new WeakRef(tensor) });
}

/** Returns the error for a backward through `op` whose saved values an earlier backward freed. */
export function secondBackward(op: string): AutogradError {
  return new AutogradError({
    what: `backward through ${op} a second time`,
    given: 'a graph whose saved values an earlier backward freed',
    expected: 'a graph that was not yet differentiated',
    remedy: 'pass { retainGraph: true } to the first backward, or run the forward pass again',
  });
}
