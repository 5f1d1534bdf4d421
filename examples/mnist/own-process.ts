import { fork } from 'node:child_process';
import type { OnStep, TrainingOptions, TrainingResult } from './train.ts';

/** A message from the training process. */
export type Message =
  | { readonly kind: 'step'; readonly step: number; readonly loss: number }
  | { readonly kind: 'done'; readonly result: TrainingResult }
  | { readonly kind: 'failed'; readonly message: string };

/** The other process failed, for the reason in the message. */
export class TrainingFailed extends Error {}

/**
 * Trains in a separate process, so that reserved memory and time belong to this training run alone. Rejects with
 * TrainingFailed.
 */
export function trainInOwnProcess(
  options: TrainingOptions,
  onStep: OnStep,
): Promise<TrainingResult> {
  const child = fork(new URL('./training-process.ts', import.meta.url), {
    serialization: 'advanced',
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message: Message) => {
      if (message.kind === 'step') onStep(message.step, message.loss);
      else if (message.kind === 'done') resolve(message.result);
      else reject(new TrainingFailed(message.message));
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      reject(
        new TrainingFailed(`the training process ended early (${signal ?? `exit code ${code}`})`),
      );
    });
    child.send(options);
  });
}
