import { AutogradError, type ErrorFacts } from '../errors/errors.ts';
import { GradNode, secondBackward, type Target, targetOf } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Why a graph can no longer run backward: the name of the op at which backward finds the graph freed, or the error of a
 * backward that needs an overwritten value.
 */
export type LostHistory = string | Omit<ErrorFacts, 'at' | 'cause'>;

/** Represents a graph that can no longer run backward: reaching it fails as it would in that graph. */
class LostNode extends GradNode {
  override readonly name: string;
  readonly #lost: LostHistory;

  constructor(lost: LostHistory, targets: readonly Target[]) {
    super(targets, 1);
    this.#lost = lost;
    this.name = typeof lost === 'string' ? lost : lost.what;
    // Backward detects a freed graph before it starts, but an overwritten value only when it reaches it.
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

/** Returns a function that gives a tensor such a history, which leads to these inputs. */
export function losingHistory(
  lost: LostHistory,
): (tensor: Tensor, inputs: readonly Tensor[]) => void {
  return (tensor, inputs) => {
    tensor.setGradEdge({ node: new LostNode(lost, inputs.map(targetOf)), index: 0 });
  };
}
