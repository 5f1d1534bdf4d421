import type { Module } from './module.ts';

/** Functions that compute weights from other parameters, by module and by the name of the weight. */
const computations = new WeakMap<Module, Map<string, () => void>>();
/** Whether any weight was ever computed. */
let areComputed = false;

/** Sets how a weight of the module is computed; null for a weight that is a parameter again. */
export function setComputation(module: Module, name: string, compute: (() => void) | null): void {
  areComputed = true;
  const own = computations.get(module) ?? new Map<string, () => void>();
  if (compute) own.set(name, compute);
  else own.delete(name);
  if (own.size > 0) computations.set(module, own);
  else computations.delete(module);
}

/** Computes the weights of modules whose `forward`, which has hooks for this, isn't called. */
export function computeWeights(modules: readonly Module[]): void {
  if (!areComputed) return;
  for (const module of modules) {
    const own = computations.get(module);
    if (own) for (const compute of own.values()) compute();
  }
}
