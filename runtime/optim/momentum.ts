/** Optimizers with a per-group momentum that may be enabled at any step, as in PyTorch. */

import type { Tensor } from '../tensor/tensor.ts';
import { Optimizer, type ParameterGroupOptions, type Parameters, type Rates } from './optimizer.ts';
import { expectState, type OptimizerState } from './optimizer-state.ts';

export interface MomentumGroup {
  /** With 0, there is no velocity. Schedules and users may set it between steps. */
  momentum: number;
}

/** Creates velocities once a group has a momentum: in the constructor, or before the first step that needs them. */
export abstract class MomentumOptimizer<H extends MomentumGroup, F> extends Optimizer<H, F> {
  /** One tensor per parameter; empty until a group has a momentum. */
  velocities: readonly Tensor[] = [];
  /** For each parameter, the number of steps it had taken when its velocity was created. */
  protected before: readonly number[] = [];

  constructor(parameters: Parameters<H>, options: Rates & H, ...surplus: []) {
    super(parameters, options, ...surplus);
    this.prepareState();
  }

  /** A new parameter has taken no steps. */
  override addParamGroup(group: ParameterGroupOptions<H>): void {
    super.addParamGroup(group);
    this.before = this.parameters.map((_, i) => this.before[i] ?? 0);
  }

  override prepareState(): void {
    if (this.velocities.length > 0 || !this.groups.some(({ momentum }) => momentum > 0)) return;
    this.before = this.counts;
    this.velocities = this.newState('velocities');
  }

  /** Returns how many steps with momentum a parameter took before its current step, number `count`. */
  protected stepsBefore(index: number, count: number): number {
    return count - this.before[index]! - 1;
  }

  /** Loading a state saved with momentum enables momentum. */
  override loadStateDict(state: OptimizerState): void {
    expectState(state);
    if ('velocities' in state.state && this.velocities.length === 0) {
      this.before = this.parameters.map(() => 0);
      this.velocities = this.newState('velocities');
    }
    super.loadStateDict(state);
  }
}
