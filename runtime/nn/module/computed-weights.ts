import type { Module } from './module.ts';

/** Functions that compute weights from other parameters, by module and by the name of the weight. */
const computations = new WeakMap<Module, Map<string, () => void>>();
/** Whether any weight was ever computed. */
let areComputed = false;

/** Sets how a weight of the module is computed; null for a weight that is a parameter again. */
export function setComputation(module: Module, name: string, compute: (() => void) | null): void {
  areComputed = true;
  const computed = computations.get(module) ?? new Map<string, () => void>();
  if (compute) computed.set(name, compute);
  else computed.delete(name);
  if (computed.size > 0) computations.set(module, computed);
  else computations.delete(module);
}

/** Computes the weights of modules whose `forward`, which has hooks for this, isn't called. */
export function computeWeights(modules: readonly Module[]): void {
  if (!areComputed) return;
  for (const module of modules) {
    const computed = computations.get(module);
    if (computed) for (const compute of computed.values()) compute();
  }
}
