import { nn, type Tensor } from '../../../src/index.ts';
import { Choices } from '../../training-steps/choices.ts';
import { Net } from './net.ts';
import { Tree } from './tree.ts';

class Plain extends Net {
  trunk = new nn.Linear(4, 6);

  features(x: Tensor): Tensor {
    return this.activation.forward(this.trunk.forward(x));
  }
}

class Normed extends Net {
  first = new nn.Linear(4, 6);
  norm = new nn.BatchNorm1d(6);
  trunk = new nn.Linear(6, 6);
  dropout = new nn.Dropout(0.3);

  features(x: Tensor): Tensor {
    const h = this.activation.forward(this.norm.forward(this.first.forward(x)));
    const rest = this.dropout.forward(this.trunk.forward(h));
    return this.skip ? h.add(rest) : rest;
  }
}

class Convolutional extends Net {
  trunk = new nn.Conv2d(1, 6, 2, { padding: 1 });
  pool = new nn.AdaptiveAvgPool2d(1);

  features(x: Tensor): Tensor {
    const h = this.activation.forward(this.trunk.forward(x.reshape([-1, 1, 2, 2])));
    const pooled = this.skip ? this.pool.forward(h) : h.amax([2, 3], { keepDim: true });
    return pooled.reshape([-1, 6]);
  }
}

class Recurrent extends Net {
  trunk = new nn.GRU(2, 6, { batchFirst: true });

  features(x: Tensor): Tensor {
    const [all] = this.trunk.forward(x.reshape([-1, 2, 2]));
    return this.activation.forward(this.skip ? all.select(1, -1) : all.mean(1));
  }
}

class Embedded extends Net {
  trunk = new nn.Embedding(5, 6);
  norm = new nn.LayerNorm(6);

  features(x: Tensor): Tensor {
    const ids = x.abs().mul(2).clamp(0, 4).to('int32');
    const h = this.norm.forward(this.trunk.forward(ids).mean(1));
    return this.skip ? h : this.activation.forward(h);
  }
}

/** One layer's weight is used by two. */
class Tied extends Net {
  trunk = new nn.Linear(4, 6);
  back = new nn.Linear(6, 4);

  features(x: Tensor): Tensor {
    const h = this.activation.forward(this.trunk.forward(x));
    const decoded = h.matmul(this.trunk.weight).add(this.back.forward(h));
    return this.trunk.forward(this.skip ? decoded : decoded.tanh());
  }
}

export const nets = {
  plain: () => new Plain(),
  normed: () => new Normed(),
  convolutional: () => new Convolutional(),
  recurrent: () => new Recurrent(),
  embedded: () => new Embedded(),
  tied: () => new Tied(),
  tree: (seed) => new Tree(new Choices(seed)),
} as const satisfies Readonly<Record<string, (seed: number) => Net>>;

export type NetName = keyof typeof nets;
