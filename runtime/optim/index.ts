/** Optimizers and learning rate schedules. */

import '../base-setup.ts';

export { Adafactor, type AdafactorOptions } from './adafactor.ts';
export {
  Adadelta,
  type AdadeltaOptions,
  Adagrad,
  type AdagradOptions,
} from './adagrad.ts';
export type { AdamGroup, Correction, MomentGroup } from './adam.ts';
export { Adam, type AdamOptions, AdamW } from './adam.ts';
export {
  Adamax,
  type AdamaxOptions,
  NAdam,
  type NAdamOptions,
  RAdam,
  type RAdamOptions,
} from './adam-variants.ts';
export {
  CyclicLR,
  type CyclicLROptions,
  OneCycleLR,
  type OneCycleLROptions,
} from './cycles.ts';
export { LBFGS, type LBFGSOptions } from './lbfgs.ts';
export type { MomentumOptimizer } from './momentum.ts';
export { Muon, type MuonOptions } from './muon.ts';
export {
  Optimizer,
  type ParameterGroup,
  type ParameterGroupOptions,
  type Parameters,
  type Rates,
  type StateSpec,
  type Update,
} from './optimizer.ts';
export type { GroupState, OptimizerState } from './optimizer-state.ts';
export type { Decay } from './penalty.ts';
export {
  type PlateauState,
  ReduceLROnPlateau,
  type ReduceLROnPlateauOptions,
} from './plateau.ts';
export { RMSprop, type RMSpropOptions } from './rmsprop.ts';
export { ASGD, type ASGDOptions, Rprop, type RpropOptions } from './rprop.ts';
export {
  ChainedScheduler,
  LRScheduler,
  type MomentumCycle,
  type SchedulerState,
  SequentialLR,
} from './scheduler.ts';
export {
  ConstantLR,
  CosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  ExponentialLR,
  LambdaLR,
  type LambdaOptions,
  LinearLR,
  type LinearLROptions,
  MultiplicativeLR,
  MultiStepLR,
  PolynomialLR,
  StepLR,
} from './schedules.ts';
export { SGD, type SGDOptions } from './sgd.ts';
export { SWALR, type SWALROptions } from './swa-schedule.ts';
export {
  AveragedModel,
  type AveragedModelOptions,
  type Averaging,
  getEmaAvgFn,
  updateBn,
} from './weight-averaging.ts';
