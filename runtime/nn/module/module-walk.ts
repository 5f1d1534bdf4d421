/** Traversals of a module: the tensors and modules in it, with their names. */

import { Tensor } from '../../tensor/tensor.ts';
import { isModule } from './is-module.ts';
import type { Module } from './module.ts';
import { isState } from './parameter.ts';

/**
 * Yields the tensors of this module and its descendants, each once, with their names; of arrays, only those that are
 * state.
 */
export function* namedTensors(
  module: Module,
  seen = new Set<object>(),
): Generator<[name: string, tensor: Tensor]> {
  seen.add(module);
  for (const [path, value] of module.ownEntries()) {
    if (value instanceof Tensor && !seen.has(value)) {
      seen.add(value);
      yield [module.stateName(path), value];
    } else if (isModule(value) && !seen.has(value)) {
      for (const [name, tensor] of namedTensors(value, seen)) {
        yield [module.stateName(`${path}.${name}`), tensor];
      }
    }
  }
}

/** Yields this module (named '') and its descendants, each once. */
export function* namedModules(
  module: Module,
  seen = new Set<Module>(),
): Generator<[name: string, module: Module]> {
  if (seen.has(module)) return;
  seen.add(module);
  yield ['', module];
  for (const [path, child] of module.ownEntries()) {
    if (!isModule(child)) continue;
    for (const [name, below] of namedModules(child, seen)) {
      yield [module.stateName(name === '' ? path : `${path}.${name}`), below];
    }
  }
}

/** Yields all state. A shared tensor is yielded under each of its names, so that a saved file contains them all. */
export function* stateOf(
  module: Module,
  above: ReadonlySet<Module> = new Set(),
): Generator<[name: string, tensor: Tensor]> {
  if (above.has(module)) return;
  const path = new Set([...above, module]);
  for (const [key, value] of module.ownEntries()) {
    if (value instanceof Tensor && isState(value)) yield [module.stateName(key), value];
    if (!isModule(value)) continue;
    for (const [name, tensor] of stateOf(value, path)) {
      yield [module.stateName(`${key}.${name}`), tensor];
    }
  }
}

/** Yields a module's own tensors, also those that are not state. */
export function* ownTensors(module: Module): Generator<Tensor> {
  for (const holder of module.tensorHolders()) {
    for (const value of Object.values(holder)) if (value instanceof Tensor) yield value;
  }
}

/** Replaces each of a module's own tensors. */
export function replaceTensors(module: Module, replace: (tensor: Tensor) => Tensor): void {
  for (const holder of module.tensorHolders()) {
    for (const [key, value] of Object.entries(holder)) {
      if (value instanceof Tensor) Object.assign(holder, { [key]: replace(value) });
    }
  }
}
