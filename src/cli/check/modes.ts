import type { ToStaticOptions } from '../../options/static-options.ts';

/** How the function is run; null for eagerly. */
export interface Mode {
  readonly name: string;
  readonly options: ToStaticOptions | null;
}

export const eager: Mode = { name: 'eager', options: null };

/** Capture modes, policies for numbers, and memory presets, one at a time. */
export const capturedModes: readonly Mode[] = [
  { name: 'default', options: {} },
  { name: "capture: 'auto'", options: { capture: 'auto' } },
  { name: 'fullGraph', options: { fullGraph: true } },
  { name: 'dynamic: true', options: { dynamic: true } },
  { name: 'dynamic: false', options: { dynamic: false } },
  { name: "memory: 'cleaned'", options: { memory: 'cleaned' } },
  { name: "memory: 'inputsCleaned'", options: { memory: 'inputsCleaned' } },
  { name: "memory: 'beforeUnusedValues'", options: { memory: 'beforeUnusedValues' } },
  { name: 'memory: { budget: 0 }', options: { memory: { budget: 0 } } },
];
