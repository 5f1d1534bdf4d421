import { GradNode } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Represents a freed graph: a backward that reaches it fails as it would have in that graph. */
class FreedNode extends GradNode {
  override readonly name: string;

  constructor(name: string) {
    super([], 1);
    this.name = name;
    this.consume();
  }

  override apply(): (Tensor | null)[] {
    return [];
  }

  protected override releaseSaved(): void {}
}

const nodes = new Map<string, FreedNode>();

/** Gives the tensor a history that was freed; `name`: of the op at which a backward would find out. */
export function markFreed(tensor: Tensor, name: string): void {
  let node = nodes.get(name);
  if (!node) {
    node = new FreedNode(name);
    nodes.set(name, node);
  }
  node.retain();
  tensor.setGradEdge({ node, index: 0 });
}
