/** Classes as people write them around a model: configurations, meters, buffers, optimizers of their own. */

import { noGrad, randn, stack, type Tensor, zeros } from '../../../src/index.ts';
import { values, weights } from '../../trace/same-as-eager.ts';
import type { CorpusFunction } from '../corpus.ts';

const config: CorpusFunction = {
  name: 'a configuration object, built and checked in the function',
  make: () => {
    class Config {
      static readonly defaults = { hidden: 4, dropout: 0, activation: 'tanh' };
      readonly hidden: number;
      readonly activation: string;
      constructor(given: Partial<typeof Config.defaults> = {}) {
        const { hidden, activation } = { ...Config.defaults, ...given };
        if (hidden <= 0) throw new RangeError(`hidden is ${hidden}`);
        this.hidden = hidden;
        this.activation = activation;
      }
      get scale(): number {
        return 1 / Math.sqrt(this.hidden);
      }
      with(change: Partial<typeof Config.defaults>): Config {
        return new Config({ hidden: this.hidden, activation: this.activation, ...change });
      }
    }
    const w = weights([4, 4]);
    return {
      fn: (x: Tensor, options: Partial<typeof Config.defaults>) => {
        const configuration = new Config(options);
        const other = configuration.with({ activation: 'relu' });
        const y = x.matmul(w).mul(configuration.scale);
        const act = (each: Config) => (each.activation === 'relu' ? y.relu() : y.tanh());
        return [act(configuration), act(other), other];
      },
      args: (call) => [values([2, 4], call), { hidden: 4 }],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

class Meter {
  sum: Tensor | null = null;
  count = 0;
  constructor(readonly name: string) {}
  add(value: Tensor): this {
    this.sum = this.sum === null ? value : this.sum.add(value);
    this.count++;
    return this;
  }
  get average(): Tensor {
    if (this.sum === null) throw new Error(`${this.name} is empty`);
    return this.sum.div(this.count);
  }
  toString(): string {
    return `${this.name} of ${this.count}`;
  }
}

const meters: CorpusFunction = {
  name: 'meters that gather a loss over batches',
  make: () => {
    const w = weights([3, 1]);
    return {
      fn: (batches: Tensor[]) => {
        const all: Record<string, Meter> = {};
        for (const name of ['loss', 'size']) all[name] = new Meter(name);
        for (const batch of batches) {
          const y = batch.matmul(w);
          all.loss!.add(y.pow(2).mean());
          all.size!.add(y.abs().sum());
        }
        const averages = Object.fromEntries(
          Object.entries(all).map(([name, meter]) => [name, meter.average]),
        );
        return {
          averages,
          names: Object.values(all).map((each) => each.toString()),
          last: all.loss,
        };
      },
      args: (call) => [[1, 2, 3].map((i) => values([2, 3], i + call))],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

const replay: CorpusFunction = {
  name: 'a replay buffer that overwrites its oldest entries',
  make: () => {
    class Transition {
      constructor(
        readonly state: Tensor,
        readonly reward: number,
      ) {}
    }
    class ReplayBuffer {
      readonly items: Transition[] = [];
      next = 0;
      constructor(readonly capacity: number) {}
      push(item: Transition): void {
        if (this.items.length < this.capacity) this.items.push(item);
        else this.items[this.next] = item;
        this.next = (this.next + 1) % this.capacity;
      }
      newest(n: number): Transition[] {
        return this.items.slice(-n);
      }
    }
    const w = values([3], 7);
    return {
      fn: (x: Tensor) => {
        const buffer = new ReplayBuffer(3);
        for (let i = 0; i < 5; i++) buffer.push(new Transition(x.add(i), i));
        const returns = buffer.newest(2).map(({ state, reward }) => state.mul(w).sum().add(reward));
        return [stack(returns), buffer.items.map(({ reward }) => reward), buffer.next];
      },
      args: (call) => [values([3], call)],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

const loader: CorpusFunction = {
  name: 'a class whose generator hands out batches, left early',
  make: () => {
    class Batches implements Iterable<Tensor> {
      static opened = 0;
      closed = 0;
      constructor(
        readonly data: Tensor,
        readonly size: number,
      ) {
        Batches.opened++;
      }
      *[Symbol.iterator](): Generator<Tensor> {
        try {
          for (let i = 0; i + this.size <= this.data.shape[0]!; i += this.size) {
            yield this.data.narrow(0, i, this.size);
          }
        } finally {
          this.closed++;
        }
      }
      *take(count: number): Generator<Tensor> {
        for (const batch of this) {
          if (count-- <= 0) return;
          yield batch;
        }
      }
    }
    const w = weights([3, 2]);
    return {
      fn: (x: Tensor) => {
        const batches = new Batches(x, 2);
        let total: Tensor = zeros([]);
        for (const batch of batches) total = total.add(batch.matmul(w).sum());
        for (const batch of batches.take(2)) total = total.add(batch.mean());
        return [total, batches.closed];
      },
      args: (call) => [values([6, 3], call)],
      state: () => [w, Batches.opened],
    };
  },
  expected: { graphs: 1 },
};

const ownOptimizer: CorpusFunction = {
  name: 'an optimizer of the user, with momentum kept in a Map',
  make: () => {
    abstract class Optimizer {
      steps = 0;
      constructor(
        readonly parameters: readonly Tensor[],
        readonly lr: number,
      ) {}
      abstract update(parameter: Tensor, gradient: Tensor): Tensor;
      step(): void {
        this.steps++;
        noGrad(() => {
          for (const parameter of this.parameters) {
            if (!parameter.grad) continue;
            parameter.sub_(this.update(parameter, parameter.grad).mul(this.lr));
          }
        });
      }
      zeroGrad(): void {
        for (const parameter of this.parameters) parameter.grad = null;
      }
    }
    class Momentum extends Optimizer {
      readonly velocity = new Map<Tensor, Tensor>();
      constructor(
        parameters: readonly Tensor[],
        lr: number,
        readonly beta = 0.9,
      ) {
        super(parameters, lr);
        for (const parameter of parameters)
          this.velocity.set(parameter, zeros([...parameter.shape]));
      }
      override update(parameter: Tensor, gradient: Tensor): Tensor {
        return this.velocity.get(parameter)!.mul_(this.beta).add_(gradient);
      }
    }
    const [w, b] = [weights([3, 2]), weights([2], 1)];
    const optimizer = new Momentum([w, b], 0.1);
    return {
      fn: (x: Tensor) => {
        optimizer.zeroGrad();
        const loss = x.matmul(w).add(b).pow(2).mean();
        loss.backward();
        optimizer.step();
        return loss.detach();
      },
      args: (call) => [values([4, 3], call)],
      state: () => [w, b, optimizer.steps, ...optimizer.velocity.values()],
    };
  },
  expected: { graphs: 1, garbage: true },
};

const layers: CorpusFunction = {
  name: 'layers of a small hierarchy, made from a description',
  make: () => {
    abstract class Layer {
      static count = 0;
      readonly id = ++Layer.count;
      abstract forward(x: Tensor): Tensor;
      call(x: Tensor): Tensor {
        return this.forward(x);
      }
    }
    class Scale extends Layer {
      constructor(readonly by: number) {
        super();
      }
      override forward(x: Tensor): Tensor {
        return x.mul(this.by);
      }
    }
    class Residual extends Scale {
      readonly name = `residual ${this.by}`;
      override forward(x: Tensor): Tensor {
        return super.forward(x).add(x);
      }
    }
    const types = { scale: Scale, residual: Residual };
    return {
      fn: (x: Tensor, description: readonly (readonly [keyof typeof types, number])[]) => {
        const model = description.map(([type, by]) => new types[type](by));
        const y = model.reduce((each, layer) => layer.call(each), x);
        return [y, model.map(({ id }) => id), model.filter((each) => each instanceof Residual)];
      },
      args: (call) => [
        values([3], call),
        [
          ['scale', 2],
          ['residual', 3],
          ['scale', 0.5],
        ] as const,
      ],
      state: () => Layer.count,
    };
  },
  expected: { graphs: 1 },
};

const beam: CorpusFunction = {
  name: 'hypotheses of a beam, linked to those they come from',
  make: () => {
    class Hypothesis {
      constructor(
        readonly score: Tensor,
        readonly token: number,
        readonly parent: Hypothesis | null = null,
      ) {}
      extend(score: Tensor, token: number): Hypothesis {
        return new Hypothesis(this.score.add(score), token, this);
      }
      *ancestors(): Generator<Hypothesis> {
        for (let at: Hypothesis | null = this; at; at = at.parent) yield at;
      }
      get tokens(): number[] {
        return Array.from(this.ancestors(), ({ token }) => token).reverse();
      }
    }
    return {
      fn: (logits: Tensor) => {
        const scores = logits.logSoftmax(-1);
        let beams = [new Hypothesis(zeros([]), 0)];
        for (let step = 0; step < 2; step++) {
          beams = beams.flatMap((each) =>
            [0, 1].map((token) =>
              each.extend(scores.narrow(0, step, 1).narrow(1, token, 1).sum(), token),
            ),
          );
        }
        return [stack(beams.map(({ score }) => score)), beams.map(({ tokens }) => tokens)];
      },
      args: (call) => [values([2, 3], call)],
    };
  },
  expected: { graphs: 1 },
};

const counter: CorpusFunction = {
  name: 'a running average whose state is private',
  make: () => {
    class RunningAverage {
      #mean: Tensor;
      #steps = 0;
      readonly #decay: number;
      constructor(start: Tensor, decay: number) {
        this.#mean = start;
        this.#decay = decay;
      }
      update(x: Tensor): Tensor {
        this.#steps++;
        this.#mean = this.#mean.mul(this.#decay).add(x.mul(1 - this.#decay));
        return this.#mean.div(1 - this.#decay ** this.#steps);
      }
    }
    return {
      fn: (xs: Tensor[]) => {
        const average = new RunningAverage(xs[0]!.mul(0), 0.9);
        return xs.map((x) => average.update(x));
      },
      args: (call) => [[1, 2, 3].map((i) => values([2], i + call))],
    };
  },
  expected: { graphs: 1, garbage: true },
};

const sampler: CorpusFunction = {
  name: 'a noise schedule, made once per call and walked by a generator',
  make: () => {
    class Schedule {
      readonly betas: number[];
      constructor(steps: number, from = 0.1, to = 0.3) {
        this.betas = Array.from(
          { length: steps },
          (_, i) => from + ((to - from) * i) / (steps - 1),
        );
      }
      *reversed(): Generator<{ t: number; beta: number }> {
        for (let t = this.betas.length - 1; t >= 0; t--) yield { t, beta: this.betas[t]! };
      }
    }
    const w = values([4, 4], 3);
    return {
      fn: (x: Tensor) => {
        const schedule = new Schedule(3);
        let y = x;
        const seen: number[] = [];
        for (const { t, beta } of schedule.reversed()) {
          y = y.sub(y.matmul(w).tanh().mul(beta)).div(Math.sqrt(1 - beta));
          if (t > 0) y = y.add(randn([2, 4]).mul(Math.sqrt(beta)));
          seen.push(t);
        }
        return [y, seen];
      },
      args: (call) => [values([2, 4], call)],
      state: () => w,
    };
  },
  expected: { graphs: 1 },
};

export const classes: readonly CorpusFunction[] = [
  config,
  meters,
  replay,
  loader,
  ownOptimizer,
  layers,
  beam,
  counter,
  sampler,
];
