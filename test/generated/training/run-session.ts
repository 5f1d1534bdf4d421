/** A session, run: by the given functions, either as they are or captured. */

import {
  manualSeed,
  mseLoss,
  nn,
  noGrad,
  type optim,
  randn,
  type Tensor,
} from '../../../src/index.ts';
import { describeValues } from '../../trace/snapshot.ts';
import { Choices } from '../../training-steps/choices.ts';
import { optimizers } from '../../training-steps/optimizers.ts';
import type { Net } from './net.ts';
import { nets } from './nets.ts';
import type { EventName, Session, Step } from './session.ts';

type StepFunction = (x: Tensor, y: Tensor) => readonly unknown[];
type Evaluate = (x: Tensor) => Tensor;

/** How the functions of a session are run: as they are, or by `toStatic`. */
export type Wrap = <F extends StepFunction | Evaluate>(fn: F) => F;

type OptimizerState = optim.OptimizerState;
type State = Readonly<Record<string, Tensor>>;

/** What has happened after each step: what it returned or threw, and all that it can have changed. */
export function runSession(session: Session, wrap: Wrap): string[] {
  manualSeed(session.seed);
  const world = new World(session);
  const [train, evaluate] = [wrap(world.train), wrap(world.evaluate)];
  return session.steps.map((step) => {
    const outcome = outcomeOf(() => world.run(step, train, evaluate));
    return JSON.stringify([step.event, outcome, describeValues(world.state())], null, 1);
  });
}

function outcomeOf(body: () => unknown): unknown {
  try {
    return describeValues([body()]);
  } catch (error) {
    const { name, message } = error as Error;
    // One program says its own name where eager execution names the op, and adds the user's lines.
    return { name, message: message.split('\n')[0]!.replace(/^[^:]*: /, '') };
  }
}

/** Not private to the language: functions that are captured read it. */
class World {
  private readonly session: Session;
  private readonly net: Net;
  private readonly averages: readonly Tensor[];
  private optimizer: optim.Optimizer;
  /** What the step does otherwise. */
  private deviation: EventName = 'none';
  private backwards = 0;
  private previous: Tensor | null = null;
  private held: Tensor | null = null;
  private saved: State | null = null;
  private savedOptimizer: OptimizerState | null = null;

  constructor(session: Session) {
    this.session = session;
    this.net = nets[session.net](session.seed);
    this.averages = this.net.parameters().map((each) => each.detach().clone());
    this.optimizer = this.newOptimizer(this.net);
  }

  private newOptimizer(of: nn.Module): optim.Optimizer {
    const { optimizer, seed } = this.session;
    return optimizers[optimizer]!(new Choices(seed), of.parameters());
  }

  /** Everything that a step can have changed. */
  state(): unknown[] {
    const { state, groups, counts } = this.optimizer.stateDict();
    const { net, averages, held, backwards } = this;
    return [net, state, groups, counts, averages, held, backwards];
  }

  readonly evaluate: Evaluate = (x) => noGrad(() => this.net.forward(x));

  readonly train: StepFunction = (x, y) => {
    const { net, optimizer, deviation } = this;
    const { zeroing, accumulate, clip, average, returnsOutput } = this.session;
    if (zeroing === 'before' && this.backwards % accumulate === 0) optimizer.zeroGrad();
    const output = net.forward(x);
    const loss = mseLoss(output, y);
    if (deviation === 'throw after forward') throw new RangeError(`stopped at ${this.backwards}`);
    if (deviation === 'backward twice') loss.backward(null, { retainGraph: true });
    if (deviation !== 'step without backward') loss.backward();
    this.backwards++;
    if (deviation === 'throw after backward') throw new Error('stopped after backward');
    if (this.backwards % accumulate === 0) {
      if (clip === 'norm') nn.utils.clipGradNorm_(net.parameters(), 0.5);
      if (clip === 'value') nn.utils.clipGradValue_(net.parameters(), 0.05);
      if (clip === 'clamp') for (const each of net.parameters()) each.grad?.clamp_(-0.05, 0.05);
      optimizer.step();
      if (deviation === 'throw between updates') throw new Error('stopped between updates');
      if (average) this.updateAverages();
      if (zeroing === 'after') optimizer.zeroGrad();
    }
    return returnsOutput ? [loss.detach(), output.detach(), optimizer.lr] : [loss.detach()];
  };

  private updateAverages(): void {
    noGrad(() => {
      const parameters = this.net.parameters();
      this.averages.forEach((average, i) => {
        const own = parameters[i]!;
        if (average.shape.join() === own.shape.join()) average.mul_(0.9).add_(own.mul(0.1));
      });
    });
  }

