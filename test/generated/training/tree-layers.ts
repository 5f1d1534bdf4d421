/** Layers from `[n, 6]` to `[n, 6]` in the styles of user code: state of the host, private elements, inheritance, decisions. */

import {
  cat,
  checkpoint,
  nn,
  noGrad,
  ones,
  rand,
  type Tensor,
  where,
  zeros,
} from '../../../src/index.ts';

export type Layer = nn.Module & { forward(x: Tensor): Tensor };

export const width = 6;

export class Residual extends nn.Module {
  #scale: number;

  constructor(
    readonly inner: Layer,
    scale: number,
  ) {
    super();
    this.#scale = scale;
  }

  get scale(): number {
    return this.#scale;
  }

  set scale(scale: number) {
    this.#scale = scale;
  }

  override forward(x: Tensor): Tensor {
    return x.add(this.inner.forward(x).mul(this.scale));
  }
}

class Mixing extends nn.Module {
  static rate = 0.5;
  norm = new nn.LayerNorm(width);

  override forward(x: Tensor): Tensor {
    return this.mix(this.norm.forward(x));
  }

  mix(x: Tensor): Tensor {
    return x.mul((this.constructor as typeof Mixing).rate);
  }
}

/** Overrides a method that the parent's forward calls, a static field, and forward itself. */
class Inheriting extends Mixing {
  static override rate = 0.25;
  linear = new nn.Linear(width, width);

  override mix(x: Tensor): Tensor {
    return super.mix(this.linear.forward(x)).add(x);
  }

  get shift(): Tensor {
    return this.linear.bias!;
  }

  override forward(x: Tensor): Tensor {
    return super.forward(x).add(this.shift);
  }
}

/** Counts its calls in a private field, and acts on the count. */
class Gate extends nn.Module {
  #own = 0;
  gate = nn.parameter(zeros([width]));

  override forward(x: Tensor): Tensor {
    this.#own++;
    return x.mul(this.gate.sigmoid()).add(this.#own % 3 === 0 ? 0.1 : 0);
  }
}

class RunningMean extends nn.Module {
  count = nn.buffer(zeros([]));
  mean = nn.buffer(zeros([width]));
  last = nn.buffer(zeros([width]), { persistent: false });

  override forward(x: Tensor): Tensor {
    if (this.training)
      noGrad(() => {
        this.count.add_(1);
        this.mean.mul_(0.9).add_(x.detach().mean(0).mul(0.1));
        this.last.copy_(this.mean);
      });
    return x.sub(this.mean).add(this.last.mul(0.5));
  }
}

/** Makes its layer when it is first called. */
class Late extends nn.Module {
  made: nn.Linear | null = null;

  override forward(x: Tensor): Tensor {
    this.made ??= new nn.Linear(x.shape[1]!, width);
    return this.made.forward(x).tanh();
  }
}

/** Adds up its routes; each call then applies the next one of them. */
export class Router extends nn.Module {
  #at = 0;
  readonly routes: nn.ModuleDict;
  readonly order: readonly string[];

  constructor(routes: Readonly<Record<string, Layer>>) {
    super();
    this.routes = new nn.ModuleDict(routes);
    this.order = Object.keys(routes);
  }

  override forward(x: Tensor): Tensor {
    let h = x;
    for (const [name, layer] of this.routes) {
      if (name !== 'skipped') h = h.add((layer as Layer).forward(x));
    }
    const name = this.order[this.#at++ % this.order.length]!;
    return (this.routes.get(name) as Layer).forward(h);
  }
}

export class Dense extends nn.Module {
  readonly list: nn.ModuleList;

  constructor(layers: readonly Layer[]) {
    super();
    this.list = new nn.ModuleList([...layers]);
  }

  override forward(x: Tensor): Tensor {
    const outputs: Tensor[] = [];
    let h = x;
    for (const [i, layer] of [...this.list].entries()) {
      h = (layer as Layer).forward(h);
      outputs.push(h.mul(1 / (i + 1)));
    }
    return outputs.reduce((a, b) => a.add(b));
  }
}

export class Decide extends nn.Module {
  constructor(
    readonly positive: Layer,
    readonly negative: Layer,
  ) {
    super();
  }

  override forward(x: Tensor): Tensor {
    return x.mean().itemSync() > 0 ? this.positive.forward(x) : this.negative.forward(x);
  }
}

export class Repeat extends nn.Module {
  constructor(readonly inner: Layer) {
    super();
  }

