/** Optimizers whose groups have a momentum, which may start at any step, as in PyTorch. */

import type { Tensor } from '../tensor/tensor.ts';
import { Optimizer, type ParameterGroupOptions, type Parameters, type Rates } from './optimizer.ts';
import { expectState, type OptimizerState } from './optimizer-state.ts';

export interface MomentumGroup {
  /** 0: no velocity is kept. Schedules and users may set it between steps. */
  momentum: number;
}

/** Makes the velocities when a group has a momentum: at construction, or before the step that needs them. */
export abstract class MomentumOptimizer<H extends MomentumGroup, F> extends Optimizer<H, F> {
  /** One per parameter; empty until a group has a momentum. */
  velocities: readonly Tensor[] = [];
  /** For each parameter, the steps that it had taken when its velocity was created. */
  protected before: readonly number[] = [];

  constructor(parameters: Parameters<H>, options: Rates & H) {
    super(parameters, options);
    this.prepareState();
  }

  /** A new parameter has taken no step before its velocity was created. */
  override addParamGroup(group: ParameterGroupOptions<H>): void {
    super.addParamGroup(group);
    this.before = this.parameters.map((_, i) => this.before[i] ?? 0);
  }

  override prepareState(): void {
    if (this.velocities.length > 0 || !this.groups.some(({ momentum }) => momentum > 0)) return;
    this.before = this.counts;
    this.velocities = this.newState('velocities');
  }

  /** Steps with momentum that a parameter has taken before this one, its `count`-th. */
  protected stepsBefore(index: number, count: number): number {
    return count - this.before[index]! - 1;
  }

  /** Momentum that started before the state was saved continues. */
  override loadStateDict(state: OptimizerState): void {
    expectState(state);
    if ('velocities' in state.state && this.velocities.length === 0) {
      this.before = this.parameters.map(() => 0);
      this.velocities = this.newState('velocities');
    }
    super.loadStateDict(state);
  }
}
