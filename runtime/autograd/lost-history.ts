import { AutogradError, type ErrorFacts } from '../errors/errors.ts';
import { GradNode, secondBackward } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Why a graph has no backward any more: the op at which a backward finds that an earlier one has freed it, or
 * the error of a backward that needs a value that was overwritten.
 */
export type LostHistory = string | Omit<ErrorFacts, 'at' | 'cause'>;

/** Represents a graph that has no backward any more: one that reaches it fails as it would have in that graph. */
class LostNode extends GradNode {
  override readonly name: string;
  readonly #lost: LostHistory;

  constructor(lost: LostHistory) {
    super([], 1);
    this.#lost = lost;
    this.name = typeof lost === 'string' ? lost : lost.what;
    // A backward finds out before it begins that a graph was freed, but only on its way that a value was overwritten.
    if (typeof lost === 'string') this.consume();
  }

  override refusedTwice(): AutogradError {
    return secondBackward(this.name);
  }

  override apply(): never {
    throw new AutogradError(this.#lost as Exclude<LostHistory, string>);
  }

  protected override releaseSaved(): void {}
}

/** A function that gives a tensor a history that has no backward any more. */
export function losingHistory(lost: LostHistory): (tensor: Tensor) => void {
  const node = new LostNode(lost);
  return (tensor) => {
    node.retain();
    tensor.setGradEdge({ node, index: 0 });
  };
}