  override forward(x: Tensor): Tensor {
    let h = x;
    for (let n = 0; n < 3 && h.abs().mean().itemSync() > 0.5; n++) {
      h = this.inner.forward(h).mul(0.5);
    }
    return h;
  }
}

export class Recomputed extends nn.Module {
  constructor(readonly inner: Layer) {
    super();
  }

  override forward(x: Tensor): Tensor {
    return checkpoint((h: Tensor) => this.inner.forward(h), x);
  }
}

export class Halves extends nn.Module {
  constructor(
    readonly first: Layer,
    readonly second: Layer,
  ) {
    super();
  }

  override forward(x: Tensor): Tensor {
    const [a, b] = x.shape[0]! > 1 ? x.chunk(2, 0) : [x];
    return b ? cat([this.first.forward(a!), this.second.forward(b)], 0) : this.first.forward(a!);
  }
}

class Attention extends nn.Module {
  attention = new nn.MultiheadAttention(3, 1, { batchFirst: true });

  override forward(x: Tensor): Tensor {
    const pairs = x.reshape([-1, 2, 3]);
    return this.attention.forward(pairs, pairs, pairs)[0].reshape([-1, width]);
  }
}

class Recurrent extends nn.Module {
  cell = new nn.GRU(3, 3, { batchFirst: true });

  override forward(x: Tensor): Tensor {
    return this.cell.forward(x.reshape([-1, 2, 3]))[0].reshape([-1, width]);
  }
}

/** Holds parameters in a list and by name. */
class Affine extends nn.Module {
  list = new nn.ParameterList([ones([width]), zeros([width])]);
  named = new nn.ParameterDict({ shift: rand([width]), scale: rand([1, width]) });

  override forward(x: Tensor): Tensor {
    let h = x;
    for (const each of this.list) h = h.mul(each).add(this.named.get('shift')!);
    return h.mul(this.named.get('scale')!);
  }
}

/** Shares a weight between two layers. */
class Tied extends nn.Module {
  first = new nn.Linear(width, width);
  second = new nn.Linear(width, width);

  constructor() {
    super();
    this.second.weight = this.first.weight;
  }

  override forward(x: Tensor): Tensor {
    return this.second.forward(this.first.forward(x).relu());
  }
}

/** Adds what it saw at the last call. */
class Previous extends nn.Module {
  last: Tensor | null = null;

  override forward(x: Tensor): Tensor {
    const { last } = this;
    this.last = x.detach().mean(0);
    return last ? x.add(last.mul(0.1)) : x;
  }
}

class Embedded extends nn.Module {
  table = new nn.Embedding(5, width);

  override forward(x: Tensor): Tensor {
    const ids = x.abs().mul(2).clamp(0, 4).to('int32');
    return this.table.forward(ids).mean(1).add(x);
  }
}

class Damped extends nn.Module {
  override forward(x: Tensor): Tensor {
    return where(x.lt(x.amax(1, { keepDim: true })), x, x.mul(0.5));
  }
}

class WritesViews extends nn.Module {
  override forward(x: Tensor): Tensor {
    const h = x.clone();
    h.select(1, 0).mul_(2);
    h.narrow(1, 1, 2).add_(0.5);
    return h;
  }
}

const linear = () => new nn.Linear(width, width);

/** Every layer without layers of its own. */
export const leaves: readonly (() => Layer)[] = [
  ...[linear, () => new nn.Linear(width, width, { bias: false }), () => new nn.LayerNorm(width)],
  ...[() => new nn.RMSNorm(width), () => new nn.BatchNorm1d(width), () => new nn.Dropout(0.3)],
  ...[() => new nn.GELU(), () => new nn.SiLU(), () => new nn.PReLU(), () => new nn.Softmax(1)],
  ...[() => new nn.GroupNorm(2, width), () => new nn.RReLU(), () => new nn.Identity()],
  ...[() => nn.utils.weightNorm(linear()), () => nn.utils.spectralNorm(linear())],
  ...[() => new Inheriting(), () => new Gate(), () => new RunningMean(), () => new Late()],
  ...[() => new Attention(), () => new Recurrent(), () => new Affine(), () => new Tied()],
  ...[() => new Previous(), () => new Embedded(), () => new Damped(), () => new WritesViews()],
];
