/** A net whose trunk is a random tree of modules, some of them with hooks. */

import { nn, Tensor } from '../../../src/index.ts';
import type { Choices } from '../../training-steps/choices.ts';
import { Net } from './net.ts';
import {
  Decide,
  Dense,
  Halves,
  type Layer,
  leaves,
  Recomputed,
  Repeat,
  Residual,
  Router,
  width,
} from './tree-layers.ts';

export class Tree extends Net {
  first = new nn.Linear(4, width);
  trunk: Layer;
  /** What hooks saw. */
  seen: string[] = [];

  constructor(choices: Choices) {
    super();
    this.trunk = treeOf(choices, choices.of([1, 2, 2, 3]));
    for (const each of this.trunk.modules()) if (choices.chance(0.12)) this.hook(each, choices);
  }

  features(x: Tensor): Tensor {
    const h = this.first.forward(x);
    return this.skip ? this.trunk.forward(h) : this.activation.forward(this.trunk.forward(h));
  }

  private hook(module: nn.Module, choices: Choices): void {
    const { seen } = this;
    switch (choices.below(4)) {
      case 0:
        module.registerForwardHook((_module, _inputs, output) => {
          seen.push('output');
          return output instanceof Tensor ? output.mul(1.1) : undefined;
        });
        break;
      case 1:
        module.registerForwardPreHook((own, [first, ...rest]) => {
          seen.push(`${own.training}`);
          return first instanceof Tensor ? [first.add(0.01), ...rest] : undefined;
        });
        break;
      case 2:
        module.registerBackwardHook((_module, gradient) => {
          seen.push('gradient');
          return gradient.mul(0.9);
        });
        break;
      default:
        module.registerForwardHook(() => void seen.push('called'));
    }
  }
}

function treeOf(choices: Choices, depth: number): Layer {
  const leaf = () => choices.of(leaves)();
  if (depth <= 0) return leaf();
  const deep = () => treeOf(choices, depth - 1);
  const flat = () => treeOf(choices, depth - 2);
  return choices.of<() => Layer>([
    () => new nn.Sequential(...Array.from({ length: 1 + choices.below(3) }, deep)),
    () => new Residual(deep(), choices.of([1, 0.5])),
    () => new Dense([deep(), flat()]),
    () => new Router({ first: deep(), skipped: flat(), last: leaf() }),
    () => new Decide(deep(), leaf()),
    () => new Repeat(flat()),
    () => new Recomputed(deep()),
    () => new Halves(flat(), deep()),
    leaf,
  ])();
}