  run({ event, amount, batch }: Step, train: StepFunction, evaluate: Evaluate): unknown {
    this.deviation = event;
    const change = this.changes[event];
    change?.(amount);
    const evaluated = event === 'evaluate' ? evaluate(randn([batch, 4])) : null;
    let x: Tensor = randn([batch, 4]);
    const y = randn([event === 'wrong target' ? batch + 2 : batch, 3]);
    if (event === 'the same input again' && this.previous?.shape[0] === batch) x = this.previous;
    if (event === 'strided input') x = strided(batch, amount);
    if (event === 'input with a gradient') x.requiresGrad_();
    if (event === 'disposed input') x.dispose();
    this.previous = x.disposed || event === 'dispose of the input' ? null : x;
    const result = event === 'step under noGrad' ? noGrad(() => train(x, y)) : train(x, y);
    const gradient = x.disposed ? null : x.grad;
    if (event === 'dispose of the input') x.dispose();
    return [evaluated, result, gradient];
  }

  private readonly changes: Partial<Record<EventName, (amount: number) => void>> = {
    freeze: () => this.net.trunk.requiresGrad_(false),
    'freeze all but the head': () => {
      this.net.requiresGrad_(false);
      this.net.head.requiresGrad_(true);
    },
    thaw: () => this.net.requiresGrad_(true),
    'learning rate': (amount) => {
      this.optimizer.lr = amount / 1000;
    },
    'weight decay': (amount) => {
      (this.optimizer.groups[0] as { weightDecay?: number }).weightDecay = amount / 500;
    },
    momentum: (amount) => {
      const [group] = this.optimizer.groups as unknown as [{ momentum?: number }];
      if (group.momentum !== undefined) group.momentum = amount / 120;
    },
    'new optimizer': () => {
      this.optimizer = this.newOptimizer(this.net);
    },
    'optimizer of the head': () => {
      this.optimizer = this.newOptimizer(this.net.head);
    },
    eval: () => this.net.eval(),
    train: () => this.net.train(),
    seed: (amount) => manualSeed(amount),
    save: () => {
      const state = Object.entries(this.net.stateDict());
      this.saved = Object.fromEntries(state.map(([name, each]) => [name, each.detach().clone()]));
    },
    load: () => {
      if (this.saved) this.net.loadStateDict(this.saved, { strict: false });
    },
    'save optimizer': () => {
      const { groups, counts, state } = this.optimizer.stateDict();
      const copies = Object.entries(state).map(([name, all]) => [name, all.map((t) => t.clone())]);
      this.savedOptimizer = {
        groups: structuredClone(groups),
        counts: [...counts],
        state: Object.fromEntries(copies) as OptimizerState['state'],
      };
    },
    'load optimizer': () => {
      if (this.savedOptimizer) this.optimizer.loadStateDict(this.savedOptimizer);
    },
    'write to a weight': () => {
      noGrad(() => this.some(1).mul_(0.9));
    },
    'data of a weight': () => {
      noGrad(() => this.some(0).copy_(randn(this.some(0).shape)));
    },
    activation: (amount) => {
      this.net.activation = amount % 2 ? new nn.Tanh() : new nn.GELU();
    },
    skip: () => {
      this.net.skip = !this.net.skip;
    },
    scale: (amount) => {
      this.net.scale = (amount % 9) / 4;
    },
    'extra layer': () => {
      this.net.extra = this.net.extra ? null : new nn.LayerNorm(6);
    },
    'new head': () => {
      this.net.head = new nn.Linear(6, 3);
    },
    dropout: (amount) => {
      for (const each of this.net.modules())
        if (each instanceof nn.Dropout) Object.assign(each, { p: amount / 100 });
    },
    'gradients to null': () => {
      for (const each of this.net.parameters()) each.grad = null;
    },
    'zero gradients': () => this.net.zeroGrad(),
    'gradients given': () => {
      for (const each of this.net.parameters()) {
        if (each.requiresGrad) each.grad = randn(each.shape).mul(0.01);
      }
    },
    'hold a gradient': (amount) => {
      this.held = this.some(amount).grad;
    },
    'scale gradients': (amount) => {
      for (const each of this.net.parameters()) each.grad?.mul_(amount / 100);
    },
  };

  private some(amount: number): Tensor {
    const all = this.net.parameters();
    return all[amount % all.length]!;
  }
}

function strided(batch: number, amount: number): Tensor {
  switch (amount % 3) {
    case 0:
      return randn([4, batch]).t();
    case 1:
      return randn([1, 4]).expand([batch, 4]);
    default:
      return randn([batch + 1, 6])
        .narrow(0, 1, batch)
        .narrow(1, 1, 4);
  }
}
