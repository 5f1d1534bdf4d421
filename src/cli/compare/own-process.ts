import { fork } from 'node:child_process';
import type { ToStaticOptions } from '../../dispatch/captured-function.ts';
import type { VariantResult } from '../../lab/compare/measure.ts';

/** A request for a process to measure one variant. */
export interface VariantRequest {
  readonly file: string;
  /** The exported function, if there are several and no workload. */
  readonly function: string | undefined;
  readonly device: string;
  readonly steps: number;
  readonly size: 'reduced' | 'full';
  readonly batch: number | undefined;
  /** A variant by name, or a setting of `toStatic`. */
  readonly variant: string | Setting;
}

export interface Setting {
  readonly title: string;
  readonly options: ToStaticOptions;
}

export type VariantReply =
  | { readonly kind: 'done'; readonly result: VariantResult }
  | { readonly kind: 'failed'; readonly message: string };

/** Measures in a separate process: reserved memory and time then belong to this variant alone. */
export function measureInOwnProcess(request: VariantRequest): Promise<VariantReply> {
  // When run from its sources, this uses a loader, which the process inherits.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const child = fork(new URL(`./variant-process${extension}`, import.meta.url), {
    serialization: 'advanced',
  });
  return new Promise((resolve) => {
    child.on('message', (reply: VariantReply) => resolve(reply));
    child.on('error', ({ message }) => resolve({ kind: 'failed', message }));
    child.on('exit', (code, signal) => {
      const message = `the process ended early (${signal ?? `exit code ${code}`})`;
      resolve({ kind: 'failed', message });
    });
    child.send(request);
  });
}
