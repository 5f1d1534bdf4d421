/** What PyTorch recorded of modules, optimizers with schedules, and gradient clipping. */

import { type RecordedTensor, readRecords } from '../ops/pytorch/recorded.ts';

export interface ModuleRecord {
  readonly kind: 'module';
  /** The class, and what the printed constructor may not say as JSON. */
  readonly name: string;
  /** The module as PyTorch prints it. */
  readonly ctor: string;
  readonly train: boolean;
  readonly state: Readonly<Record<string, RecordedTensor>>;
  readonly inputs: readonly RecordedTensor[];
  /** Calls of forward; the outputs and gradients are those of the last. */
  readonly forwards: number;
  readonly outputs: readonly RecordedTensor[];
  readonly gradOutputs: readonly RecordedTensor[];
  readonly inputGrads: readonly RecordedTensor[];
  readonly paramGrads: Readonly<Record<string, RecordedTensor>>;
  readonly stateAfter: Readonly<Record<string, RecordedTensor>>;
}

export interface OptimizerRecord {
  readonly kind: 'optimizer';
  readonly name: string;
  readonly init: readonly RecordedTensor[];
  /** Per step. */
  readonly grads: readonly (readonly RecordedTensor[])[];
  readonly after: readonly (readonly RecordedTensor[])[];
  /** In effect at each step. */
  readonly lr: readonly number[];
}

export interface ClipRecord {
  readonly kind: 'clip_grad_norm';
  readonly norm: string;
  readonly grads: readonly RecordedTensor[];
  readonly total: number;
  readonly after: readonly RecordedTensor[];
}

type NnRecord = ModuleRecord | OptimizerRecord | ClipRecord;

const records = readRecords<NnRecord>(new URL('data/pytorch-nn.jsonl', import.meta.url));

export const moduleRecords = records.filter(({ kind }) => kind === 'module') as ModuleRecord[];
export const optimizerRecords = records.filter(
  ({ kind }) => kind === 'optimizer',
) as OptimizerRecord[];
export const clipRecords = records.filter(({ kind }) => kind === 'clip_grad_norm') as ClipRecord[];

/** Lines of no known kind: a test says that there are none. */
export const otherRecords =
  records.length - moduleRecords.length - optimizerRecords.length - clipRecords.length;
