/** A training session as data: a model, an optimizer, and what happens before each step. */

import fc from 'fast-check';
import { type NetName, nets } from './nets.ts';

export const optimizerNames = [
  'SGD',
  'Adam',
  'AdamW',
  'RMSprop',
  'Adagrad',
  'NAdam',
  'Adadelta',
  'RAdam',
] as const;

/** What changes between two steps, or what one step does otherwise than the others. */
export const eventNames = [
  ...['none', 'freeze', 'freeze all but the head', 'thaw', 'learning rate', 'weight decay'],
  ...['momentum', 'new optimizer', 'optimizer of the head', 'eval', 'train', 'seed'],
  ...['save', 'load', 'save optimizer', 'load optimizer', 'write to a weight', 'data of a weight'],
  ...['activation', 'skip', 'scale', 'extra layer', 'new head', 'dropout', 'evaluate'],
  ...[
    'gradients to null',
    'gradients given',
    'hold a gradient',
    'scale gradients',
    'zero gradients',
  ],
  ...['throw after forward', 'throw after backward', 'throw between updates', 'wrong target'],
  ...['disposed input', 'dispose of the input', 'the same input again', 'strided input'],
  ...['input with a gradient', 'step without backward', 'backward twice', 'step under noGrad'],
] as const;

export type EventName = (typeof eventNames)[number];

export interface Step {
  readonly event: EventName;
  /** Decides what the event leaves open. */
  readonly amount: number;
  readonly batch: number;
}

export interface Session {
  readonly net: NetName;
  readonly optimizer: (typeof optimizerNames)[number];
  /** Of the parameters, the data and the optimizer's options. */
  readonly seed: number;
  readonly zeroing: 'before' | 'after';
  /** Backwards per update. */
  readonly accumulate: number;
  readonly clip: 'none' | 'norm' | 'value' | 'clamp';
  /** Averages of the weights are kept beside them. */
  readonly average: boolean;
  readonly returnsOutput: boolean;
  readonly steps: readonly Step[];
}

const step: fc.Arbitrary<Step> = fc.record({
  event: fc.oneof(
    { weight: 1, arbitrary: fc.constant('none' as const) },
    { weight: 3, arbitrary: fc.constantFrom(...eventNames) },
  ),
  amount: fc.nat(99),
  batch: fc.constantFrom(5, 5, 5, 3, 2, 1, 0, 40),
});

export const sessions: fc.Arbitrary<Session> = fc.record({
  net: fc.constantFrom(...(Object.keys(nets) as NetName[])),
  optimizer: fc.constantFrom(...optimizerNames),
  seed: fc.nat(9999),
  zeroing: fc.constantFrom('before', 'after'),
  accumulate: fc.constantFrom(1, 1, 2, 3),
  clip: fc.constantFrom('none', 'none', 'norm', 'value', 'clamp'),
  average: fc.boolean(),
  returnsOutput: fc.boolean(),
  steps: fc.array(step, { minLength: 3, maxLength: 10 }),
});
